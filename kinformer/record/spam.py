"""SpamFilter: limits the events that one source sends about one object.

Each combination of source, object and type of event has a bucket of tokens. An event takes one token. If there is none,
the event is dropped. The defaults are client-go's: a burst of 25, and one more token every five minutes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from kinformer.clock import Clock
from kinformer.record.lru import LRU
from kinformer.workqueue import TokenBucket

if TYPE_CHECKING:
    from kinformer.models import CoreV1Event

__all__ = ("SpamFilter", "spam_key")


def spam_key(event: CoreV1Event) -> str:
    """The key of an event's bucket. Events of one source and type about one object share it, whatever their reason."""
    source, involved = event.source, event.involved_object
    return "".join(
        (
            source.component or "",
            source.host or "",
            involved.kind or "",
            involved.namespace or "",
            involved.name or "",
            involved.uid or "",
            involved.api_version or "",
            event.type or "",
        )
    )


class SpamFilter:
    """
    Decides which events to drop (client-go's EventSourceObjectSpamFilter).

    :param size: the most buckets that are remembered
    """

    __slots__ = ("_buckets", "_burst", "_clock", "_key", "_rate")

    def __init__(
        self, size: int, burst: int, rate: float, clock: Clock, key: Callable[[CoreV1Event], str] = spam_key
    ) -> None:
        self._buckets: LRU[str, TokenBucket] = LRU(size)
        self._burst = burst
        self._rate = rate
        self._clock = clock
        self._key = key

    def is_spam(self, event: CoreV1Event) -> bool:
        """Whether to drop the event. If not, it has used up a token."""
        key = self._key(event)
        bucket = self._buckets.get(key)
        if bucket is None:
            # client-go's rate is a float32. So a token comes back some 20 µs before its five minutes are over.
            bucket = TokenBucket(_float32(self._rate), self._burst, self._clock)
            self._buckets.put(key, bucket)
        return not bucket.try_take()


def _float32(number: float) -> float:
    (rounded,) = struct.unpack("f", struct.pack("f", number))
    return float(rounded)
