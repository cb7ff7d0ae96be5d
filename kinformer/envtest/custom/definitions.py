"""CustomResourceDefinitions: the strategy for them, and how they become resources that the server serves."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from kinformer.clock import Clock
from kinformer.envtest.custom.checks import check_definition
from kinformer.envtest.custom.structural import children
from kinformer.envtest.registry import METADATA, Registry, Resource, Subresource
from kinformer.envtest.registry.resources import CUSTOM_VERBS, SCALE, STATUS_VERBS
from kinformer.envtest.registry.schema import zero_of
from kinformer.envtest.status import Cause
from kinformer.envtest.storage import Change, Storage, Version
from kinformer.envtest.storage.history import DELETED
from kinformer.envtest.strategy.base import Obj, Strategy, conditions_of, has_condition
from kinformer.expressions.formats import is_known
from kinformer.meta.names import GroupResource, GroupVersionKind

__all__ = ("DefinitionStrategy", "Definitions")

_DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_IN_PROGRESS = "CustomResource deletion is in progress"


class Definitions:
    """
    The stored definitions, and their resources in the registry.

    A definition is served as soon as it is stored, if its names are free. In a real server that takes some time.
    """

    def __init__(self, storage: Storage, registry: Registry, clock: Clock):
        self._storage = storage
        self._registry = registry
        self._clock = clock
        self._served: dict[str, list[Resource]] = {}
        #: The storage versions that each resource has had. Each entry is a version of the storage, and the
        #: API version at which objects are stored after it.
        self._stored_as: dict[GroupResource, list[tuple[int, str]]] = {}
        #: Definitions that are being deleted and wait for their objects to be gone, by resource.
        self._ending: dict[GroupResource, str] = {}
        storage.listeners.append(self._follow)

    def load(self) -> None:
        """Serve the definitions of a storage that was read from disk."""
        for version in self._storage.log(_DEFINITIONS).select(""):
            self._serve(version.key, version.decode())

    def _follow(self, resource: GroupResource, change: Change) -> None:
        if change.type == DELETED and resource in self._ending:
            self._clean_later(self._ending[resource])
        if resource == _DEFINITIONS:
            for one in self._served.pop(change.now.key, ()):
                self._registry.remove(one.group, one.version, one.plural)
            if change.type != DELETED:
                definition = change.now.decode()
                self._serve(change.now.key, definition)
                if _CLEANUP in (definition["metadata"].get("finalizers") or ()):
                    self._clean_later(change.now.key)
            else:
                gone = change.now.decode()["spec"]
                self._forget(gone)
                self._reconsider(gone["group"])

    def _serve(self, key: str, definition: Obj) -> None:
        if not has_condition(definition.get("status"), "Established"):
            return
        self._served[key] = resources = list(_resources(definition["spec"]))
        for resource in resources:
            self._registry.add(resource)
        spec = definition["spec"]
        history = self._stored_as.setdefault(GroupResource(spec["group"], spec["names"]["plural"]), [])
        name = next((one["name"] for one in spec["versions"] if one.get("storage")), "")
        if not history or history[-1][1] != name:
            history.append((self._storage.version if history else 0, name))

    def _forget(self, spec: Obj) -> None:
        place = GroupResource(spec["group"], spec["names"]["plural"])
        self._stored_as.pop(place, None)
        self._ending.pop(place, None)
        for version in spec["versions"]:
            self._storage.mirrors.pop(GroupResource(spec["group"], f"{place.resource}@{version['name']}"), None)

    def stored_as(self, resource: GroupResource, number: int) -> str:
        """
        The API version at which an object was stored.

        Objects that were stored before the server started count as stored at the storage version of that time.

        :param number: the version of the storage at which the object was written
        """
        names = [name for since, name in self._stored_as.get(resource, ()) if since < number]
        return names[-1] if names else ""

    def establish(self, version: Version) -> None:
        """Set a definition's status: the names that it has been given, and whether it is served."""
        obj = version.decode()
        status = obj.setdefault("status", {})
        accepted = {"plural": "", "kind": "", **(status.get("acceptedNames") or {})}
        wanted = {key: value for key, value in obj["spec"]["names"].items() if value}
        if {key: value for key, value in accepted.items() if value} == wanted:
            return
        names, reason, message = _accept_names(wanted, accepted, *self._taken(obj["spec"]["group"]))
        now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        before = {one["type"]: one for one in status.get("conditions") or ()}
        conditions = [
            _condition("NamesAccepted", now, "NoConflicts", "no conflicts found"),
            _condition("Established", now, "InitialNamesAccepted", "the initial names have been accepted"),
        ]
        if reason:
            conditions = [
                _condition("NamesAccepted", now, reason, message, "False"),
                _condition("Established", now, "NotAccepted", "not all names are accepted", "False"),
            ]
        if (before.get("Established") or {}).get("status") == "True":
            conditions[1] = before["Established"]
        if names == accepted and reason and "NamesAccepted" in before:
            return
        others = [one for type_, one in before.items() if type_ not in ("NamesAccepted", "Established")]
        obj["status"] = {**status, "acceptedNames": names, "conditions": [*conditions, *others]}
        self._storage.update(_DEFINITIONS, version, obj)

    def _taken(self, group: str) -> tuple[set[str], set[str]]:
        """The names of resources and of kinds that the definitions of a group have been given."""
        resources: set[str] = set()
        kinds: set[str] = set()
        for version in self._storage.log(_DEFINITIONS).select(""):
            obj = version.decode()
            if obj["spec"].get("group") != group:
                continue
            names = (obj.get("status") or {}).get("acceptedNames") or {}
            resources |= {names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())}
            kinds |= {names.get("kind", ""), names.get("listKind", "")}
        return resources - {""}, kinds - {""}

    def _reconsider(self, group: str) -> None:
        """Some names are free now. Give them to definitions that wait for them."""
        for version in list(self._storage.log(_DEFINITIONS).select("")):
            if version.decode()["spec"].get("group") == group:
                self.establish(version)

    # -- the end of a definition ------------------------------------------------------------------------------------

    def _clean_later(self, key: str) -> None:
        """Clean up in a later step of the loop, so that the client first gets its answer to the delete."""
        try:
            asyncio.get_running_loop().call_soon(self._clean, key)
        except RuntimeError:  # without a running loop there is no client to answer
            self._clean(key)

    def _clean(self, key: str) -> None:
        """Delete the objects of a definition that is being deleted, and then the definition."""
        version = self._storage.log(_DEFINITIONS).objects.get(key)
        if version is None:
            return
        definition = version.decode()
        metadata = definition["metadata"]
        finalizers = metadata.get("finalizers") or []
        if "deletionTimestamp" not in metadata or _CLEANUP not in finalizers:
            return
        now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        place = GroupResource(definition["spec"]["group"], definition["spec"]["names"]["plural"])
        if not self._delete_objects(place, now):
            if place not in self._ending:
                self._ending[place] = key
                _set_condition(definition, "True", now, "InstanceDeletionInProgress", _IN_PROGRESS)
                self._storage.update(_DEFINITIONS, version, definition)
            return
        _set_condition(definition, "False", now, "InstanceDeletionCompleted", "removed all instances")
        finalizers.remove(_CLEANUP)
        if finalizers:
            self._storage.update(_DEFINITIONS, version, definition)
        else:
            self._storage.delete(_DEFINITIONS, version)

    def _delete_objects(self, place: GroupResource, now: str) -> bool:
        """
        Delete all objects of a resource.

        :return: whether all are gone. Objects with finalizers remain
        """
        left = False
        for version in list(self._storage.log(place).select("")):
            obj = version.decode()
            if not obj["metadata"].get("finalizers"):
                self._storage.delete(place, version)
                continue
            left = True
            if "deletionTimestamp" not in obj["metadata"]:
                obj["metadata"] |= {"deletionTimestamp": now, "deletionGracePeriodSeconds": 0}
                self._storage.update(place, version, obj)
        return not left


