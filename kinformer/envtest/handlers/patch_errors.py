"""The real server's errors for invalid patches, and for patches whose result is not an object of the kind. The texts
are those of Go's decoders.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kinformer.envtest import status

__all__ = ("body_complaint", "no_object", "not_registered")

_WORDS = {str: "string", bool: "bool", list: "array", dict: "object", int: "number", float: "number"}
_MAP = "map[string]interface {}"
_OP_FIELDS = ("op", "path", "from")


def body_complaint(patch: Any, is_json_patch: bool) -> str | None:
    """The error text for a patch that is valid JSON and not a valid patch. None if it is valid."""
    if not is_json_patch:
        return None if isinstance(patch, dict) or patch is None else _unmarshal(patch, _MAP)
    if patch is None:
        return None
    if not isinstance(patch, list):
        return _unmarshal(patch, "[]handlers.jsonPatchOp")
    for operation in patch:
        if operation is not None and not isinstance(operation, dict):
            return _unmarshal(operation, "handlers.jsonPatchOp")
        for name in _OP_FIELDS:
            value = (operation or {}).get(name)
            if value is not None and not isinstance(value, str):
                word = _WORDS[type(value)]
                return f"json: cannot unmarshal {word} into Go struct field jsonPatchOp.{name} of type string"
    return None


def _unmarshal(value: Any, type_: str) -> str:
    return f"json: cannot unmarshal {_WORDS[type(value)]} into Go value of type {type_}"


def no_object(shown: str, why: str) -> status.StatusError:
    """
    The error for a patch that can be applied, and whose result is not an object of the kind.

    :param shown: the object or the patch, as the error shows it
    """
    said = msgspec.json.encode(shown).decode()
    cause = status.Cause("patch", "FieldValueInvalid", f"Invalid value: {said}: {why}")
    details = {"causes": [{"reason": cause.reason, "message": cause.message, "field": cause.field}]}
    return status.StatusError(422, "Invalid", f' "" is invalid: patch: {cause.message}', details)


def not_registered(kind: str, version: str) -> str:
    scheme = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'
    return f'no kind "{kind}" is registered for version "{version}" {scheme}'
