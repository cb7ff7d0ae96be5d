"""Reading and writing DER: as much of it as the names of certificates need.

In: bytes. Out: elements with their tag and content. Promised: an element that is damaged, has bytes left over, or has a
length in a form that DER does not allow is an error. So two readers cannot see different content in the same bytes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = (
    "OBJECT_IDENTIFIER",
    "OCTET_STRING",
    "SEQUENCE",
    "SET",
    "Element",
    "element",
    "identifier",
    "read",
    "read_all",
)

SEQUENCE: Final = 0x30
SET: Final = 0x31
OBJECT_IDENTIFIER: Final = 0x06
OCTET_STRING: Final = 0x04

#: The bits of a tag's number. All of them set: the number follows in further bytes. No name has such a tag.
_NUMBER: Final = 0x1F
#: A length with this bit is the number of the bytes that have the length.
_LONG: Final = 0x80


class Element(NamedTuple):
    """
    One element.

    :param tag: its first byte: class, form and number
    :param raw: all of its bytes
    """

    tag: int
    content: bytes
    raw: bytes


def read_all(data: bytes) -> list[Element]:
    """
    Read elements that follow each other.

    :raises ValueError: if the bytes are not elements
    """
    found = []
    at = 0
    while at < len(data):
        start, length = _header(data, at)
        stop = start + length
        if stop > len(data):
            raise ValueError("the DER ends early")
        found.append(Element(data[at], data[start:stop], data[at:stop]))
        at = stop
    return found


def read(data: bytes, tag: int) -> list[Element]:
    """
    Read one element with that tag, and return the elements in it.

    :raises ValueError: if there is another element, or more than one
    """
    found = read_all(data)
    if len(found) != 1 or found[0].tag != tag:
        raise ValueError(f"want one DER element with the tag {tag:#x}, found {[f'{it.tag:#x}' for it in found]}")
    return read_all(found[0].content)


def element(tag: int, *contents: bytes) -> bytes:
    """Write an element."""
    content = b"".join(contents)
    length = len(content)
    if length < _LONG:
        return bytes((tag, length)) + content
    size = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes((tag, _LONG | len(size))) + size + content


def identifier(dotted: str) -> bytes:
    """Write an object identifier, such as ``2.5.4.3``."""
    first, second, *others = map(int, dotted.split("."))
    content = b""
    for number in (first * 40 + second, *others):
        digits = [number & 0x7F]
        while number := number >> 7:
            digits.append(number & 0x7F | 0x80)
        content += bytes(reversed(digits))
    return element(OBJECT_IDENTIFIER, content)


def _header(data: bytes, at: int) -> tuple[int, int]:
    """Return where the content of the element at a position starts, and its length."""
    if data[at] & _NUMBER == _NUMBER:
        raise ValueError(f"the DER has a tag of more than one byte: {data[at]:#x}")
    if at + 1 >= len(data):
        raise ValueError("the DER ends early")
    length, start = data[at + 1], at + 2
    if length < _LONG:
        return start, length
    size = data[start : start + length - _LONG]
    value = int.from_bytes(size)
    if not size or len(size) != length - _LONG or not size[0] or value < _LONG:
        raise ValueError("the DER has a length in a form that is not allowed")
    return start + len(size), value
