"""Hints by the size of zones: each zone gets endpoints of a service in proportion to its part of the cluster's CPUs.

A service asks for them by the annotation ``service.kubernetes.io/topology-mode: Auto``. In: the nodes in the cache, and
the slices of one service and address type, as they are about to be. Out: the same slices, with a zone for each endpoint
that is ready; or without hints, if the nodes or the endpoints do not suffice. An Event says when hints begin or end,
and why there are none.

The rules are those of Kubernetes' ``topologycache``. An endpoint first gets its own zone. Then zones that have too many
give some to zones that have too few. A slice that has hints already is left alone, as long as its zones do not get more
than they may have. When nodes come and go, a service is synced again if the endpoints of a zone would get more than 1.2
times their share of the traffic.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kinformer.cache import Store
from kinformer.controllerutil.conditions import is_condition_true
from kinformer.meta import Quantity
from kinformer.models import V1Node, V1Service
from kinformer.record import NORMAL, WARNING
from kinformer_controllers.endpointslice.endpoints import NO_HINTS, EndpointState, Identity, SliceView
from kinformer_controllers.shared.nodes import ZONE_LABEL

__all__ = ("Allocation", "Notice", "ZoneHints", "allocate", "asks_for_zone_hints", "is_overloaded", "without_hints")

#: The older annotation wins.
_ANNOTATIONS: Final = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode")

#: How much more traffic than its share an endpoint may get.
_OVERLOAD: Final = 0.2
_CONTROL_PLANE: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")

_NO_CPU_OR_ZONE: Final = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"

_Placed = list[tuple[Identity, EndpointState]]


class Notice(NamedTuple):
    """An Event about a service."""

    type: str
    reason: str
    message: str


class Allocation(NamedTuple):
    """How many endpoints a zone should have, and how many it may have."""

    desired: float
    least: int
    most: int


def asks_for_zone_hints(service: V1Service) -> bool:
    """Whether a service wants hints by the size of zones, in place of those by its traffic distribution."""
    annotations = service.metadata.annotations or {}
    wanted = next((annotations[name] for name in _ANNOTATIONS if name in annotations), "")
    return wanted in ("Auto", "auto")


def without_hints(view: SliceView) -> SliceView:
    """A slice whose endpoints have no hints."""
    return view._replace(endpoints=_stripped(view.endpoints))


class ZoneHints:
    """
    What each zone's part of the CPUs is, and how many endpoints each zone has of the services with hints.

    No node is looked at until the first service asks for hints.

    :param requeue: called with the key of a service whose hints no longer fit the nodes
    """

    def __init__(self, nodes: Store[V1Node], requeue: Callable[[str], object]) -> None:
        self._nodes = nodes
        self._requeue = requeue
        #: The zone and the CPUs of each node that counts. The zone is empty if one of the two is not known.
        self._counted: dict[str, tuple[str, Quantity]] | None = None
        self._ratios: dict[str, float] | None = None
        #: By service and address type: the number of endpoints for each zone.
        self._given: dict[str, dict[str, Counter[str]]] = {}
        self._enabled: set[str] = set()

    # --- nodes

    def node_changed(self, old: V1Node | None, new: V1Node | None) -> None:
        """Note a change of a node, and queue the services whose hints no longer fit."""
        nodes, node = self._counted, new or old
        if nodes is None or node is None:
            return
        name, counted = node.metadata.name, _counted(new) if new is not None else None
        if nodes.get(name) == counted:
            return
        if counted is None:
            del nodes[name]
        else:
            nodes[name] = counted
        self._ratios = _ratios(nodes.values())
        for key, by_type in self._given.items():
            if any(is_overloaded(given, self._ratios) for given in by_type.values()):
                self._requeue(key)

    def _known_ratios(self) -> dict[str, float] | None:
        if self._counted is None:
            found = ((node.metadata.name, _counted(node)) for node in self._nodes.list())
            self._counted = {name: counted for name, counted in found if counted is not None}
            self._ratios = _ratios(self._counted.values())
        return self._ratios

    # --- services

    def give(
        self,
        key: str,
        address_type: str,
        written: Sequence[_Placed],
        unchanged: Sequence[SliceView],
    ) -> tuple[list[tuple[SliceView, _Placed]], list[Notice]]:
        """
        Give hints to the endpoints of one service and address type.

        :param written: the endpoints of slices that are written anyway, without hints; they get theirs here
        :param unchanged: the other slices of the service
        :return: those of `unchanged` that have to be written, too, with their endpoints; and Events
        """
        total = sum(map(_ready_in, written)) + sum(_ready_in(view.endpoints) for view in unchanged)
        allocations, problem = allocate(self._known_ratios(), total)
        if not problem:
            given, rewritten = _kept(unchanged, allocations)
            slices = [*written, *(placed for _, placed in rewritten)]
            if any(state.ready and not state.zone for placed in slices for _, state in placed):
                problem = "One or more endpoints do not have a zone specified"
            else:
                _give_own_zones(slices, given)
                _redistribute(slices, given, allocations)
        if problem:
            self.forget(key, address_type)
            return _taken_away(unchanged), [_notice(WARNING, "Disabled", problem, address_type)]
        notices = []
        if key not in self._enabled:
            notices.append(_notice(NORMAL, "Enabled", "Topology Aware Hints has been enabled", address_type))
        self._enabled.add(key)
        self._given.setdefault(key, {})[address_type] = given
        return rewritten, notices

    def forget(self, key: str, address_type: str) -> list[Notice]:
        """Note that a service has no such hints. Returns the Event for a service that had them."""
        by_type = self._given.get(key, {})
        by_type.pop(address_type, None)
        if not by_type:
            self._given.pop(key, None)
        if key not in self._enabled:
            return []
        self._enabled.discard(key)
        return [_notice(WARNING, "Disabled", "Topology Aware Hints has been disabled", address_type)]

    def gone(self, key: str) -> None:
        """Forget a service that is gone."""
        self._given.pop(key, None)
        self._enabled.discard(key)


def allocate(ratios: Mapping[str, float] | None, endpoints: int) -> tuple[dict[str, Allocation], str]:
    """
    Share endpoints out among the zones.

    :param ratios: each zone's part of all CPUs; None if it is not known
    :return: the allocation of each zone; or none, and why not
    """
    if ratios is None:
        return {}, _NO_CPU_OR_ZONE
    counts = f"({endpoints} endpoints, {len(ratios)} zones)"
    if len(ratios) > endpoints:
        return {}, f"Insufficient number of endpoints {counts}"
    desired = {zone: ratio * endpoints for zone, ratio in ratios.items()}
    least = {zone: math.ceil(number * (1 / (1 + _OVERLOAD))) for zone, number in desired.items()}
    rest = endpoints - sum(least.values())
    if rest < 0:
        message = "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold"
        return {}, f"{message} {counts}"
    return {zone: Allocation(max(desired[zone], it), it, it + rest) for zone, it in least.items()}, ""


def is_overloaded(given: Mapping[str, int], ratios: Mapping[str, float] | None) -> bool:
    """Whether the endpoints of a zone would get too much traffic, or the zones are no longer known."""
    if not given:
        return False
    if not ratios:
        return True
    total = float(sum(given.values()))
    return any(given.get(zone, 0) < math.ceil(total * ratio * (1 / (1 + _OVERLOAD))) for zone, ratio in ratios.items())


def _taken_away(unchanged: Iterable[SliceView]) -> list[tuple[SliceView, _Placed]]:
    """Those slices whose endpoints have hints, and their endpoints without."""
    hinted = (view for view in unchanged if any(state.hints != NO_HINTS for _, state in view.endpoints))
    return [(view, _stripped(view.endpoints)) for view in hinted]


def _counted(node: V1Node) -> tuple[str, Quantity] | None:
    """The zone and the CPUs of a node; None if it does not count."""
    labels, status = node.metadata.labels or {}, node.status
    if any(label in labels for label in _CONTROL_PLANE):
        return None
    if status is None or not is_condition_true(status.conditions, "Ready"):
        return None
    cpu = Quantity.parse((status.allocatable or {}).get("cpu", "0"))
    return labels.get(ZONE_LABEL, "") if cpu else "", cpu


def _ratios(counted: Iterable[tuple[str, Quantity]]) -> dict[str, float] | None:
    """Each zone's part of all CPUs. None if a node does not tell, or there are fewer than two zones."""
    by_zone: dict[str, list[Quantity]] = {}
    for zone, cpu in counted:
        if not zone:
            return None
        by_zone.setdefault(zone, []).append(cpu)
    if len(by_zone) < 2:
        return None
    sums = {zone: Quantity.sum(each) for zone, each in sorted(by_zone.items())}
    total = Quantity.sum(sums.values()).milli_value()
    return {zone: it.milli_value() / total for zone, it in sums.items()}


