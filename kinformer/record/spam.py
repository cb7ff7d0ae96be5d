"""The spam filter: how many events one source may send about one object.

Each source and object (and type of event) has a bucket of tokens. An event takes one; where none is left, the event is
dropped. The defaults are client-go's: a burst of 25, and one token more every five minutes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from kinformer.clock import Clock
from kinformer.record.lru import LRU

if TYPE_CHECKING:
    from kinformer.models import CoreV1Event

__all__ = ("SpamFilter", "TokenBucket", "spam_key")


def spam_key(event: CoreV1Event) -> str:
    """Events of one source and one type about one object share a bucket, whatever their reason."""
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


class TokenBucket:
    """
    A bucket that starts full and never makes anyone wait: there is a token now, or there is none.

    :param rate: tokens a second, held in single precision as client-go's ``qps`` is
    """

    __slots__ = ("_burst", "_clock", "_filled_at", "_rate", "_tokens")

    def __init__(self, rate: float, burst: int, clock: Clock) -> None:
        (self._rate,) = struct.unpack("f", struct.pack("f", rate))
        self._burst = float(burst)
        self._clock = clock
        self._tokens = self._burst
        self._filled_at = clock.monotonic()

    def try_accept(self) -> bool:
        """Take a token if there is one."""
        now = self._clock.monotonic()
        tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate) - 1
        # A token that is due within less than a nanosecond is there: golang.org/x/time/rate counts in those.
        if tokens < 0 and -tokens * 1e9 >= self._rate:
            return False
        self._tokens = tokens
        self._filled_at = now
        return True


class SpamFilter:
    """
    Says which events are one too many (client-go's EventSourceObjectSpamFilter).

    :param size: how many buckets are remembered
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
        """Whether the event is to be dropped; one that is not has used up a token."""
        key = self._key(event)
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = TokenBucket(self._rate, self._burst, self._clock)
            self._buckets.put(key, bucket)
        return not bucket.try_accept()
