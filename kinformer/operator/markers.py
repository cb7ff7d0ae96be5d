"""Markers for the fields of a custom resource: Kubernetes' extensions of the schema in its definition.

Write them in ``Annotated``, beside :class:`msgspec.Meta`, which has the usual ones: ``ge``, ``le``, ``min_length``,
``max_length``, ``pattern``, ``description`` and so on::

    class WebAppSpec(Fields):
        replicas: Annotated[int, Meta(ge=0, le=100), rule("self >= oldSelf", "cannot be scaled down")] = 1
        ports: Annotated[list[Port], list_map("name")] = []

The server checks all of them. When this process decodes an object, it checks only those of :class:`msgspec.Meta`.
"""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ("atomic", "immutable", "list_map", "list_set", "named", "preserve_unknown_fields", "rule")


def list_map(*keys: str) -> msgspec.Meta:
    """
    A list whose items are identified by these fields. Different field managers may own different items.

    :param keys: the JSON names of the fields
    :raises ValueError: if no key is given
    """
    if not keys:
        raise ValueError("list_map() has no keys: name the fields that tell the items apart")
    return _extra({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)})


def list_set() -> msgspec.Meta:
    """A list of strings or numbers without duplicates."""
    return _extra({"x-kubernetes-list-type": "set"})


def atomic() -> msgspec.Meta:
    """A list or an object that has one field manager as a whole: an apply replaces all of it."""
    return _extra({"x-kubernetes-list-type": "atomic"})


def rule(expression: str, message: str = "", *, field_path: str = "", reason: str = "") -> msgspec.Meta:
    """
    A rule in CEL that the server checks. In the rule, ``self`` is the value, and ``oldSelf`` is the old value.

    :param expression: the rule
    :param message: the error message when the rule does not hold; if empty, the message has the expression
    :param field_path: the field that the error names, such as ``.replicas``
    :param reason: ``FieldValueInvalid`` (if empty), ``FieldValueForbidden``, ``FieldValueRequired`` or
        ``FieldValueDuplicate``
    """
    said = {"rule": expression, "message": message, "fieldPath": field_path, "reason": reason}
    return _extra({"x-kubernetes-validations": [{name: value for name, value in said.items() if value}]})


def immutable(message: str = "cannot be changed") -> msgspec.Meta:
    """A field whose value cannot be changed after the object was created."""
    return rule("self == oldSelf", message)


def named(*, max_length: int = 0, pattern: str = "") -> msgspec.Meta:
    """
    What the names of the objects must be, for the field `metadata` of a custom resource::

        class WebApp(CustomResource[WebAppSpec, None], ...):
            metadata: Annotated[V1ObjectMeta, named(max_length=40)]

    :param max_length: the largest number of characters. A controller that adds a suffix for its own objects needs room
    :param pattern: a regular expression of Go
    """
    said: dict[str, Any] = {"type": "string"}
    if max_length:
        said["maxLength"] = max_length
    if pattern:
        said["pattern"] = pattern
    return _extra({"properties": {"name": said}})


def preserve_unknown_fields() -> msgspec.Meta:
    """An object that may have fields that are not in its schema. The server keeps them."""
    return _extra({"x-kubernetes-preserve-unknown-fields": True})


def _extra(said: dict[str, Any]) -> msgspec.Meta:
    return msgspec.Meta(extra_json_schema=said)
