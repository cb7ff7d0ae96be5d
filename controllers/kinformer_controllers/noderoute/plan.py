"""Planning which routes to create and to delete.

In: the nodes with their pod CIDRs, and the existing routes of the cloud. Out: routes to delete and routes to create.
Routes outside the cluster's network are not changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kinformer.models import V1Node, V1NodeAddress
from kinformer_controllers.shared.cloud.interface import Route
from kinformer_controllers.shared.nodes.cluster_cidrs import Network, parse_cidr

__all__ = ("Plan", "is_responsible_for", "plan_routes", "pod_cidrs")


class Plan(NamedTuple):
    """
    The plan of one round.

    :param delete: the routes to delete
    :param create: the routes to create, each with its node
    """

    delete: list[Route]
    create: list[tuple[V1Node, Route]]


def pod_cidrs(node: V1Node) -> Sequence[str]:
    return (node.spec.pod_cidrs if node.spec is not None else None) or ()


def is_responsible_for(route: Route, networks: Iterable[Network]) -> bool:
    """Whether a route's destination is in one of the cluster's networks. An invalid CIDR is not."""
    try:
        cidr = parse_cidr(route.destination_cidr)
    except ValueError:
        return False
    return any(
        network.version == cidr.version and (cidr.network_address in network or cidr.broadcast_address in network)
        for network in networks
    )


def plan_routes(nodes: Iterable[V1Node], routes: Sequence[Route], networks: Sequence[Network]) -> Plan:
    """Plan the changes after which there is one route for each pod CIDR of each node, and no other."""
    there: dict[tuple[str, str], Route] = {}
    for route in routes:
        there.setdefault((route.target_node, route.destination_cidr), route)
    keep: set[tuple[str, str]] = set()
    plan = Plan([], [])
    for node in nodes:
        addresses = tuple((node.status.addresses if node.status is not None else None) or ())
        for cidr in pod_cidrs(node):
            key = node.metadata.name, cidr
            current = there.get(key)
            if current is not None and (
                not current.enable_node_addresses or _same(current.target_node_addresses, addresses)
            ):
                keep.add(key)
                continue
            plan.create.append((node, Route("", node.metadata.name, cidr, target_node_addresses=addresses)))
    for route in routes:
        wanted = (route.target_node, route.destination_cidr) in keep
        if is_responsible_for(route, networks) and (route.blackhole or not wanted):
            plan.delete.append(route)
    return plan


def _same(one: Sequence[V1NodeAddress], other: Sequence[V1NodeAddress]) -> bool:
    return len(one) == len(other) and all(address in other for address in one)
