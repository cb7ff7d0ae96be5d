"""Checks of the arguments of a manager or a fleet: a wrong one is an error at once, which names it."""

from __future__ import annotations

from collections.abc import Mapping

from kinformer.arguments import want
from kinformer.manager.election import LeaderElection
from kinformer.sharding import Sharding

__all__ = ("check_given",)

_HOST_AND_PORT = 2


def check_given(known: object, endpoint: object, leader_election: object, sharding: object) -> None:
    """
    Check the arguments that a :class:`~kinformer.manager.Manager` and a :class:`~kinformer.manager.Fleet` share.

    :raises TypeError: if one cannot be used
    """
    want(known, known is None or isinstance(known, Mapping), "known", "a dict of factories, as in {'web': WebApps}")
    is_pair = isinstance(endpoint, (tuple, list)) and len(endpoint) == _HOST_AND_PORT
    want(endpoint, endpoint is None or is_pair, "endpoint", "a host and a port, as in ('127.0.0.1', 8080)")
    is_election = leader_election is None or isinstance(leader_election, LeaderElection)
    want(leader_election, is_election, "leader_election", "LeaderElection(…), or None")
    want(sharding, sharding is None or isinstance(sharding, Sharding), "sharding", "Sharding(…), or None")
