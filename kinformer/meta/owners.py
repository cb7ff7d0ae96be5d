"""Owners: the owner references of an object, and its controller.

An object names its owners in ``metadata.ownerReferences``. At most one of them is its controller. Objects and
references may be models, Structs or dicts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kinformer.meta.accessor import accessor_of
from kinformer.meta.names import GroupKind, GroupVersion, GroupVersionKind
from kinformer.meta.reading import read

if TYPE_CHECKING:
    from kinformer.models import V1OwnerReference

__all__ = (
    "OwnerRef",
    "get_controller_of",
    "is_controlled_by",
    "new_controller_ref",
    "owner_ref",
)


class OwnerRef(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An owner reference of any kind of object. It is encoded as in the API."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False

    @property
    def group_kind(self) -> GroupKind:
        """
        The owner's kind, without a version.

        :raises ValueError: if its apiVersion is invalid
        """
        return GroupKind(GroupVersion.parse(self.api_version).group, self.kind)

    def to_dict(self) -> dict[str, Any]:
        """The reference as in an object's JSON."""
        reference: dict[str, Any] = msgspec.to_builtins(self)
        return reference


def owner_ref(reference: Any) -> OwnerRef:
    """Convert a reference that may be a model, a Struct or a dict."""
    return OwnerRef(
        read(reference, "apiVersion") or "",
        read(reference, "kind") or "",
        read(reference, "name") or "",
        read(reference, "uid") or "",
        bool(read(reference, "controller")),
        bool(read(reference, "blockOwnerDeletion")),
    )


def get_controller_of(obj: Any) -> OwnerRef | None:
    """The reference of `obj` to its controller; None if it has none."""
    for reference in accessor_of(obj).owner_references(obj):
        if read(reference, "controller"):
            return owner_ref(reference)
    return None


def is_controlled_by(obj: Any, uid: str) -> bool:
    """Whether the controller of `obj` is the object with that uid."""
    for reference in accessor_of(obj).owner_references(obj):
        if read(reference, "controller"):
            return bool(read(reference, "uid") == uid)
    return False


def new_controller_ref(owner: Any, gvk: GroupVersionKind | None = None) -> V1OwnerReference:
    """
    Make the reference by which a dependent names `owner` as its controller.

    It also blocks a foreground deletion of the owner until the dependent is gone.

    :param gvk: the kind of `owner`; not needed for a model, or for a custom resource whose type declares it
    :raises LookupError: if `gvk` is left out, and the type of `owner` does not declare its kind
    """
    # As in client-go, this function belongs to the metadata and returns the API's own type. It is the one import here
    # of a higher layer.
    from kinformer.models import V1OwnerReference, resource_for

    gvk = gvk or resource_for(type(owner)).gvk
    accessor = accessor_of(owner)
    return V1OwnerReference(
        api_version=gvk.api_version,
        kind=gvk.kind,
        name=accessor.name(owner),
        uid=accessor.uid(owner),
        controller=True,
        block_owner_deletion=True,
    )
