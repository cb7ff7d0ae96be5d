"""Pieces: the parts of one read of the socket that belong to a body. Nothing is copied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, overload

__all__ = ("Piece", "Pieces")

#: Bytes of a body. A view keeps the whole read that it is a part of in memory.
Piece: TypeAlias = bytes | memoryview


class Pieces(Sequence[Piece]):
    """
    The parts of one read that belong to a body. A view of each is made when it is asked for.

    :ivar data: the whole read
    :ivar spans: where each part begins and ends in it
    """

    __slots__ = ("data", "spans")

    def __init__(self, data: bytes, spans: list[tuple[int, int]]):
        self.data = data
        self.spans = spans

    def __len__(self) -> int:
        return len(self.spans)

    def __iter__(self) -> Iterator[Piece]:
        data, spans = self.data, self.spans
        if spans == [(0, len(data))]:
            return iter((data,))
        view = memoryview(data)
        return iter([view[start:end] for start, end in spans])

    @overload
    def __getitem__(self, index: int) -> Piece: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Piece]: ...

    def __getitem__(self, index: int | slice) -> Piece | Sequence[Piece]:
        return list(self)[index]
