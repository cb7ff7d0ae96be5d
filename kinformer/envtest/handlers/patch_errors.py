"""The real server's errors for invalid patches, and for patches whose result is not an object of the kind. The texts
are those of Go's decoders.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from kinformer.envtest import status

__all__ = ("body_complaint", "no_object", "not_registered", "wrong_type_in_apply", "wrong_type_in_map")

_WORDS = {str: "string", bool: "bool", list: "array", dict: "object", int: "number", float: "number"}
_MAP = "map[string]interface {}"
_OP_FIELDS = ("op", "path", "from")
_WRONG = re.compile(
    r"json: cannot unmarshal (?P<what>\w+).* into Go struct field \w+\.(?P<path>\S+) of type (?P<type>.+)"
)
_KINDS = {"string": "string", "number": "int64", "bool": "bool", "object": "map", "array": "slice"}


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


def wrong_type_in_map(complaint: str) -> str:
    """The text about a value of a wrong type when Go makes the object from a map, and not from JSON."""
    found = _WRONG.fullmatch(complaint)
    if found is None:
        return complaint
    kind, type_ = _KINDS.get(found["what"], found["what"]), found["type"]
    if type_.startswith("[]"):
        return f"cannot restore slice from {kind}"
    if type_.startswith("map["):
        return f"cannot restore map from {kind}"
    return f"cannot restore struct from: {kind}" if type_.startswith("v1.") else f"unrecognized type: {type_}"


def wrong_type_in_apply(complaint: str, wanted: Any) -> str:
    """The text about a value of a wrong type in a configuration that is applied."""
    found = _WRONG.fullmatch(complaint)
    if found is None:
        return complaint
    value = wanted
    for name in found["path"].split("."):
        value = value.get(name) if isinstance(value, dict) else None
    type_ = found["type"]
    if type_.startswith(("int", "float")):
        return f".{found['path']}: expected numeric (int or float), got {_KINDS.get(found['what'], found['what'])}"
    said = msgspec.json.encode(value).decode()
    word = {"string": "string", "bool": "boolean"}.get(type_) or ("list" if type_.startswith("[]") else "map")
    return f".{found['path']}: expected {word}, got &value.valueUnstructured{{Value:{said}}}"