def _set_condition(definition: Obj, said: str, now: str, reason: str, message: str) -> None:
    status = definition.setdefault("status", {})
    others = [one for one in conditions_of(definition) if one.get("type") != "Terminating"]
    status["conditions"] = [*others, _condition("Terminating", now, reason, message, said)]


def _condition(type_: str, now: str, reason: str, message: str, said: str = "True") -> Obj:
    return {"type": type_, "status": said, "lastTransitionTime": now, "reason": reason, "message": message}


def _resources(spec: Obj) -> Iterator[Resource]:
    names = spec["names"]
    for version in spec.get("versions") or ():
        if not version.get("served"):
            continue
        own = GroupVersionKind(spec["group"], version["name"], names["kind"])
        subresources = {}
        parts: dict[str, Any] = version.get("subresources") or {}
        if parts.get("status") is not None:
            subresources["status"] = Subresource("status", own, STATUS_VERBS)
        if parts.get("scale") is not None:
            subresources["scale"] = Subresource("scale", SCALE, STATUS_VERBS)
        yield Resource(
            group=spec["group"],
            version=version["name"],
            plural=names["plural"],
            kind=names["kind"],
            namespaced=spec.get("scope") == "Namespaced",
            singular=names.get("singular") or names["kind"].lower(),
            list_kind=names.get("listKind") or f"{names['kind']}List",
            verbs=CUSTOM_VERBS,
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=subresources,
            kept_by_status=METADATA,
            definition={
                **version,
                "scale": parts.get("scale"),
                "conversion": spec.get("conversion"),
                "several": len(spec["versions"]) > 1,
            },
        )


