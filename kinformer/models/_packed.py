"""Packed parts: the bytes of a lazy field in another form than JSON.

A lazy field that was not read yet is a :class:`msgspec.Raw` in its slot. Usually these are the server's own bytes. An
object that was read from a file has them as a MessagePack binary instead: a header with the length, and then the JSON.
A decoder of MessagePack skips such a part by its length. To skip 4 KB of JSON takes 2 us.

No JSON begins with a byte above 0x7f. So the first byte shows which form a part has.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

__all__ = ("packed", "unpacked")

#: The first bytes of MessagePack's binaries, and the lengths of their headers.
_HEADERS: Final = {0xC4: 2, 0xC5: 3, 0xC6: 5}

_encode: Final = msgspec.msgpack.Encoder().encode


def packed(part: bytes | msgspec.Raw) -> msgspec.Raw:
    """A part in packed form. A part that is packed already stays as it is."""
    view = memoryview(part)
    if view and view[0] > 0x7F:
        return part if isinstance(part, msgspec.Raw) else msgspec.Raw(part)
    return msgspec.Raw(_encode(view))


def unpacked(part: msgspec.Raw) -> msgspec.Raw | None:
    """The JSON of a packed part; None if it is not packed."""
    view: memoryview[Any] = memoryview(part)
    header = _HEADERS.get(view[0]) if view else None
    return None if header is None else msgspec.Raw(bytes(view[header:]))
