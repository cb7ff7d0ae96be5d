"""Shard selectors: select a share of a resource's objects at the server (KEP-5866, ``shardSelector``).

A selector names intervals of the hash of an object's uid or namespace: ``shardRange(object.metadata.uid, '0x0…0',
'0x8…0')``. Several of them are joined by ``||``. The hash is FNV-1a with 64 bits. Both sides are here: clients write
selectors into their list and watch options, and the embedded server parses and applies them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ("ShardRange", "ShardSelector", "ShardSelectorError", "fnv1a_64", "parse_shard_selector", "shard_selectors")

_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_MASK: Final = 0xFFFFFFFFFFFFFFFF
_END: Final = 2**64

_FIELDS: Final = ("object.metadata.uid", "object.metadata.namespace")
_CALL: Final = re.compile(r"""\s*shardRange\(\s*([\w.]+)\s*,\s*(['"])([^'"]*)\2\s*,\s*(['"])([^'"]*)\4\s*\)\s*""")
_HEX: Final = re.compile(r"0x(?:[0-9a-f]{16}|10{16})")


class ShardSelectorError(ValueError):
    """A shard selector that cannot be parsed. The message says why."""


def fnv1a_64(text: str) -> int:
    """The FNV-1a hash of a text's UTF-8 bytes: a number of 64 bits."""
    number = _OFFSET
    for byte in text.encode():
        number = (number ^ byte) * _PRIME & _MASK
    return number


@dataclass(frozen=True, slots=True)
class ShardRange:
    """
    One interval of the hash.

    :param field: the field that is hashed: ``object.metadata.uid`` or ``object.metadata.namespace``
    :param start: the first number of the interval
    :param end: the first number after the interval
    """

    field: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"shardRange({self.field}, '0x{self.start:016x}', '0x{self.end:016x}')"


@dataclass(frozen=True, slots=True)
class ShardSelector:
    """
    :param ranges: at least one, all of the same field
    """

    ranges: tuple[ShardRange, ...]

    def __str__(self) -> str:
        return " || ".join(map(str, self.ranges))

    def matches(self, uid: str, namespace: str) -> bool:
        """Whether it selects an object with this uid and namespace."""
        number = fnv1a_64(uid if self.ranges[0].field == _FIELDS[0] else namespace)
        return any(one.start <= number < one.end for one in self.ranges)


def parse_shard_selector(text: str) -> ShardSelector:
    """
    Parse a selector in the API's syntax.

    :raises ShardSelectorError: if the text is not a selector
    """
    ranges = []
    for part in text.split("||"):
        call = _CALL.fullmatch(part)
        if call is None:
            raise ShardSelectorError(f"{part.strip()!r} is not shardRange(FIELD, '0xSTART', '0xEND')")
        field, start, end = call[1], call[3], call[5]
        if field not in _FIELDS:
            raise ShardSelectorError(f"unsupported field path {field!r}; supported: {', '.join(_FIELDS)}")
        for number in (start, end):
            if not _HEX.fullmatch(number):
                raise ShardSelectorError(f"{number!r} is not 0x and 16 lower-case hex digits, nor '0x1{'0' * 16}'")
        found = ShardRange(field, int(start, 16), int(end, 16))
        if found.start >= found.end:
            raise ShardSelectorError(f"shard range start {start} must be less than end {end}")
        ranges.append(found)
    if len({one.field for one in ranges}) > 1:
        raise ShardSelectorError("all shard ranges must use the same field")
    return ShardSelector(tuple(ranges))


def shard_selectors(count: int, field: Literal["uid", "namespace"] = "uid") -> list[str]:
    """
    Make selectors that share all objects out between `count` readers.

    :param field: the field that is hashed. With the namespace, the objects of a namespace stay together. But a few
        namespaces with similar names may fall into the same few shards.
    :raises ValueError: if `count` is less than 1
    """
    if count < 1:
        raise ValueError(f"there are {count} shards: want at least 1")
    edges = [_END * place // count for place in range(count + 1)]
    return [str(ShardRange(f"object.metadata.{field}", *edges[place : place + 2])) for place in range(count)]
