"""The steps of a write that differ by kind, with what most kinds do.

An object arrives as plain JSON data without ``kind`` and ``apiVersion``. A create runs :meth:`~Strategy.default`,
:meth:`~Strategy.prepare_for_create` and :meth:`~Strategy.validate`; an update :meth:`~Strategy.default`,
:meth:`~Strategy.prepare_for_update` (or the subresource's), :meth:`~Strategy.validate` and
:meth:`~Strategy.validate_update`. The steps change the new object in place and never the old one. Kinds override what
they do differently; a strategy has no state of its own but its resource.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from kinformer.envtest.registry import Resource
from kinformer.envtest.registry.schema import Problems, check, zero_of
from kinformer.envtest.status import Cause
from kinformer.envtest.storage import Version
from kinformer.envtest.strategy.pod_warnings import pod_warnings
from kinformer.meta.validation import dns1123_label_errors, dns1123_subdomain_errors

__all__ = ("Obj", "Strategy", "with_field")

#: An object, or a part of one, as JSON data.
Obj = dict[str, Any]


def with_field(obj: Obj, name: str, value: Any) -> None:
    """Give a field a value, or take the field away if the value is None."""
    if value is None:
        obj.pop(name, None)
    else:
        obj[name] = value


def _generation(obj: Obj) -> Any:
    return obj["metadata"].get("generation")


class Strategy:
    """
    How objects of one resource are written.

    :cvar allow_create_on_update: whether a PUT of an object that is not there creates it
    :cvar allow_unconditional_update: whether a PUT without a resourceVersion overwrites whatever is there
    :cvar returns_deleted: whether a delete that is done at once answers with the object, not with a Status
    :cvar is_converted: whether objects are stored in another form than this version of the API has
    :cvar defaults_leave_metadata: whether an object's defaults have nothing to do with its metadata
    :cvar has_generation: whether changes of the spec are counted
    :cvar checks_metadata_again: whether an update of this kind looks at the whole metadata once more
    :cvar name_is_hostname: what objects' names become a part of that wants DNS labels; they are warned of others
    :cvar template: where it has a template of pods
    :cvar default_propagation: what happens to dependents when a delete does not say it
    """

    allow_create_on_update = False
    allow_unconditional_update = True
    returns_deleted = False
    is_converted = False
    defaults_leave_metadata = False
    has_generation = False
    checks_metadata_again = False
    name_is_hostname = ""
    template = ""
    default_propagation: Literal["Background", "Orphan"] = "Background"

    def __init__(self, resource: Resource):
        self.resource = resource

    @property
    def has_status(self) -> bool:
        return "status" in self.resource.subresources

    def check(self, data: Obj, problems: Problems) -> Obj:
        """An object that just came in, in the form in which it is stored."""
        return check(self.resource, data, problems)

    def shown(self, obj: Obj) -> Obj:
        """A stored object in the form that this version of the API has: what :meth:`check` makes the stored one of."""
        return obj

    # -- steps ----------------------------------------------------------------------------------------------------

    def default(self, obj: Obj) -> None:
        """Fill in what the user left out, as the API documents it."""

    def prepare_for_create(self, obj: Obj) -> None:
        if self.has_status:
            initial = self.initial_status(obj)
            with_field(
                obj, "status", None if initial is None else {**zero_of(self.resource).get("status", {}), **initial}
            )
        if self.has_generation:
            obj["metadata"]["generation"] = 1

    def initial_status(self, obj: Obj) -> Obj | None:
        """The status that a new object gets, whatever the user sent."""
        return {}

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        if self.has_status:
            with_field(obj, "status", old.get("status"))
        self.count_generation(obj, old)

    def count_generation(self, obj: Obj, old: Obj) -> None:
        if self.has_generation:
            before = old["metadata"].get("generation", 0)
            with_field(obj["metadata"], "generation", (before + 1 if self.counts(obj, old) else before) or None)

    def counts(self, obj: Obj, old: Obj) -> bool:
        """Whether the difference between two versions of the object makes a new generation."""
        return bool(obj.get("spec") != old.get("spec"))

    def prepare_for_status_update(self, obj: Obj, old: Obj) -> None:
        """
        Everything but the status and the metadata is as before.

        What a status and a label or annotation say together is written together: a Deployment's revision, say.
        """
        status, metadata = obj.get("status"), obj["metadata"]
        for name in self.resource.kept_by_status:
            with_field(metadata, name, old["metadata"].get(name))
        obj.clear()
        obj.update(old)
        obj["metadata"] = metadata
        with_field(obj, "status", status)

    def prepare_for_subresource_update(self, subresource: str, obj: Obj, old: Obj) -> None:
        """The same for the subresources that write something else: a binding, a namespace's finalizers."""

    def validate(self, obj: Obj) -> list[Cause]:
        """What is wrong with the object in itself, beyond its metadata."""
        return []

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        """What is wrong with the change."""
        return []

    def validate_replacement(self, obj: Obj, old: Obj) -> list[Cause]:
        """What is wrong with an object that takes the place of another, in the order in which it is told."""
        return [*self.validate(obj), *self.validate_update(obj, old)]

    def validate_subresource(self, subresource: str, obj: Obj) -> list[Cause]:
        """What is wrong with the object after a subresource was written: its spec was checked when that was."""
        return []

    def validate_subresource_change(self, subresource: str, obj: Obj, old: Obj) -> list[Cause]:
        """What is wrong with an object of which a subresource was written."""
        return self.validate_subresource(subresource, obj)

    def finish(self, obj: Obj, old: Obj | None) -> None:
        """
        The last step before an object that is right is stored: to take for it what only one object can have.

        :raises StatusError: if that is not to be had
        """

    def stored(self, version: Version) -> None:
        """The object was stored: what follows from it may be written now."""

    def warnings(self, obj: Obj) -> list[str]:
        """What the user is told about an object that was written all the same."""
        wrong = dns1123_label_errors(obj["metadata"].get("name", "")) if self.name_is_hostname else []
        if not wrong:
            return []
        told = f"metadata.name: this is used in {self.name_is_hostname}, which can result in surprising behavior"
        return [f"{told}; a DNS label is recommended: [{' '.join(wrong)}]"]

    def warnings_of_change(self, obj: Obj, old: Obj | None) -> list[str]:
        """What the user is told about what has come to an object, or with a new one."""
        if not self.template or (old is not None and _generation(old) == _generation(obj)):
            return []
        template: Any = obj
        for part in self.template.split("."):
            template = template.get(part) or {}
        return list(pod_warnings(template, f"{self.template}."))

    def deletion_warnings(self, said_what_happens: bool) -> list[str]:
        """
        What the user is told about a delete.

        :param said_what_happens: whether the request says what becomes of dependents
        """
        return []

    def validate_name(self, name: str) -> list[str]:
        """What is wrong with a name."""
        return dns1123_subdomain_errors(name)

    # -- deletion -------------------------------------------------------------------------------------------------

    def grace_period(self, obj: Obj, asked: int | None) -> int | None:
        """
        How many seconds the object keeps before it goes.

        :param asked: what the request says
        :return: None for kinds that know no grace: they go at once
        """
        return None

    def begin_delete(self, obj: Obj, now: str) -> bool:
        """
        Mark an object whose deletion takes a way of its own.

        :return: whether that is all that this delete does
        """
        return False

    def may_delete(self, obj: Obj) -> bool:
        """Whether the object goes once its finalizers and its grace are over: a namespace has more to it."""
        return True

    # -- reading --------------------------------------------------------------------------------------------------

    #: Which fields selectors may ask for, besides name and namespace, and how each is read.
    selectable: ClassVar[dict[str, str]] = {}
    field_aliases: ClassVar[dict[str, str]] = {}

    def unsupported_field(self, label: str) -> str:
        """What is said of a field that selectors may not ask for: kinds with fields of their own say it in one way."""
        if self.selectable:
            return f"field label not supported: {label}"
        return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'

    def read_fields(self, obj: Obj) -> dict[str, str]:
        """What field selectors see of an object."""
        metadata = obj["metadata"]
        fields = {"metadata.name": metadata.get("name", ""), "metadata.namespace": metadata.get("namespace", "")}
        for label, default in self.selectable.items():
            value: Any = obj
            for part in label.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            if isinstance(value, bool):
                value = "true" if value else "false"
            fields[label] = default if value is None else str(value)
        return fields
