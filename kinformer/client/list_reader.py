"""ListReader: decodes a list while it arrives, so that it is never in memory completely as bytes and as objects.

Pieces of a response's body go in. Objects come out as soon as there are about 256 KiB of them. Their bytes can then be
freed, if `accept` gives each object memory of its own.

There is no JSON parser here that can stop in the middle of a list. Instead, the reader finds the ends of objects. An
API server writes every item of a list in the same way. So where the beginning of the first item occurs again, after
``},``, a new item most likely begins. If the bytes before that place decode as a list of complete objects, it does. If
they do not decode (some objects contain objects that begin in the same way), the reader tries an earlier place, or
waits for more. If there is no such place, the whole body is decoded at its end. This only costs memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from kinformer.client.types import ObjectList, Undecodable

if TYPE_CHECKING:
    from kinformer.client.pieces import Piece

__all__ = ("ListReader",)

T = TypeVar("T")

#: Bytes that are gathered before objects are decoded.
_ENOUGH: Final = 2**18
_ITEMS: Final = b'"items":['
#: The greatest length of what comes before the items: the list's metadata.
_LONGEST_HEAD: Final = 2**14
#: Number of places that are tried before the reader waits for more.
_TRIES: Final = 4


class ListReader(Generic[T]):
    """
    :param decode_items: decodes a JSON list of objects; it returns those that fit their type, and those that do not
    :param decode_list: decodes a whole response
    :param accept: called with each object before more are decoded; objects for which it returns False are left out
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
        """Number of bytes that could not be decoded yet. Mostly they are the beginning of an object."""
        return self._size

    def restart(self) -> None:
        """Forget what came: the response begins again."""
        self._items: list[T] = []
        self._left_out: list[Undecodable] = []
        self._pieces: list[Piece] = []
        self._size = 0
        self._enough = _ENOUGH
        #: The bytes before the items, once they have been found.
        self._head = b""
        self._between = b""

    def feed(self, data: Piece) -> None:
        """Add the next piece of the body."""
        self._pieces.append(data)
        self._size += len(data)
        if self._size >= self._enough:
            self._keep(self._decode_some(b"".join(self._pieces)))

    def finish(self) -> ObjectList[T]:
        """
        Return the list. Call this after the last piece.

        :raises ValueError: if it is not a list
        """
        found = self._decode_list(b"".join((self._head, *self._pieces)))
        self._take(found.items, found.left_out)
        found.items, self._items = self._items, []
        found.left_out, self._left_out = self._left_out, []
        return found

    def _decode_some(self, buffer: bytes) -> bytes:
        """Decode the complete objects. Return the remaining bytes."""
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
            except ValueError:  # the place was in the middle of an object
                continue
            self._take(items, left_out)
            return buffer[at + 2 :]
        return buffer

    def _keep(self, rest: bytes) -> None:
        self._pieces, self._size = [rest], len(rest)
        # Wait for twice the size of the rest, because all of it is searched again.
        self._enough = max(2 * len(rest), _ENOUGH)

    def _take(self, items: list[T], left_out: list[Undecodable]) -> None:
        self._items += filter(self._accept, items)
        self._left_out += left_out


def _beginning(first: bytes) -> bytes:
    """
    The beginning of an item, up to the name of its second field: ``{"metadata":{"name":``,
    ``{"apiVersion":"v1","kind":``.

    The next item is found by it only if the bytes between the two names are the same in all items.
    """
    return first[: first.find(b":", first.find(b":") + 1) + 1]