class DefinitionStrategy(Strategy):
    """How definitions are written. The objects of a definition are deleted before the definition."""

    def __init__(self, resource: Resource, definitions: Definitions):
        super().__init__(resource)
        self._definitions = definitions

    def default(self, obj: Obj) -> None:
        super().default(obj)
        names = obj["spec"]["names"]
        if kind := names.get("kind"):
            names.setdefault("singular", kind.lower())
            names.setdefault("listKind", f"{kind}List")
        if obj["spec"].get("conversion") is None:
            obj["spec"]["conversion"] = {"strategy": "None"}

    def initial_status(self, obj: Obj) -> Obj:
        return {**zero_of(self.resource).get("status", {}), "storedVersions": _storage_versions(obj)[:1]}

    def validate(self, obj: Obj) -> list[Cause]:
        return [*check_definition(obj)]

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_update(obj, old)
        # From now on objects are stored at the new version, and some are still stored at older ones.
        stored = [*((old.get("status") or {}).get("storedVersions") or ())]
        new = [name for name in _storage_versions(obj)[:1] if name not in stored]
        if new:
            obj["status"] = {**(obj.get("status") or {}), "storedVersions": [*stored, *new]}

    def stored(self, version: Version) -> None:
        self._definitions.establish(version)

    def begin_delete(self, obj: Obj, now: str) -> bool:
        metadata = obj["metadata"]
        if "deletionTimestamp" in metadata:
            return False
        metadata["deletionTimestamp"] = now
        metadata["finalizers"] = [*(metadata.get("finalizers") or ()), _CLEANUP]
        text = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        _set_condition(obj, "True", now, "InstanceDeletionPending", text)
        return True

    def warnings_of_change(self, obj: Obj, old: Obj | None) -> list[str]:
        known = _unknown_formats(old) if old is not None else []
        return [f'unrecognized format "{form}"' for form in _unknown_formats(obj) if form not in known]


def _storage_versions(obj: Obj) -> list[str]:
    return [one["name"] for one in obj["spec"].get("versions") or () if one.get("storage")]


def _unknown_formats(definition: Obj) -> list[str]:
    """The unknown formats in a definition's schemas."""
    found: list[str] = []

    def look(schema: Mapping[str, Any]) -> None:
        form = schema.get("format")
        if form and form not in found and not is_known(form, schema.get("type") or ""):
            found.append(form)
        for _, below in children(schema):
            look(below)

    for version in definition["spec"].get("versions") or ():
        look((version.get("schema") or {}).get("openAPIV3Schema") or {})
    return found


# -- names of custom resources: each belongs to the first definition of a group that asks for it ----------------------

_Names = Mapping[str, Any]


def _accept_names(
    wanted: _Names, own: _Names, resources: Collection[str], kinds: Collection[str]
) -> tuple[dict[str, Any], str, str]:
    """
    Decide which names a definition is given.

    :param own: the names that the definition already has
    :param resources: the plural, singular and short names that are in use in the group
    :param kinds: the kinds and list kinds that are in use in the group
    :return: its names; and why it does not have all the names that it asks for: reason and message, or empty texts
    """
    names, reason, message = dict(own), "", ""
    for field, taken in (
        ("plural", resources),
        ("singular", resources),
        ("shortNames", resources),
        ("kind", kinds),
        ("listKind", kinds),
    ):
        name, mine = wanted.get(field), own.get(field)
        several = field == "shortNames"
        asked = (name or []) if several else [name] if name else []
        held = (mine or []) if several else [mine]
        wrong = [f'"{one}" is already in use' for one in asked if one not in held and one in taken]
        if wrong:
            reason = f"{field[0].upper()}{field[1:]}Conflict"
            message = wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
        elif name:
            names[field] = name
        elif several:
            names.pop(field, None)
    names.pop("categories", None)
    if wanted.get("categories"):
        names["categories"] = wanted["categories"]
    return names, reason, message
