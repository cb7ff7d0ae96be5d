"""Sizes: an estimate of the memory that the objects of an informer take.

Some objects, evenly spread over the cache, are encoded as JSON. The estimate is their mean size times the number of
objects. An object that is not decoded yet takes about that many bytes. A decoded object takes up to three times as
much. The mean size is measured again only after a while. This takes less than a millisecond for each informer.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kinformer.cache import SharedIndexInformer

__all__ = ("Sizes",)

#: How many objects of an informer are encoded, about.
_SAMPLE: Final = 16
#: Seconds for which a mean size is used again.
_HOLDS: Final = 30.0

#: Writes fields that are not decoded yet as the bytes that they are.
_encode: Final = msgspec.json.Encoder(enc_hook=str).encode


class Sizes:
    """The mean sizes of informers' objects."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, float]] = {}

    def of(self, informer: SharedIndexInformer[Any], now: float) -> int | None:
        """
        Estimate how many bytes all objects of an informer take. None if they cannot be encoded.

        :param now: monotonic seconds
        """
        count = len(informer.indexer)
        if not count:
            return 0
        known = self._known.get(informer.name)
        if known is None or now - known[0] >= _HOLDS:
            try:
                known = now, _mean_size(informer.indexer.list())
            except (TypeError, ValueError, msgspec.MsgspecError):  # objects of a user's own type
                return None
            self._known[informer.name] = known
        return round(count * known[1])


def _mean_size(objects: list[Any]) -> float:
    some = objects[:: len(objects) // _SAMPLE + 1] or objects
    return sum(len(_encode(obj)) for obj in some) / len(some)