def _kept(
    unchanged: Iterable[SliceView], allocations: Mapping[str, Allocation]
) -> tuple[Counter[str], list[tuple[SliceView, _Placed]]]:
    """The endpoints for each zone in slices whose hints stay, and the slices whose hints cannot stay."""
    given: Counter[str] = Counter()
    rewritten = []
    for view in unchanged:
        hints = [state.hints[0] for _, state in view.endpoints if state.ready]
        here = Counter(zone for zones in hints for zone in zones)
        if (
            all(hints)
            and all(zone in allocations for zone in here)
            and all(given[zone] + number <= allocations[zone].most for zone, number in here.items())
        ):
            given += here
        else:
            rewritten.append((view, list(view.endpoints)))
    return given, rewritten


def _ready(slices: Iterable[_Placed]) -> Iterator[tuple[_Placed, int, Identity, EndpointState]]:
    for placed in slices:
        for at, (identity, state) in enumerate(placed):
            if state.ready:
                yield placed, at, identity, state


def _give_own_zones(slices: Iterable[_Placed], given: Counter[str]) -> None:
    for placed, at, identity, state in _ready(slices):
        given[state.zone] += 1
        placed[at] = identity, state._replace(hints=((state.zone,), ()))


def _redistribute(slices: Iterable[_Placed], given: Counter[str], allocations: Mapping[str, Allocation]) -> None:
    giving, receiving = _exchanges(given, allocations)
    for placed, at, identity, state in _ready(slices):
        if giving[state.zone] > 0 and (to := next((zone for zone in receiving if receiving[zone] > 0), "")):
            placed[at] = identity, state._replace(hints=((to,), ()))
            giving[state.zone] -= 1
            receiving[to] -= 1
            given[to] += 1
            given[state.zone] -= 1


