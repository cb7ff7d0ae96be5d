"""Hints: the zones and nodes whose traffic should go to an endpoint, by the service's traffic distribution."""

from __future__ import annotations

from kinformer.models import V1Service
from kinformer_controllers.endpointslice.endpoints import NO_HINTS, Hints

__all__ = ("hints_for", "traffic_distribution")

_SAME_NODE = "PreferSameNode"
_KNOWN = ("PreferClose", "PreferSameZone", _SAME_NODE)

#: The annotations that ask for hints by the size of zones, in place of a traffic distribution. The older one wins.
_TOPOLOGY_ANNOTATIONS = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode")


def traffic_distribution(service: V1Service) -> str:
    """Return the service's traffic distribution; ``""`` if there is none or it is not supported."""
    wanted: str | None = service.spec.traffic_distribution
    if wanted not in _KNOWN or _asks_for_topology(service):
        return ""
    return wanted


def hints_for(distribution: str, ready: bool, zone: str, node_name: str) -> Hints:
    """Return the hints of an endpoint: its zone, and its node if that is preferred; none while it is not ready."""
    if not distribution or not ready:
        return NO_HINTS
    nodes = (node_name,) if node_name and distribution == _SAME_NODE else ()
    return ((zone,) if zone else (), nodes)


def _asks_for_topology(service: V1Service) -> bool:
    annotations = service.metadata.annotations or {}
    for name in _TOPOLOGY_ANNOTATIONS:
        if name in annotations:
            return annotations[name] in ("Auto", "auto")
    return False
