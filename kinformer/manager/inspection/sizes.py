"""Sizes: about how much memory the objects of an informer take, from a few of them.

Some objects, evenly spread over the cache, are encoded as JSON; their mean size is taken for that of all. What a cache
holds of an object that nobody has looked into is about that many bytes. What is decoded takes up to three times as
much. It is done again only after a while, and costs less than a millisecond for each informer.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kinformer.cache import SharedIndexInformer

__all__ = ("Sizes",)

#: Objects of an informer that are encoded.
_SAMPLE: Final = 16
#: Seconds for which a mean size holds.
_HOLDS: Final = 30.0

#: Fields that nobody has read are written as the bytes that they are.
_encode: Final = msgspec.json.Encoder(enc_hook=str).encode


class Sizes:
    """The mean sizes of informers' objects."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, float]] = {}

    def of(self, informer: SharedIndexInformer[Any], now: float) -> int | None:
        """
        About how many bytes all objects of an informer are; None if they cannot be encoded.

        :param now: monotonic seconds
        """
        count = len(informer.indexer)
        if not count:
            return 0
        known = self._known.get(informer.name)
        if known is None or now - known[0] >= _HOLDS:
            try:
                known = now, _mean_size(informer.indexer.list())
            except (TypeError, ValueError, msgspec.MsgspecError):  # of a type of somebody's own
                return None
            self._known[informer.name] = known
        return round(count * known[1])


def _mean_size(objects: list[Any]) -> float:
    some = objects[:: len(objects) // _SAMPLE + 1] or objects
    return sum(len(_encode(obj)) for obj in some) / len(some)