def _exchanges(given: Mapping[str, int], allocations: Mapping[str, Allocation]) -> tuple[Counter[str], Counter[str]]:
    """How many endpoints each zone gives to others, and how many it receives."""
    over = {zone: given.get(zone, 0) - it.desired for zone, it in allocations.items()}
    under = {zone: -number for zone, number in over.items()}
    giving: Counter[str] = Counter()
    receiving: Counter[str] = Counter()
    while True:
        most, least = max(over, key=over.__getitem__), max(under, key=under.__getitem__)
        gives, wants = over[most], under[least]
        if gives < 0.5 or wants < 0.5 or (gives < 1 and wants < 1):
            return giving, receiving
        giving[most] += 1
        over[most] -= 1
        receiving[least] += 1
        under[least] -= 1


def _ready_in(endpoints: Iterable[tuple[Identity, EndpointState]]) -> int:
    return sum(1 for _, state in endpoints if state.ready)


def _stripped(endpoints: Iterable[tuple[Identity, EndpointState]]) -> _Placed:
    return [(identity, state._replace(hints=NO_HINTS)) for identity, state in endpoints]


def _notice(type_: str, what: str, message: str, address_type: str) -> Notice:
    return Notice(type_, f"TopologyAwareHints{what}", f"{message}, addressType: {address_type}")
