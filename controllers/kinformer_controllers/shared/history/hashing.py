"""Hashes for generated names: 32-bit FNV over JSON with sorted keys, in the letters that Kubernetes uses.

The JSON is written as Go writes it. So a ControllerRevision gets the same name as the one that
kube-controller-manager makes from the same data.
"""

from __future__ import annotations

import json
from typing import Any, Final

__all__ = ("canonical_json", "fnv32", "fnv32a", "in_order", "safe_encode")

_OFFSET: Final = 2166136261
_PRIME: Final = 16777619
_MASK: Final = 0xFFFFFFFF

#: Kubernetes leaves out the vowels and 0, 1 and 3, so that no name is a word by accident.
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"

_ESCAPED: Final = str.maketrans(
    {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026", "\u2028": r"\u2028", "\u2029": r"\u2029"}
)


def canonical_json(value: Any) -> bytes:
    """Encode a value with sorted keys, as Go's json.Marshal encodes a map. Equal values give equal bytes."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.translate(_ESCAPED).encode()


def in_order(value: Any) -> Any:
    """
    Return the value with the keys of all its objects sorted.

    kubectl and kube-controller-manager compare the data of a ControllerRevision byte by byte with their own JSON, whose
    keys are sorted. The same data with its keys in another order is a different template to them.
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
    Write a number in letters that are allowed in a name.

    :param digits: the least number of letters
    """
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(number).zfill(digits))
