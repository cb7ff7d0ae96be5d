"""What a field of a custom resource says beyond its type: annotations that end up in the definition.

They stand in ``Annotated`` beside :class:`msgspec.Meta`, which has the ordinary ones: ``ge``, ``le``, ``min_length``,
``max_length``, ``pattern``, ``description``, and the like::

    class WebAppSpec(Fields):
        replicas: Annotated[int, Meta(ge=0, le=100), rule("self >= oldSelf", "cannot be scaled down")] = 1
        ports: Annotated[list[Port], list_map("name")] = []

The server checks all of it. This process checks what :class:`msgspec.Meta` says, when it decodes an object.
"""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ("atomic", "immutable", "list_map", "list_set", "preserve_unknown_fields", "rule")


def list_map(*keys: str) -> msgspec.Meta:
    """
    A list whose items are told apart by these fields: different field managers may own different items.

    :param keys: the names of the fields in JSON
    :raises ValueError: if there are none
    """
    if not keys:
        raise ValueError("list_map() has no keys: name the fields that tell the items apart")
    return _extra({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)})


def list_set() -> msgspec.Meta:
    """A list of texts or numbers of which none is there twice."""
    return _extra({"x-kubernetes-list-type": "set"})


def atomic() -> msgspec.Meta:
    """A list or an object that has one owner as a whole: an apply replaces all of it."""
    return _extra({"x-kubernetes-list-type": "atomic"})


def rule(expression: str, message: str = "", *, field_path: str = "", reason: str = "") -> msgspec.Meta:
    """
    A rule in CEL that the server checks: ``self`` is the value, ``oldSelf`` what it was before.

    :param message: what is said when it is broken; the expression if empty
    :param field_path: the field that is said to be wrong, as ``.replicas``
    :param reason: ``FieldValueInvalid`` (if empty), ``FieldValueForbidden``, ``FieldValueRequired`` or
        ``FieldValueDuplicate``
    """
    said = {"rule": expression, "message": message, "fieldPath": field_path, "reason": reason}
    return _extra({"x-kubernetes-validations": [{name: value for name, value in said.items() if value}]})


def immutable(message: str = "cannot be changed") -> msgspec.Meta:
    """A field that keeps the value that it was created with."""
    return rule("self == oldSelf", message)


def preserve_unknown_fields() -> msgspec.Meta:
    """An object that may have fields which its type does not know: the server keeps them."""
    return _extra({"x-kubernetes-preserve-unknown-fields": True})


def _extra(said: dict[str, Any]) -> msgspec.Meta:
    return msgspec.Meta(extra_json_schema=said)
