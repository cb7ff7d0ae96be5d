"""The three times of an election, and what they have to be to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ("JITTER_FACTOR", "ElectionOptionError", "ElectionOptions")

#: How much longer than its period a candidate waits at most before it tries again, so that not all try at once.
JITTER_FACTOR: Final = 1.2


class ElectionOptionError(ValueError):
    """The times of an election do not fit together."""


@dataclass(frozen=True, slots=True)
class ElectionOptions:
    """
    How long a Lease lasts and how often it is renewed, in seconds. The defaults are those of Kubernetes' components.

    :param lease_duration: how long others wait, after the last change that they saw, before they take the Lease. The
        Lease holds whole seconds: a fraction is cut off
    :param renew_deadline: how long the leader tries to renew it before it gives up
    :param retry_period: how long everybody waits between tries
    :raises ElectionOptionError: if a leader would give up too late, or after one try
    """

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if self.retry_period <= 0:
            raise ElectionOptionError(f"the retry period is {self.retry_period:g} s: want more than 0")
        if self.lease_duration < 1:
            raise ElectionOptionError(f"the lease duration is {self.lease_duration:g} s: want at least 1 s")
        if self.lease_seconds <= self.renew_deadline:
            raise ElectionOptionError(
                f"the lease duration, {self.lease_seconds} s, is not longer than the renew deadline, "
                f"{self.renew_deadline:g} s: a leader would write after its lease has run out"
            )
        if self.renew_deadline <= self.retry_period * JITTER_FACTOR:
            raise ElectionOptionError(
                f"the renew deadline, {self.renew_deadline:g} s, is not longer than {JITTER_FACTOR} times the retry "
                f"period, {self.retry_period:g} s: a leader would give up after one try"
            )

    @property
    def lease_seconds(self) -> int:
        """The lease duration as it stands in the Lease."""
        return int(self.lease_duration)

    @property
    def write_duration(self) -> float:
        """
        For how long after a renewal was sent the leader may write.

        It ends before the lease does, half way between renew deadline and lease duration: what was sent last is to
        arrive while the lease is still held.
        """
        return (self.renew_deadline + self.lease_seconds) / 2
