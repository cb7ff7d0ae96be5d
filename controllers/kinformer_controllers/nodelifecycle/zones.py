"""The state of each zone, and the rate at which nodes are tainted in it.

If many nodes of a zone are not ready at the same time, it is more likely that the zone's network is broken than that
all these nodes are. So tainting is slower then. If no node of the whole cluster is ready, probably this process has no
connection. Then tainting stops in all zones, and taints are removed (the *master disruption mode*).

A zone's rate changes only when its state changes, as in Kubernetes. If a new zone with ready nodes appears while no
other zone has any, the others do not resume: each resumes when its own state changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kinformer.models import V1NodeCondition

__all__ = ("Disruption", "Rates", "Step", "ZoneState", "zone_state")


class ZoneState(StrEnum):
    """
    The state of a zone.

    INITIAL: nothing is known yet. NORMAL: enough nodes are ready. PARTIAL: too few nodes are ready. FULL: no node is.
    """

    INITIAL = "Initial"
    NORMAL = "Normal"
    PARTIAL = "PartialDisruption"
    FULL = "FullDisruption"


def zone_state(ready: Sequence[V1NodeCondition | None], unhealthy_threshold: float) -> tuple[int, ZoneState]:
    """
    Return how many nodes of a zone are not ready, and the zone's state.

    :param ready: the Ready conditions of its nodes; None for a node without this condition
    :param unhealthy_threshold: the share of nodes, at least three, that must be not ready for a zone to be disrupted
    """
    unhealthy = sum(condition is None or condition.status != "True" for condition in ready)
    if unhealthy and unhealthy == len(ready):
        return unhealthy, ZoneState.FULL
    if unhealthy > 2 and unhealthy / len(ready) >= unhealthy_threshold:
        return unhealthy, ZoneState.PARTIAL
    return unhealthy, ZoneState.NORMAL


@dataclass(frozen=True, slots=True)
class Rates:
    """
    The rates of tainting, in nodes a second.

    :param normal: the rate in a zone that is healthy, or fully disrupted
    :param secondary: the rate in a large zone that is partially disrupted
    :param large: a zone with more nodes than this is large; in a smaller one that is partially disrupted the rate is 0
    """

    normal: float
    secondary: float
    large: int

    def of(self, state: ZoneState, size: int) -> float:
        """Return the rate of a zone by its state and its number of nodes."""
        if state is ZoneState.PARTIAL:
            return self.secondary if size > self.large else 0.0
        return self.normal


@dataclass(frozen=True, slots=True)
class Step:
    """
    The changes since the last check.

    :param rates: the new rates by zone, for zones whose rate has changed
    :param stopped: whether no node of any zone is ready any more; then tainting stops, and taints are removed
    :param resumed: whether some nodes are ready again
    :param gone: the zones that have no nodes any more
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    stopped: bool = False
    resumed: bool = False
    gone: Collection[str] = ()


class Disruption:
    """The states of all zones, which are updated in each check of the nodes."""

    def __init__(self, rates: Rates) -> None:
        self._rates = rates
        self.states: dict[str, ZoneState] = {}

    def add_zone(self, zone: str) -> bool:
        """Add a zone. Returns whether it is new."""
        if zone in self.states:
            return False
        self.states[zone] = ZoneState.INITIAL
        return True

    def step(self, found: Mapping[str, tuple[ZoneState, int]]) -> Step:
        """
        Update the states.

        :param found: the state of each zone, and its number of nodes
        """
        gone = [zone for zone in self.states if zone not in found]
        for zone in gone:
            del self.states[zone]
        for zone in found:
            self.add_zone(zone)
        was_dark = all(state is ZoneState.FULL for state in self.states.values())
        is_dark = all(state is ZoneState.FULL for state, _ in found.values())
        if is_dark and was_dark:
            return Step(gone=gone)
        changed = {zone for zone, (state, _) in found.items() if was_dark or is_dark or self.states[zone] is not state}
        for zone in changed:
            self.states[zone] = found[zone][0]
        rates = {zone: 0.0 if is_dark else self._rates.of(*found[zone]) for zone in changed}
        return Step(rates, stopped=is_dark, resumed=was_dark, gone=gone)
