"""Flow control: limits the number of requests that a client sends (client-go's util/flowcontrol).

It is off by default. The server's priority and fairness shares its time out between clients and knows its own load. A
limit in the client (client-go's default is 5 a second) mostly makes that client slow. Set one if the server is old, or
if it is shared with users that must not be slowed down.

Deletions have a limit of their own, which `kinformer manager` sets: what deletes too much by mistake should be slow
enough to be stopped. Reads and other writes do not wait behind it.
"""

from __future__ import annotations

from typing import Final, Protocol

from kinformer import bucket
from kinformer.clock import Clock

__all__ = ("MAX_IN_FLIGHT", "RateLimiter", "TokenBucket")

#: The most requests at once, each on its own connection. A thousand creates over TLS took 1.0 s, and 0.33 ms of CPU
#: each, with 32. With 128 they took 1.6 s and 0.42 ms each. (Responses came after 3 ms. When they came after 20 ms, it
#: was 1.8 s with 32 and 2.5 s with 128.) A connection costs as much CPU as five requests, and one process does not
#: send faster than 32 connections can carry.
MAX_IN_FLIGHT: Final = 32


class RateLimiter(Protocol):
    """Limits requests: every try of a request waits for it, except for watches."""

    async def accept(self) -> float:
        """Return when the request may be sent. The result is the seconds that it had to wait."""


class TokenBucket(bucket.TokenBucket):
    """
    A limit of requests a second, with bursts. Each request takes a token, and waits for one if there is none.

    Requests are sent in the order in which they came. One that is cancelled while it waits gives its token back.

    :param qps: tokens that are added each second
    :param burst: the most tokens that the bucket holds
    """

    __slots__ = ()

    def __init__(self, qps: float, burst: int, *, clock: Clock | None = None):
        if qps <= 0 or burst < 1:
            raise ValueError(f"a rate limiter of {qps} requests a second and a burst of {burst} lets nothing through")
        super().__init__(qps, burst, clock)

    async def accept(self) -> float:
        wait = self.reserve()
        if wait:
            try:
                await self._clock.sleep(wait)
            except BaseException:
                self.give_back()
                raise
        return wait
