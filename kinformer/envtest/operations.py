"""Writes of objects: what kube-apiserver's generic registry does between a request and the storage.

Each write goes through here: those over HTTP and those of the server's own loops. A write sets the metadata, sets
defaults and validates the object (:mod:`.strategy`), calls admission (:mod:`.admission`), checks the resource version,
and respects finalizers and the grace period. Nothing here awaits, so each operation is one transaction.

Objects are JSON data without ``kind`` and ``apiVersion``.
"""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from kinformer.clock import Clock
from kinformer.envtest import status
from kinformer.envtest.admission import Admission, Attributes, Operation, Review, User
from kinformer.envtest.apply import Managed
from kinformer.envtest.causes import invalid
from kinformer.envtest.ownership import note_created, note_updated, reviewed
from kinformer.envtest.registry import Registry, Resource
from kinformer.envtest.storage import Storage, Version
from kinformer.envtest.strategy import metadata as rules
from kinformer.envtest.strategy.base import Obj, Strategy, with_field
from kinformer.meta.integers import duration_of, read_unsigned
from kinformer.meta.names import GroupKind, GroupResource, GroupVersionKind

__all__ = ("DeleteOptions", "Operations", "WriteOptions", "timestamp")

# As in apimachinery: without vowels, so that no word results by chance, and without characters that look like others.
_ALPHANUMS = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_GENERATED = 58
_GC_FINALIZERS = ("orphan", "foregroundDeletion")

SYSTEM = User("system:apiserver", groups=("system:masters",))


