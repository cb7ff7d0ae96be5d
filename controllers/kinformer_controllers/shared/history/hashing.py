"""Go's JSON, byte for byte, and hashes for generated names: 32-bit FNV in the letters that Kubernetes uses.

Kubernetes compares the data of a ControllerRevision byte by byte, and its name has a hash of these bytes. So what is
sent must be the same bytes that kube-controller-manager sends for the same template. With other bytes, it would make a
second revision, and the server would refuse an update, because the data must not change.

The hash of a pod template is a part of a ReplicaSet's name and a label of a daemon pod. It differs from Kubernetes'
hash, which is computed from the text that Go prints for the template. No other program can print that text. The
difference does no harm: objects that kube-controller-manager made are found by their template, and keep the hash that
they have.
"""

from __future__ import annotations

import json
from typing import Any, Final

__all__ = (
    "canonical_json",
    "fnv32",
    "fnv32a",
    "go_json",
    "safe_encode",
    "template_hash",
)

_OFFSET: Final = 2166136261
_PRIME: Final = 16777619
_MASK: Final = 0xFFFFFFFF

#: Kubernetes leaves out the vowels and 0, 1 and 3, so that no name is a word by accident.
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"

_ESCAPED: Final = str.maketrans(
    {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026", "\u2028": r"\u2028", "\u2029": r"\u2029"}
)


def go_json(value: Any) -> bytes:
    """
    Encode a value as Go's json.Marshal does: without spaces, with escapes for ``<``, ``>``, ``&``, U+2028 and U+2029.

    The keys stay in their order.
    """
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).translate(_ESCAPED).encode()


def canonical_json(value: Any) -> bytes:
    """Encode a value with sorted keys, as Go's json.Marshal encodes a map. Equal values give equal bytes."""
    return go_json(_in_order(value))


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(each) for each in value] if isinstance(value, list) else value


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


def template_hash(template: Any, collision_count: int | None = None) -> str:
    """
    Return the hash of a pod template.

    :param template: as plain JSON. If the same template can be written in two ways, the caller must normalize it first
    :param collision_count: how often a name was taken by another template; None if it never was
    """
    probe = b"" if collision_count is None else str(collision_count).encode()
    # Always ten letters: a short hash could look like a word that somebody has chosen.
    return safe_encode(fnv32a(canonical_json(template), probe), 10)
