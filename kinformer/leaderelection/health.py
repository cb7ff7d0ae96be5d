"""The check of an election for ``/healthz``: a leader that does not renew its lease, and does not end, is not well.

That is a process that hangs: its other checks may be fine, and its lease has run out. A follower is always well.
"""

from __future__ import annotations

from kinformer.leaderelection.elector import LeaderElector
from kinformer.leaderelection.keeper import LeaseNotRenewed

__all__ = ("LeaderHealthzAdaptor",)


class LeaderHealthzAdaptor:
    """
    client-go's HealthzAdaptor. The endpoint may be there before the election is.

    :param timeout: seconds after the end of the lease that are let pass
    """

    name = "leaderElection"

    def __init__(self, timeout: float = 20.0) -> None:
        self._timeout = timeout
        self._elector: LeaderElector | None = None

    def set_leader_election(self, elector: LeaderElector) -> None:
        """Look after this one from now on."""
        self._elector = elector

    def check(self) -> None:
        """
        :raises LeaseNotRenewed: if this process leads, and its lease ran out longer ago than is let pass
        """
        if self._elector is not None:
            self._elector.keeper.check(self._timeout)

    def is_healthy(self) -> bool:
        """Whether :meth:`check` finds nothing."""
        return not self.wrong()

    def wrong(self) -> str:
        """What :meth:`check` finds; empty if that is nothing."""
        try:
            self.check()
        except LeaseNotRenewed as error:
            return str(error)
        return ""