def timestamp(moment: datetime) -> str:
    """A time as in objects: RFC 3339 in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_is_version = re.compile("0*[1-9][0-9]{0,19}").fullmatch


def _drop_empty(metadata: Obj) -> None:
    """Remove the fields that the API omits if they are empty, e.g. after a patch has removed the last label."""
    for name in ("labels", "annotations", "ownerReferences", "finalizers"):
        if name in metadata and not metadata[name]:
            del metadata[name]


def parse_timestamp(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """
    The options of a write, and its user.

    :param dry_run: do everything, but do not store the result
    :param options: the options of the request, for admission
    :param manager: the field manager that owns the written fields
    :param review: calls the admission webhooks. None if there are none
    :param warnings: warnings for the client are appended to it. None if they are not needed
    """

    user: User = SYSTEM
    dry_run: bool = False
    options: Obj = field(default_factory=dict)
    manager: str = "kube-apiserver"
    review: Review | None = None
    warnings: list[str] | None = None

    def attributes(
        self, what: Operation, resource: Resource, part: str, key: tuple[str, str], new: Obj | None, old: Obj | None
    ) -> Attributes:
        """The attributes of a write of a new object in place of an old one, for admission."""
        made = Attributes(what, resource, part, *key, new, old, self.user, self.dry_run, self.options)
        if self.warnings is not None:
            made.warnings = self.warnings
        return made


@dataclass(slots=True)
class DeleteOptions:
    """A delete's options. None means that the request does not set the option, so the kind's default is used."""

    grace_period: int | None = None
    propagation: str | None = None
    orphan_dependents: bool | None = None
    uid: str | None = None
    resource_version: str | None = None

    def to_dict(self) -> Obj:
        """The options that are set, as JSON data of the API."""
        preconditions = {"uid": self.uid, "resourceVersion": self.resource_version}
        said = {
            "gracePeriodSeconds": self.grace_period,
            "preconditions": {key: value for key, value in preconditions.items() if value is not None} or None,
            "orphanDependents": self.orphan_dependents,
            "propagationPolicy": self.propagation,
        }
        return {key: value for key, value in said.items() if value is not None}


@dataclass(eq=False, slots=True)
class Operations:
    """
    The writes of one server.

    :param strategies: returns the strategy of a resource
    :param rng: makes uids and generated names
    :param issue_token: makes a service account's token from its namespace, its name, its uid and a life in seconds
    """

    storage: Storage
    registry: Registry
    clock: Clock
    admission: Admission
    strategies: Callable[[Resource], Strategy]
    rng: random.Random
    issue_token: Callable[[str, str, str, int], str]
    _known: dict[Resource, Strategy] = field(default_factory=dict, init=False)
    # The text of the current second is kept, because each of thousands of writes in a second needs it.
    _moment: datetime | None = field(default=None, init=False)
    _now: str = field(default="", init=False)

    def strategy(self, resource: Resource) -> Strategy:
        try:
            return self._known[resource]
        except KeyError:
            self._known[resource] = strategy = self.strategies(resource)
            return strategy

    def now(self) -> str:
        moment = self.clock.now().replace(microsecond=0)
        if moment != self._moment:
            self._moment, self._now = moment, timestamp(moment)
        return self._now

    def expiry(self, seconds: float) -> str:
        """The time in so many seconds, as in objects."""
        return timestamp(self.clock.now() + timedelta(seconds=seconds))

    def new_uid(self) -> str:
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    # -- reading --------------------------------------------------------------------------------------------------

    def find(self, resource: Resource, namespace: str, name: str) -> Version:
        """
        :raises StatusError: NotFound
        """
        version = self.storage.get(resource.storage, namespace, name)
        if version is None:
            raise status.not_found(resource.group_resource, name)
        return version

    # -- creating -------------------------------------------------------------------------------------------------

    def create(self, resource: Resource, namespace: str, obj: Obj, how: WriteOptions = WriteOptions()) -> Version:
        """
        Store a new object. If it has only ``generateName``, a name is generated.

        :return: the stored version. For a dry run it is the version that would have been stored
        :raises StatusError: if the request is refused
        """
        strategy = self.strategy(resource)
        metadata = obj["metadata"]
        prefix = metadata.get("generateName")
        generated = not metadata.get("name") and bool(prefix or strategy.gives_names)
        if generated:
            make = partial(self._generate_name, prefix) if prefix else self.new_uid
            metadata["name"] = self._once(how, "name", make)
        attributes = how.attributes("CREATE", resource, "", (namespace, metadata.get("name", "")), obj, None)
        attributes.is_name_generated = generated
        return self._finish_create(strategy, attributes, how)

    def _finish_create(self, strategy: Strategy, attributes: Attributes, how: WriteOptions) -> Version:
        resource, namespace, obj = attributes.resource, attributes.namespace, attributes.object
        assert obj is not None
        metadata = obj["metadata"]
        for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
            metadata.pop(name, None)
        managed = note_created(strategy, obj, how.manager, self._once(how, "now", self.now))
        managed = self._admit(attributes, how, managed, None)
        metadata = obj["metadata"]
        asked_version = metadata.pop("resourceVersion", "")
        metadata["uid"] = self._once(how, "uid", self.new_uid)
        metadata["creationTimestamp"] = self._once(how, "now", self.now)
        _drop_empty(metadata)
        if namespace:
            metadata["namespace"] = namespace
        strategy.prepare_for_create(obj)
        self._validate(strategy, obj, None)
        self._approve(attributes, how, managed, None)
        # Only a positive number is refused. All other values are ignored.
        if _is_version(asked_version) and not how.dry_run:
            raise status.internal("resourceVersion should not be set on objects to be created")
        name = metadata["name"]
        if (there := self.storage.get(resource.storage, namespace, name)) is not None:
            deleting = "deletionTimestamp" in there.decode()["metadata"]
            raise status.already_exists(resource.group_resource, name, deleting=deleting)
        if how.warnings is not None:
            how.warnings.extend(strategy.warnings_of_change(obj, None))
        strategy.finish(obj, None)
        if how.dry_run:
            return Version.of(name, 0, obj, managed)
        stored = self.storage.create(resource.storage, namespace, name, obj, managed, strategy.largest)
        self.storage.settle_in(strategy.stored, stored)
        return stored

    # -- admission ------------------------------------------------------------------------------------------------

    def _admit(
        self, attributes: Attributes, how: WriteOptions, managed: Managed | None, live: Managed | None
    ) -> Managed | None:
        """
        :param managed: the managed fields of the new object
        :param live: the managed fields of the stored object
        :return: the managed fields after the review
        """
        self.admission.admit(attributes)
        if how.review is None:
            return managed
        return reviewed(how.review.mutate, attributes, managed, live)

    def _approve(
        self, attributes: Attributes, how: WriteOptions, managed: Managed | None, live: Managed | None
    ) -> None:
        self.admission.judge(attributes)
        # Plug-ins come last, because the quota plug-in charges for the write, so nothing may refuse it after that.
        if how.review is not None:
            reviewed(how.review.validate, attributes, managed, live)
        self.admission.validate(attributes)

    def review_part(
        self,
        resource: Resource,
        subresource: str,
        key: tuple[str, str],
        gvk: GroupVersionKind,
        new: Obj,
        old: Obj | None,
        how: WriteOptions,
    ) -> None:
        """
        Let admission review a write whose body has another kind than its object, e.g. a Scale or an Eviction.

        :param key: namespace and name
        :param gvk: the kind of the body
        :param new: the body. The webhooks may change it
        :raises StatusError: if the write is refused
        """
        if how.review is None and not self.admission.policies:
            return
        attributes = how.attributes("CREATE" if old is None else "UPDATE", resource, subresource, key, new, old)
        attributes.gvk = gvk
        if how.review is not None:
            how.review.mutate(attributes)
        self.admission.judge(attributes)
        if how.review is not None:
            how.review.validate(attributes)

    @staticmethod
    def _once(how: WriteOptions, what: str, make: Callable[[], str]) -> str:
        """Make a value for a request. If the request runs again after a review, it gets the same value."""
        return make() if how.review is None else str(how.review.once(what, make))

    def _generate_name(self, prefix: str) -> str:
        return prefix[:_LONGEST_GENERATED] + "".join(self.rng.choices(_ALPHANUMS, k=5))

    def _validate(self, strategy: Strategy, obj: Obj, old: Obj | None, subresource: str = "") -> None:
        metadata = obj["metadata"]
        causes: list[status.Cause] = []
        of_change: list[status.Cause] = []
        before = old["metadata"] if old is not None else None
        parts: Collection[str] = ("whole",)
        if before is not None:
            parts = ("change",) if subresource else strategy.metadata_checks
            of_change = rules.validate_metadata_update(metadata, before)
            causes += rules.validate_metadata(metadata, rules.path_segment, None if of_change else before) + of_change
        # The real server checks a change for all kinds, and then for this kind, and reports each error again.
        for part in parts:
            known, name_rule = None if causes else before, strategy.validate_name
            causes += of_change if part == "change" else rules.validate_metadata(metadata, name_rule, known)
            if not strategy.resource.is_custom:
                causes += rules.check_finalizer_names(metadata.get("finalizers") or ())
        if subresource:
            causes += strategy.validate_subresource_change(subresource, obj, old or {})
        elif old is None:
            causes += strategy.validate(obj)
        elif not _same_but_metadata(obj, old):
            causes += strategy.validate_replacement(obj, old)
        if causes:
            raise status.invalid(strategy.resource.group_kind, metadata.get("name", ""), causes)

    # -- updating -------------------------------------------------------------------------------------------------

    def update(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        change: Callable[[Obj | None], Obj],
        how: WriteOptions = WriteOptions(),
        *,
        subresource: str = "",
        create: bool = False,
        noted: str | None = None,
        untouched: Collection[str] = (),
    ) -> tuple[Version, bool]:
        """
        Replace an object with what `change` makes of it.

        :param change: called with a copy of the object (None if there is none). It returns the new object
        :param subresource: the subresource that is written, e.g. ``status``. It limits which fields are written
        :param create: create the object if it does not exist, as an apply does
        :param noted: the subresource in the managed fields, if it is not `subresource`. ``-``: they are not changed
        :param untouched: the fields that `change` has not changed. It fills this collection itself
        :return: the stored version, and whether the object is new
        :raises StatusError: if the request is refused
        """
        strategy = self.strategy(resource)
        before = self.storage.get(resource.storage, namespace, name)
        if before is None:
            if not create and (subresource or not strategy.allow_create_on_update):
                raise status.not_found(resource.group_resource, name)
            return self._create_by_update(strategy, namespace, name, change, how), True
        old = before.decode()
        obj = change(before.decode())
        metadata, old_metadata = obj["metadata"], old["metadata"]
        part = subresource if noted is None else noted
        live = before.managed
        if part == "-":
            managed = live
        else:
            now = self._once(how, "now", self.now)
            managed = note_updated(
                self.registry, self.strategy, resource, part, before, old, obj, how.manager, now, untouched
            )
        self._check_lock(strategy, metadata, old_metadata, before)
        self._keep_metadata(metadata, old_metadata)
        attributes = how.attributes("UPDATE", resource, subresource, (namespace, name), obj, old)
        managed = self._admit(attributes, how, managed, live)
        metadata = obj["metadata"]
        if subresource == "status":
            strategy.prepare_for_status_update(obj, old)
        elif subresource:
            strategy.prepare_for_subresource_update(subresource, obj, old)
        else:
            strategy.prepare_for_update(obj, old)
        self._validate(strategy, obj, old, subresource)
        self._approve(attributes, how, managed, live)
        return self._store(strategy, before, obj, old, managed, how), False

    def _create_by_update(
        self, strategy: Strategy, namespace: str, name: str, change: Callable[[Obj | None], Obj], how: WriteOptions
    ) -> Version:
        obj = change(None)
        obj["metadata"].pop("resourceVersion", None)
        attributes = how.attributes("CREATE", strategy.resource, "", (namespace, name), obj, None)
        return self._finish_create(strategy, attributes, how)

    def _check_lock(self, strategy: Strategy, metadata: Obj, old: Obj, before: Version) -> None:
        resource, name = strategy.resource, old["name"]
        asked = metadata.get("resourceVersion") or "0"
        if read_unsigned(asked) is None:
            raise status.internal(f'strconv.ParseUint: parsing "{asked}": invalid syntax')
        if asked == "0" and not strategy.allow_unconditional_update:
            kind = GroupKind(resource.group, resource.plural)
            wrong = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise status.invalid(kind, name, [wrong])
        if asked not in ("0", str(before.number)):
            raise status.modified(resource.group_resource, name)

    @staticmethod
    def _keep_metadata(metadata: Obj, old: Obj) -> None:
        """Copy metadata that only the server writes from the old object, where the update does not have it."""
        metadata["resourceVersion"] = old["resourceVersion"]
        metadata.pop("selfLink", None)
        for name in ("name", "namespace", "uid"):
            if not metadata.get(name) and name in old:
                metadata[name] = old[name]
        # A request cannot change these times.
        for name in ("creationTimestamp", "deletionTimestamp"):
            if name in old:
                metadata[name] = old[name]
        if "deletionGracePeriodSeconds" in old:
            metadata.setdefault("deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"])
        with_field(metadata, "generation", old.get("generation"))
        _drop_empty(metadata)

    def _store(
        self, strategy: Strategy, before: Version, obj: Obj, old: Obj, managed: Managed | None, how: WriteOptions
    ) -> Version:
        metadata = obj["metadata"]
        done = (
            not metadata.get("finalizers")
            and old["metadata"].get("deletionTimestamp") is not None
            and not old["metadata"].get("deletionGracePeriodSeconds")
            and strategy.may_delete(obj)
        )
        if how.warnings is not None:
            how.warnings.extend(strategy.warnings_of_change(obj, old))
        strategy.finish(obj, old)
        if how.dry_run:
            return Version.of(before.key, before.number, obj, managed)
        if done:
            metadata["resourceVersion"] = str(before.number)
            # The answer has the object as it was written. Watches see it as it was before, as in a cluster.
            answer = Version.of(before.key, before.number, obj, managed)
            self.storage.delete(strategy.resource.storage, before)
            return answer
        stored = self.storage.update(strategy.resource.storage, before, obj, old, managed, strategy.largest)
        self.storage.settle_in(strategy.stored, stored)
        return stored

    # -- deleting -------------------------------------------------------------------------------------------------

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        options: DeleteOptions,
        how: WriteOptions = WriteOptions(),
    ) -> tuple[Version, bool]:
        """
        Remove an object. If it has finalizers or a grace period, only mark it as being deleted.

        :return: the object's last version, and whether the object was removed
        :raises StatusError: NotFound, Conflict if a precondition fails, or the error of admission
        """
        strategy = self.strategy(resource)
        before = self.find(resource, namespace, name)
        obj = before.decode()
        self.check_preconditions(resource, obj["metadata"], options)
        attributes = how.attributes("DELETE", resource, "", (namespace, name), None, before.decode())
        self._admit(attributes, how, None, before.managed)
        self._approve(attributes, how, None, before.managed)
        metadata = obj["metadata"]
        again = "deletionTimestamp" in metadata
        if strategy.begin_delete(obj, self.now()):
            if not again:
                with_field(metadata, "finalizers", self._finalizers(strategy, metadata, options) or None)
            return self._rewrite(resource, before, obj, how), False
        graceful, pending = self._mark_graceful(strategy, obj, options)
        if pending:
            return before, False
        finalizers = self._finalizers(strategy, metadata, options)
        with_field(metadata, "finalizers", finalizers or None)
        if finalizers and not graceful:
            self._mark_deleting(metadata)
        if finalizers or graceful:
            before = self._rewrite(resource, before, obj, how)
            if finalizers or metadata.get("deletionGracePeriodSeconds"):
                return before, False
        if how.dry_run:
            return before, True
        gone = self.storage.delete(resource.storage, before)
        # The answer to a delete is the object before it was removed, without the resource version of the removal.
        return (before if strategy.returns_deleted else gone), True

    def _rewrite(self, resource: Resource, before: Version, obj: Obj, how: WriteOptions) -> Version:
        if how.dry_run:
            return Version.of(before.key, before.number, obj, before.managed)
        return self.storage.update(resource.storage, before, obj)

    @staticmethod
    def check_preconditions(resource: Resource, metadata: Obj, options: DeleteOptions) -> None:
        """
        :raises StatusError: Conflict if the object has another uid or version than a delete asks for
        """
        # This error has the kind where other errors have the resource, as in Kubernetes.
        what = GroupResource(resource.group, resource.kind)
        for name, asked, there, end in (
            ("UID", options.uid, metadata.get("uid"), "deleted and then recreated"),
            ("ResourceVersion", options.resource_version, metadata.get("resourceVersion"), "modified"),
        ):
            if asked is not None and asked != there:
                if resource.kind == "Namespace":
                    why = f"Precondition failed: {name} in precondition: {asked}, {name} in object meta: {there}"
                    raise status.conflict(resource.group_resource, metadata["name"], why)
                why = f"the {name} in the precondition ({asked}) does not match the {name} in record ({there}). "
                raise status.conflict(what, metadata["name"], f"{why}The object might have been {end}")

    def _mark_graceful(self, strategy: Strategy, obj: Obj, options: DeleteOptions) -> tuple[bool, bool]:
        """
        Set the deletion time of an object whose kind has a grace period.

        :return: whether it was set, and whether an earlier delete remains as it is
        """
        metadata = obj["metadata"]
        asked = options.grace_period
        if asked is not None and asked < 0:
            asked = 1
        grace = strategy.grace_period(obj, asked)
        if grace is None:
            return False, False
        if "deletionTimestamp" in metadata:
            current = metadata.get("deletionGracePeriodSeconds") or 0
            if current == 0:
                return False, False
            if asked is None or asked >= current:
                return False, True
            due = parse_timestamp(metadata["deletionTimestamp"]) - duration_of(current) + duration_of(asked)
            now = self.clock.now()
            if due < now:
                due, asked = now, 1 if asked else 0
            metadata["deletionTimestamp"] = timestamp(due)
            metadata["deletionGracePeriodSeconds"] = asked
            return True, False
        metadata["deletionTimestamp"] = timestamp(self.clock.now() + duration_of(grace))
        metadata["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation"):
            metadata["generation"] += 1
        return True, False

    def _mark_deleting(self, metadata: Obj) -> None:
        now = self.now()
        if "deletionTimestamp" not in metadata and metadata.get("generation"):
            metadata["generation"] += 1
        if metadata.get("deletionTimestamp", "9") > now:
            metadata["deletionTimestamp"] = now
        metadata["deletionGracePeriodSeconds"] = 0

    @staticmethod
    def _finalizers(strategy: Strategy, metadata: Obj, options: DeleteOptions) -> list[str]:
        """The finalizers of an object to be deleted. The options decide about those of the garbage collector."""
        present: list[Any] = metadata.get("finalizers") or []
        others = [name for name in present if name not in _GC_FINALIZERS]
        if strategy.default_propagation == "None":
            return others
        if options.orphan_dependents is not None:
            wanted = "orphan" if options.orphan_dependents else ""
        elif options.propagation is not None:
            wanted = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}.get(options.propagation, "")
        else:
            kept = next((name for name in present if name in _GC_FINALIZERS), "")
            wanted = kept or ("orphan" if strategy.default_propagation == "Orphan" else "")
        if wanted and wanted in present:
            return present
        return [*others, wanted] if wanted else others


def _same_but_metadata(obj: Obj, old: Obj) -> bool:
    """Whether at most the metadata has changed, without annotations. The rest was validated at the last write."""
    if obj["metadata"].get("annotations") != old["metadata"].get("annotations"):
        return False  # a Secret with a token needs one
    return obj.keys() == old.keys() and all(obj[name] == old[name] for name in obj if name != "metadata")
