"""Hashes as names have them: what a template says, in the letters that Kubernetes' generated names are made of.

FNV in 32 bits over JSON with sorted keys. The JSON is written as Go writes it, so that a ControllerRevision of the same
data has the same name as one that kube-controller-manager made.
"""

from __future__ import annotations

import json
from typing import Any, Final

__all__ = ("canonical_json", "fnv32", "fnv32a", "in_order", "safe_encode")

_OFFSET: Final = 2166136261
_PRIME: Final = 16777619
_MASK: Final = 0xFFFFFFFF

#: No vowels, and none of 0, 1 and 3: no name is a word by accident.
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"

_ESCAPED: Final = str.maketrans(
    {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026", "\u2028": r"\u2028", "\u2029": r"\u2029"}
)


def canonical_json(value: Any) -> bytes:
    """The same bytes for the same value, whatever the order of its keys: those of Go's json.Marshal of a map."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.translate(_ESCAPED).encode()


def in_order(value: Any) -> Any:
    """
    The same value with the keys of all its objects sorted.

    kubectl and kube-controller-manager compare what a ControllerRevision keeps byte by byte with what they would write,
    which is sorted. To them, one in another order is another template.
    """
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(each) for each in value] if isinstance(value, list) else value


def fnv32(*parts: bytes) -> int:
    """FNV-1 of the parts, one after the other."""
    value = _OFFSET
    for part in parts:
        for byte in part:
            value = (value * _PRIME & _MASK) ^ byte
    return value


def fnv32a(*parts: bytes) -> int:
    """FNV-1a of the parts, one after the other."""
    value = _OFFSET
    for part in parts:
        for byte in part:
            value = (value ^ byte) * _PRIME & _MASK
    return value


def safe_encode(number: int, digits: int = 0) -> str:
    """
    A number in letters that may stand in a name.

    :param digits: how many letters there are at least
    """
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(number).zfill(digits))
