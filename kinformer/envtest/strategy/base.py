"""The steps of a write that differ between kinds, and the common form of each step.

An object arrives as plain JSON data without ``kind`` and ``apiVersion``. A create calls :meth:`~Strategy.default`,
:meth:`~Strategy.prepare_for_create` and :meth:`~Strategy.validate`. An update calls :meth:`~Strategy.default`,
:meth:`~Strategy.prepare_for_update` (or the method for the subresource), :meth:`~Strategy.validate` and
:meth:`~Strategy.validate_update`. The steps change the new object in place and never change the old one. The strategy
of a kind overrides the steps that are different for it. Its settings and defaults are in ``kinds.yaml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import reduce
from typing import Any, Literal

from kinformer.envtest.causes import immutable
from kinformer.envtest.registry import Resource
from kinformer.envtest.registry.schema import Problems, check, zero_of
from kinformer.envtest.status import Cause
from kinformer.envtest.storage import LARGEST, Version
from kinformer.envtest.strategy.checks import BAD_ADDRESS, parse_address
from kinformer.envtest.strategy.declared import Steps, defaults_of, fill, settings_of
from kinformer.envtest.strategy.fields import CONDITIONS, Every, Fields, check_status_counts
from kinformer.envtest.strategy.metadata import NameRule, path_segment
from kinformer.envtest.strategy.pod_warnings import pod_warnings
from kinformer.envtest.strategy.podspec import default_template
from kinformer.meta.validation import dns1123_label_errors, dns1123_subdomain_errors

__all__ = ("Obj", "Strategy", "conditions_of", "has_condition", "value_at", "with_field", "with_fields")

#: An object or a part of an object, as JSON data.
Obj = dict[str, Any]


def with_field(obj: Obj, name: str, value: Any) -> None:
    """Set a field. If the value is None, remove the field."""
    if value is None:
        obj.pop(name, None)
    else:
        obj[name] = value


def with_fields(obj: Obj, other: Obj, *names: str) -> Obj:
    """An object with these fields of another one."""
    made = {**obj}
    for name in names:
        with_field(made, name, other.get(name))
    return made


def conditions_of(obj: Obj) -> list[Obj]:
    return (obj.get("status") or {}).get("conditions") or []


def has_condition(status: Obj | None, kind: str, value: str = "True") -> bool:
    """Whether a status has a condition with this value."""
    conditions = (status or {}).get("conditions") or ()
    return any(one.get("type") == kind and one.get("status") == value for one in conditions)


_NAME_FORMS: Mapping[str, NameRule] = {
    "address": lambda name: [] if str(parse_address(name)) == name else [BAD_ADDRESS],
    "any": lambda _: [],
    "label": dns1123_label_errors,
    "segment": path_segment,
    "subdomain": dns1123_subdomain_errors,
}


def value_at(obj: Obj | None, path: str) -> Any:
    """What is at a path, such as ``.spec.replicas`` or ``spec.replicas``; None if nothing is there."""
    value: Any = obj
    for part in path.strip(".").split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


# More than 15 fields: the settings in which kinds differ, each a row of kinds.yaml.
class Strategy:
    """
    How objects of one resource are written.

    :cvar allow_create_on_update: whether a PUT creates an object that does not exist
    :cvar allow_unconditional_update: whether a PUT without a resourceVersion overwrites the object at any version
    :cvar returns_deleted: whether the answer to a delete that removes the object is the object, and not a Status
    :cvar is_converted: whether objects are stored at another version of the API than this one
    :cvar defaults_leave_metadata: whether :meth:`default` neither reads nor changes the metadata
    :cvar has_generation: whether changes of the spec increase ``metadata.generation``
    :cvar metadata_checks: what an update of this kind checks again in the metadata: the ``change``, or the ``whole``
    :cvar name_is_hostname: what the name of an object becomes a part of. It should be a DNS label then, and the client
        is warned about other names. Empty if names have no such use
    :cvar folder: where etcd has the objects. By default, this is the name of the resource
    :cvar template: the path of the pod template. Empty if the kind has none
    :cvar gives_names: whether an object that comes without a name gets one
    :cvar name_form: the form of names: ``subdomain``, ``label``, ``address``, ``segment`` (of a path), or ``any``
    :cvar finalizer: the finalizer of every new object. Empty if there is none
    :cvar new_status: the status of a new object, besides the fields that every status of the kind has
    :cvar generation_of: the paths of the fields whose changes increase the generation
    :cvar change_is_checked_first: whether the errors of a change come before those of the object itself
    :cvar fixed: the paths of the fields that never change
    :cvar checks: the checks of an object without its metadata
    :cvar largest: the most bytes of an object. etcd has kinds like this one in protobuf, which is shorter than JSON
    :cvar default_propagation: what a delete without a propagation policy does with dependents. None if there are none
    :cvar begins_without_status: whether a new object has no status, and not an empty one
    :cvar status_counts: the numbers in the status that are counts
    :cvar has_conditions: whether the status has conditions of the type ``metav1.Condition``
    """

    allow_create_on_update = False
    allow_unconditional_update = True
    returns_deleted = False
    is_converted = False
    defaults_leave_metadata = False
    has_generation = False
    name_form: Literal["address", "any", "label", "segment", "subdomain"] = "subdomain"
    gives_names = False
    finalizer = ""
    new_status: Mapping[str, Any] = {}
    generation_of: tuple[str, ...] = ("spec",)
    change_is_checked_first = False
    metadata_checks: tuple[str, ...] = ("change",)
    name_is_hostname = ""
    folder = ""
    template = ""
    default_propagation: Literal["Background", "None", "Orphan"] = "Background"
    fixed: tuple[str, ...] = ()
    begins_without_status = False
    status_counts: tuple[str, ...] = ()
    has_conditions = False
    largest = 2 * LARGEST
    #: The fields that field selectors may use, besides name and namespace. The value is the default of the field.
    selectable: Mapping[str, str] = {}
    field_aliases: Mapping[str, str] = {}

    checks: Fields | Every = Fields()

    def __init__(self, resource: Resource, checks: Fields | Every | None = None):
        self.resource = resource
        if checks is not None:
            self.checks = checks
        self._defaults: Steps = ()
        stored = resource.storage
        self.folder = f"{stored.group}/{stored.resource}" if resource.is_custom else stored.resource
        if not resource.is_custom:
            self._defaults = defaults_of(resource)
            vars(self).update(settings_of(resource))

    @property
    def has_status(self) -> bool:
        return "status" in self.resource.subresources

    def check(self, data: Obj, problems: Problems) -> Obj:
        """Check a new object and bring it into its stored form."""
        return check(self.resource, data, problems)

    def shown(self, obj: Obj) -> Obj:
        """Convert a stored object to this version of the API. :meth:`check` is the reverse."""
        return obj

    # -- steps ----------------------------------------------------------------------------------------------------

    def default(self, obj: Obj) -> None:
        """Set the documented defaults of the API."""
        fill(obj, self._defaults)
        if self.template:
            default_template(reduce(lambda part, name: part.setdefault(name, {}), self.template.split("."), obj))

    def prepare_for_create(self, obj: Obj) -> None:
        if self.has_status:
            given = {**zero_of(self.resource).get("status", {}), **self.initial_status(obj)}
            with_field(obj, "status", None if self.begins_without_status else given)
        if self.has_generation:
            obj["metadata"]["generation"] = 1
        if self.finalizer and self.finalizer not in (finalizers := obj["metadata"].get("finalizers") or []):
            obj["metadata"]["finalizers"] = [*finalizers, self.finalizer]

    def initial_status(self, obj: Obj) -> Obj:
        """The status of a new object. The status in the request is ignored."""
        return deepcopy(dict(self.new_status))

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        if self.has_status:
            with_field(obj, "status", old.get("status"))
        self.count_generation(obj, old)

    def count_generation(self, obj: Obj, old: Obj) -> None:
        if self.has_generation:
            before = old["metadata"].get("generation", 0)
            with_field(obj["metadata"], "generation", (before + 1 if self.counts(obj, old) else before) or None)

    def counts(self, obj: Obj, old: Obj) -> bool:
        """Whether the difference between two versions of the object increases the generation."""
        return any(value_at(obj, path) != value_at(old, path) for path in self.generation_of)

    def prepare_for_status_update(self, obj: Obj, old: Obj) -> None:
        """
        Keep everything except the status and the metadata as it was.

        A status update may change labels and annotations too, since some belong to the status, for example a
        Deployment's revision.
        """
        metadata = with_fields(obj["metadata"], old["metadata"], *self.resource.kept_by_status)
        status = obj.get("status")
        obj.clear()
        obj.update(old, metadata=metadata)
        with_field(obj, "status", status)

    def prepare_for_subresource_update(self, subresource: str, obj: Obj, old: Obj) -> None:
        """The same for subresources that write another part: a binding, a namespace's finalizers."""

    def validate(self, obj: Obj) -> list[Cause]:
        """The errors of the object itself, without those of its metadata."""
        return [*self.checks(obj, "")]

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        """The errors of the change."""
        return [cause for path in self.fixed for cause in immutable(value_at(obj, path), value_at(old, path), path)]

    def validate_replacement(self, obj: Obj, old: Obj) -> list[Cause]:
        """The errors of an object that replaces another one, in the order of the API."""
        errors, of_change = self.validate(obj), self.validate_update(obj, old)
        return of_change + errors if self.change_is_checked_first else errors + of_change

    def validate_subresource(self, subresource: str, obj: Obj) -> list[Cause]:
        """The errors of the object after a write of a subresource. The spec is not checked again."""
        status = obj.get("status") or {}
        causes = [*CONDITIONS(status.get("conditions"), "status.conditions")] if self.has_conditions else []
        return [*causes, *check_status_counts(status, self.status_counts)] if self.status_counts else causes

    def validate_subresource_change(self, subresource: str, obj: Obj, old: Obj) -> list[Cause]:
        """The errors of a change by a subresource."""
        return self.validate_subresource(subresource, obj)

    def finish(self, obj: Obj, old: Obj | None) -> None:
        """
        The last step before a valid object is stored: reserve values that only one object may have.

        :raises StatusError: if such a value is not available
        """

    def stored(self, version: Version) -> None:
        """Called after the object was stored. Further writes that follow from it are made here."""

    def warnings(self, obj: Obj) -> list[str]:
        """The warnings for the client about an object that was written."""
        wrong = dns1123_label_errors(obj["metadata"].get("name", "")) if self.name_is_hostname else []
        if not wrong:
            return []
        told = f"metadata.name: this is used in {self.name_is_hostname}, which can result in surprising behavior"
        return [f"{told}; a DNS label is recommended: [{' '.join(wrong)}]"]

    def warnings_of_change(self, obj: Obj, old: Obj | None) -> list[str]:
        """The warnings for the client about a new object, or about a change. `old` is None for a new object."""
        generation = obj["metadata"].get("generation")
        if not self.template or (old is not None and old["metadata"].get("generation") == generation):
            return []
        return list(pod_warnings(value_at(obj, self.template) or {}, f"{self.template}."))

    def deletion_warnings(self, said_what_happens: bool) -> list[str]:
        """
        The warnings for the client about a delete.

        :param said_what_happens: whether the request has a propagation policy
        """
        return []

    def validate_name(self, name: str) -> list[str]:
        """The errors of a name."""
        return _NAME_FORMS[self.name_form](name)

    # -- deletion -------------------------------------------------------------------------------------------------

    def grace_period(self, obj: Obj, asked: int | None) -> int | None:
        """
        The seconds between the delete and the removal of the object.

        :param asked: the grace period in the request
        :return: None for kinds without graceful deletion. They are removed at once
        """
        return None

    def begin_delete(self, obj: Obj, now: str) -> bool:
        """
        Mark an object as deleted, for a kind with its own way of deletion.

        :return: whether this delete only marks the object
        """
        return False

    def may_delete(self, obj: Obj) -> bool:
        """
        Whether the object may be removed when its finalizers and its grace period are over. A namespace may need more.
        """
        return True

    # -- reading --------------------------------------------------------------------------------------------------

    def unsupported_field(self, label: str) -> str:
        """
        The error text for a field that selectors may not use. It depends on whether the kind has selectable fields.
        """
        if self.selectable:
            return f"field label not supported: {label}"
        return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'

    def read_fields(self, obj: Obj) -> dict[str, str]:
        """The values of the fields that field selectors may use."""
        metadata = obj["metadata"]
        fields = {"metadata.name": metadata.get("name", ""), "metadata.namespace": metadata.get("namespace", "")}
        for label, default in self.selectable.items():
            value = value_at(obj, label)
            if isinstance(value, bool):
                value = "true" if value else "false"
            fields[label] = default if value is None else str(value)
        return fields
