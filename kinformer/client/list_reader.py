"""Reading a list while it arrives, so that it is never held whole as bytes and as objects.

The body of an answer goes in, in whatever pieces it comes; the objects come out as soon as there are some 256 KiB of
them, and the bytes that they came in can be let go if `accept` gives each object a memory of its own.

There is no JSON parser here that could stop in the middle. An API server writes every item of a list alike, so where
the first item's beginning comes again, after ``},``, a new item most likely begins; and if what is before it decodes as
a list of whole objects, it does. If not (there are objects within objects that begin likewise), an earlier place is
tried, or more is waited for. A body in which no such place is found is decoded at its end: it takes memory, no more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from kinformer.client.types import ObjectList, Undecodable

__all__ = ("ListReader",)

T = TypeVar("T")

#: Bytes that are gathered before some of them are decoded.
_ENOUGH: Final = 2**18
_ITEMS: Final = b'"items":['
#: The metadata of a list stands before its items, and is no longer than this.
_LONGEST_HEAD: Final = 2**14
#: How many places are tried before more is waited for.
_TRIES: Final = 4


class ListReader(Generic[T]):
    """
    :param decode_items: decodes a JSON list of objects: those that fit their type, and those that do not
    :param decode_list: decodes a whole answer
    :param accept: is given each object before more are decoded; what it says False to is left out
    """

    def __init__(
        self,
        decode_items: Callable[[bytes], tuple[list[T], list[Undecodable]]],
        decode_list: Callable[[bytes], ObjectList[T]],
        accept: Callable[[T], bool],
    ):
        self._decode_items = decode_items
        self._decode_list = decode_list
        self._accept = accept
        self.restart()

    @property
    def held(self) -> int:
        """Bytes that came and could not be decoded yet: they are in the middle of an object, mostly."""
        return self._size

    def restart(self) -> None:
        """Forget what came: the answer is sent again."""
        self._items: list[T] = []
        self._left_out: list[Undecodable] = []
        self._pieces: list[bytes] = []
        self._size = 0
        self._enough = _ENOUGH
        #: What stands before the items, once it has been found.
        self._head = b""
        self._between = b""

    def feed(self, data: bytes) -> None:
        """The next piece of the body."""
        self._pieces.append(data)
        self._size += len(data)
        if self._size >= self._enough:
            self._keep(self._decode_some(b"".join(self._pieces)))

    def finish(self) -> ObjectList[T]:
        """
        The list, now that all of it came.

        :raises ValueError: if it is none
        """
        found = self._decode_list(b"".join((self._head, *self._pieces)))
        self._take(found.items, found.left_out)
        found.items, self._items = self._items, []
        found.left_out, self._left_out = self._left_out, []
        return found

    def _decode_some(self, buffer: bytes) -> bytes:
        """Decode what is whole; return the rest."""
        if not self._head:
            begins = buffer.find(_ITEMS, 0, _LONGEST_HEAD) + len(_ITEMS)
            if begins < len(_ITEMS):
                return buffer
            self._head, buffer = buffer[:begins], buffer[begins:]
            self._between = b"}," + _beginning(buffer)
        at = len(buffer)
        for _ in range(_TRIES):
            at = buffer.rfind(self._between, 0, at)
            if at < 0:
                break
            try:
                items, left_out = self._decode_items(b"".join((b"[", memoryview(buffer)[: at + 1], b"]")))
            except ValueError:  # it was in the middle of an object
                continue
            self._take(items, left_out)
            return buffer[at + 2 :]
        return buffer

    def _keep(self, rest: bytes) -> None:
        self._pieces, self._size = [rest], len(rest)
        # Twice what could not be decoded: all of it is looked at again.
        self._enough = max(2 * len(rest), _ENOUGH)

    def _take(self, items: list[T], left_out: list[Undecodable]) -> None:
        self._items += filter(self._accept, items)
        self._left_out += left_out


def _beginning(first: bytes) -> bytes:
    """
    How an item begins, up to the name of its second field: ``{"metadata":{"name":``, ``{"apiVersion":"v1","kind":``.

    What is between the two is the same for all of them, or the next item is not found by it.
    """
    return first[: first.find(b":", first.find(b":") + 1) + 1]
