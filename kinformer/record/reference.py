"""References: how an event says which object it is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kinformer.meta import accessor_of

if TYPE_CHECKING:
    from kinformer.models import V1ObjectReference

__all__ = ("reference_to",)


def reference_to(obj: Any) -> V1ObjectReference:
    """
    A reference to a model, a dict, a user's own Struct, or to what a given reference refers to (client-go's
    GetReference).

    :raises LookupError: if it neither says what kind it is, as items of a list do not, nor is of a type that tells
    """
    from kinformer.models import V1ObjectReference

    if isinstance(obj, V1ObjectReference):
        return obj
    api_version, kind = _kind(obj)
    accessor = accessor_of(obj)
    name = accessor.object_name(obj)
    return V1ObjectReference(
        api_version=api_version,
        kind=kind,
        namespace=name.namespace or None,
        name=name.name,
        uid=accessor.uid(obj) or None,
        resource_version=accessor.resource_version(obj) or None,
    )


def _kind(obj: Any) -> tuple[str, str]:
    if isinstance(obj, Mapping):
        api_version, kind = obj.get("apiVersion"), obj.get("kind")
    else:
        api_version, kind = getattr(obj, "api_version", None), getattr(obj, "kind", None)
    if api_version and kind:
        return api_version, kind
    from kinformer.models import resource_for

    try:
        gvk = resource_for(type(obj)).gvk
    except LookupError:
        raise LookupError(f"an object of type {type(obj).__qualname__} does not say what kind it is") from None
    return gvk.api_version, gvk.kind
