"""ClientOptions: how a client sends its requests, as one value.

A program gives it to :func:`kinformer.client.connect`, and it goes unchanged to the transport, which acts on it. Where
the server is, and who the client is for it, is no part of it: that is an :class:`~kinformer.client.Endpoint`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kinformer.arguments import want_count, want_number, want_seconds
from kinformer.client.flow_control import MAX_IN_FLIGHT, RateLimiter, TokenBucket
from kinformer.client.reachability import OutageOptions
from kinformer.clock import Clock

__all__ = ("DEFAULT_OPTIONS", "ClientOptions")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """
    :param user_agent: the client's name in the server's logs; empty for kinformer's
    :param headers: sent with every request to this server, and to no other
    :param qps: the most requests a second that this client sends, with bursts of `burst`. None, 0 or a negative number:
        no limit, because the server's priority and fairness can decide better. (In client-go, 0 means its default
        of 5.) Watches do not wait.
    :param rate_limiter: a limiter to use instead of `qps`; several clients may share it
    :param delete_qps: the most objects a second that this client deletes by name, with bursts of `delete_burst`. None,
        0 or a negative number: no limit but that of all requests.
    :param delete_limiter: a limiter to use instead of `delete_qps`; several clients may share it
    :param read_timeout: seconds without a byte after which a request fails; watches have their own rule. None: never
    :param max_in_flight: the most requests at once, each on its own connection. Watches are not counted. Further
        requests wait. More than 32 are useful only if responses take longer than 20 ms.
    :param compression: let the server compress large lists, for networks that are slower than gzip. Informers then use
        plain lists, not streaming ones, because watches are never compressed.
    :param max_answer: the most bytes of one response that are held in memory at once; a larger response is an error.
        Informers read lists of any length, because they decode them as they arrive.
    :param lazy: leave spec and status of single objects in answers undecoded until they are read, as they are in lists
        and caches. Otherwise an answer that does not fit its type is a :exc:`DecodeError`; with this, reading the field
        raises :exc:`~kinformer.models.ObjectDecodeError`. Most answers to writes are never read.
    :param event_patience: the seconds for which recorded Events wait for the end of other requests, so that the work
        is not delayed by Events that tell of it. With 0, as in client-go, an Event is sent at once.
    :param outage: what to do while the server cannot be reached
    """

    user_agent: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # may have secrets
    qps: float | None = None
    burst: int = 10
    rate_limiter: RateLimiter | None = None
    delete_qps: float | None = None
    delete_burst: int = 100
    delete_limiter: RateLimiter | None = None
    read_timeout: float | None = 65.0
    max_in_flight: int = MAX_IN_FLIGHT
    compression: bool = False
    max_answer: int = 2**28
    lazy: bool = False
    event_patience: float = 0.0
    outage: OutageOptions | None = None

    def __post_init__(self) -> None:
        for name in ("qps", "delete_qps"):
            if (rate := getattr(self, name)) is not None:
                want_number(rate, f"{name} of a client")
        if self.read_timeout is not None:
            want_seconds(self.read_timeout, "read_timeout of a client")
        want_seconds(self.event_patience, "event_patience of a client")
        for name in ("burst", "delete_burst", "max_in_flight", "max_answer"):
            want_count(getattr(self, name), f"{name} of a client")

    def limiter(self, clock: Clock) -> RateLimiter | None:
        """
        What every request waits for; None: nothing.

        :raises ValueError: if `qps` and `burst` let nothing through
        """
        return self.rate_limiter or _bucket(self.qps, self.burst, clock)

    def deletions(self, clock: Clock) -> RateLimiter | None:
        """
        What every deletion waits for, too; None: nothing.

        :raises ValueError: if `delete_qps` and `delete_burst` let nothing through
        """
        return self.delete_limiter or _bucket(self.delete_qps, self.delete_burst, clock)


def _bucket(qps: float | None, burst: int, clock: Clock) -> TokenBucket | None:
    return TokenBucket(qps, burst, clock=clock) if qps is not None and qps > 0 else None


DEFAULT_OPTIONS: Final = ClientOptions()
