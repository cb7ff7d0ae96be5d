"""Fingerprints: tell whether two pieces of JSON are the same when one of them is not at hand any more."""

from __future__ import annotations

import os
from typing import Any, Final

import msgspec

__all__ = ("fingerprint", "fingerprint_of")

#: The encoder for fingerprints. Values that JSON cannot represent are encoded as their text.
_encode: Final = msgspec.json.Encoder(enc_hook=str).encode

#: Authors of objects do not know it, so they cannot make two pieces of JSON with the same fingerprint.
_SALT: Final = os.urandom(16)


def fingerprint(data: bytes | msgspec.Raw) -> int:
    """A hash of a piece of JSON. Different pieces have different hashes, except by chance."""
    return hash(_SALT + data)


def fingerprint_of(value: Any) -> int | None:
    """The fingerprint of a decoded value, as it is now; None if it cannot be encoded any more."""
    try:
        return fingerprint(_encode(value))
    except Exception:
        return None
