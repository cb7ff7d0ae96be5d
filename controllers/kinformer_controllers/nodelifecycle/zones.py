"""How bad it is: the state of each zone, and of all together, and how fast nodes may be tainted in each.

Where many nodes of a zone are silent at once, the zone's network is more likely broken than the nodes. So the more of
them there are, the slower they are tainted. Where no node of the whole cluster reports, it is this process that sees
nothing: all tainting stops, and what was tainted is taken back (the *master disruption mode*).

A zone's rate changes only when its state does, as in Kubernetes. A zone that is new while all others are dark does not
have those resume: they do when their own state changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kinformer.models import V1NodeCondition

__all__ = ("Disruption", "Rates", "Step", "ZoneState", "zone_state")


class ZoneState(StrEnum):
    """
    INITIAL: nothing is known yet. NORMAL: enough nodes are ready. PARTIAL: too few are. FULL: none is.
    """

    INITIAL = "Initial"
    NORMAL = "Normal"
    PARTIAL = "PartialDisruption"
    FULL = "FullDisruption"


def zone_state(ready: Sequence[V1NodeCondition | None], unhealthy_threshold: float) -> tuple[int, ZoneState]:
    """
    How many nodes of a zone are not ready, and its state by that.

    :param ready: the Ready conditions of its nodes; None of one that has none
    :param unhealthy_threshold: the share of nodes, three at least, that are not ready in a zone that is disrupted
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
    Nodes tainted each second.

    :param normal: in a zone that is healthy, or as a whole not
    :param secondary: in a larger zone of which a part is not healthy
    :param large: a zone with more nodes than this is a larger one; in others nothing is tainted then
    """

    normal: float
    secondary: float
    large: int

    def of(self, state: ZoneState, size: int) -> float:
        """:param size: how many nodes the zone has"""
        if state is ZoneState.PARTIAL:
            return self.secondary if size > self.large else 0.0
        return self.normal


@dataclass(frozen=True, slots=True)
class Step:
    """
    What has changed.

    :param rates: the new rates, of those zones whose rate is to be set
    :param stopped: no node of any zone reports any more: everything stops, and taints are taken back
    :param resumed: some nodes report again
    :param gone: zones without nodes, as far as nodes count
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    stopped: bool = False
    resumed: bool = False
    gone: Collection[str] = ()


class Disruption:
    """The states of all zones, from one look at the nodes to the next."""

    def __init__(self, rates: Rates) -> None:
        self._rates = rates
        self.states: dict[str, ZoneState] = {}

    def add_zone(self, zone: str) -> bool:
        """Know a zone, if it was not known; whether it is new."""
        if zone in self.states:
            return False
        self.states[zone] = ZoneState.INITIAL
        return True

    def step(self, found: Mapping[str, tuple[ZoneState, int]]) -> Step:
        """
        Take note of the zones as they are now.

        :param found: the state of each zone, and how many nodes it has
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
