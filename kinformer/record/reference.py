"""References: name the object that an event is about."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from kinformer.meta import accessor_of

if TYPE_CHECKING:
    from kinformer.models import V1ObjectReference

__all__ = ("reference_to",)


def reference_to(obj: Any) -> V1ObjectReference:
    """
    Make a reference to a model, a dict or a user's own Struct (client-go's GetReference).

    If `obj` is a reference already, it is returned as it is.

    :raises LookupError: if neither the object nor its type names a kind, as for items of some lists
    """
    type_ = _type()
    if isinstance(obj, type_):
        return obj
    api_version, kind = _kind(obj)
    accessor = accessor_of(obj)
    name = accessor.object_name(obj)
    return type_(
        api_version=api_version,
        kind=kind,
        namespace=name.namespace or None,
        name=name.name,
        uid=accessor.uid(obj) or None,
        resource_version=accessor.resource_version(obj) or None,
    )


@cache
def _type() -> type[V1ObjectReference]:
    from kinformer.models import V1ObjectReference

    return V1ObjectReference


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
        raise LookupError(
            f"an object of type {type(obj).__qualname__} does not say what kind it is: set its apiVersion and kind"
        ) from None
    return gvk.api_version, gvk.kind
