"""The three durations of an election, and the rules between them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from kinformer.arguments import want_seconds

__all__ = ("JITTER_FACTOR", "ElectionOptionError", "ElectionOptions")

#: The greatest random part that is added to the retry period, as a share of it. It keeps candidates from trying at
#: once.
JITTER_FACTOR: Final = 1.2


class ElectionOptionError(ValueError):
    """The durations of an election do not fit together."""


@dataclass(frozen=True, slots=True)
class ElectionOptions:
    """
    The duration of a Lease and of its renewals, in seconds. The defaults are those of Kubernetes' components.

    :param lease_duration: seconds that other candidates wait after the last change that they saw, before they take the
        Lease. The Lease holds whole seconds; a fraction is cut off.
    :param renew_deadline: seconds for which the leader tries to renew it before it gives up
    :param retry_period: seconds between two tries
    :raises ElectionOptionError: if a leader would give up too late, or after one try
    """

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        for field in fields(self):
            want_seconds(getattr(self, field.name), f"{field.name} of the election")
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
        """The lease duration in whole seconds, as it is written into the Lease."""
        return int(self.lease_duration)

    @property
    def write_duration(self) -> float:
        """
        Seconds for which the leader may write after a renewal was sent.

        This ends before the lease does, half way between the renew deadline and the lease duration. So the last write
        arrives while the lease is still held.
        """
        return (self.renew_deadline + self.lease_seconds) / 2
