"""Packed parts: the bytes of a lazy field in another form than JSON.

A lazy field that was not read yet is a :class:`msgspec.Raw` in its slot. Usually these are the server's own bytes. Two
other forms are possible, both of MessagePack:

- An object that was read from a file has binaries: a header with the length, and then the JSON. A decoder of
  MessagePack skips such a part by its length. To skip 4 KB of JSON takes 2 us.
- An object of a cache that compresses has extensions: see :mod:`kinformer.models._compressed`.

No JSON begins with a byte above 0x7f. So the first byte shows which form a part has.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kinformer.models._compressed import expanded

__all__ = ("json_of", "packed", "unpacked")

#: The first bytes of MessagePack's binaries, and the lengths of their headers.
_HEADERS: Final = {0xC4: 2, 0xC5: 3, 0xC6: 5}

_encode: Final = msgspec.msgpack.Encoder().encode


def packed(part: bytes | msgspec.Raw) -> msgspec.Raw:
    """A part in a form of MessagePack. A part that has one already stays as it is."""
    view = memoryview(part)
    if view and view[0] > 0x7F:
        return part if isinstance(part, msgspec.Raw) else msgspec.Raw(part)
    return msgspec.Raw(_encode(view))


def unpacked(part: msgspec.Raw) -> msgspec.Raw | None:
    """The JSON of a binary; None if the part has another form."""
    view: memoryview[Any] = memoryview(part)
    header = _HEADERS.get(view[0]) if view else None
    return None if header is None else msgspec.Raw(bytes(view[header:]))


def json_of(part: msgspec.Raw) -> msgspec.Raw | bytes:
    """
    The JSON of a part, whatever its form.

    :raises msgspec.DecodeError: if it is compressed, and is damaged or its dictionary is not here
    """
    view: memoryview[Any] = memoryview(part)
    if not view or view[0] < 0x80:
        return part
    if (json := expanded(view)) is not None:
        return json
    return unpacked(part) or part
