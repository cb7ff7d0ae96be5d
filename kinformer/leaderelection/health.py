"""Health check of an election for ``/healthz``: fails if a leader neither renews its lease nor ends.

Such a process hangs: its other checks may pass although its lease has expired. A follower is always healthy.
"""

from __future__ import annotations

from kinformer.leaderelection.elector import LeaderElector
from kinformer.leaderelection.keeper import LeaseNotRenewed

__all__ = ("LeaderHealthzAdaptor",)


class LeaderHealthzAdaptor:
    """
    client-go's HealthzAdaptor. It may be created before the election.

    :param timeout: seconds after the end of the lease that are tolerated
    """

    name = "leaderElection"

    def __init__(self, timeout: float = 20.0) -> None:
        self._timeout = timeout
        self._elector: LeaderElector | None = None

    def set_leader_election(self, elector: LeaderElector) -> None:
        """Check this election from now on."""
        self._elector = elector

    def check(self) -> None:
        """
        Check the election.

        :raises LeaseNotRenewed: if this process is leader, and its lease expired longer ago than `timeout`
        """
        if self._elector is not None:
            self._elector.keeper.check(self._timeout)

    def is_healthy(self) -> bool:
        """Whether :meth:`check` passes."""
        return not self.wrong()

    def wrong(self) -> str:
        """The error of :meth:`check` as a text; empty if it passes."""
        try:
            self.check()
        except LeaseNotRenewed as error:
            return str(error)
        return ""
