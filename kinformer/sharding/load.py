"""Load: how many objects a member holds and how many keys it syncs, and how unevenly these lie over the members.

Each member writes its own load into its Lease with each renewal, so all members know all loads, at no further request.
Nothing is decided by them: they are for pages, metrics and people.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from typing import Annotated, Final, TypeAlias

import msgspec

from kinformer.models import DECODE_ERRORS

__all__ = ("Load", "LoadMeter", "skew")

#: Anybody may edit an annotation.
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_PERIOD: Final = 60.0


class Load(msgspec.Struct, frozen=True):
    """
    The load of one member.

    :param objects: the objects that it holds; those that every member holds, such as Nodes, do not count
    :param syncs: the syncs that it began in the last minute
    """

    objects: _Count = 0
    syncs: _Count = 0

    @property
    def text(self) -> str:
        """The load as JSON, for :meth:`parse`."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def parse(cls, text: str) -> Load | None:
        """Read what :attr:`text` wrote; None if it is something else."""
        try:
            return _load.decode(text)
        except DECODE_ERRORS:
            return None


_load: Final = msgspec.json.Decoder(Load)


class LoadMeter:
    """
    Measures the load of this member.

    :param objects: returns how many objects it holds
    :param syncs: returns how many syncs it has begun since its start
    :param now: seconds of a clock that cannot be set
    """

    def __init__(self, objects: Callable[[], int], syncs: Callable[[], int], now: Callable[[], float]) -> None:
        self._objects = objects
        self._syncs = syncs
        self._now = now
        #: Times, and the syncs until then. The first is the newest that is a minute old.
        self._samples = deque([(now(), syncs())])

    def read(self) -> Load:
        """The load now. The syncs are those of the last minute only if this is called every few seconds."""
        now, syncs = self._now(), self._syncs()
        self._samples.append((now, syncs))
        while self._samples[1][0] <= now - _PERIOD:
            self._samples.popleft()
        return Load(self._objects(), syncs - self._samples[0][1])


def skew(amounts: Collection[int]) -> float:
    """How many times its even share the largest has: 1.0 if all are equal."""
    total = sum(amounts)
    return max(amounts) * len(amounts) / total if total else 1.0
