"""The node route controller: a route in the cloud's network for each node with a pod CIDR.

In: nodes, and the existing routes of the cloud. Out: routes are created and deleted, many at the same time, and the
NetworkUnavailable condition of each node. Promised: routes outside the cluster's network are not changed; there are at
most 200 concurrent calls to the cloud; a node's network is available when all its routes exist; a node without a pod
CIDR and without a route is left alone; a node's route is deleted only after the server was asked for the node; an error
is reported by an Event, and the call is repeated in the next round.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import anyio
from prometheus_client import Counter

from kinformer.cache import ResourceEventHandlerFuncs
from kinformer.client import PatchType
from kinformer.client.errors import ClientError, NotFound
from kinformer.controllerutil.conditions import get_condition
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, ControllerDisabled, SyncError
from kinformer.models import V1Node, V1NodeAddress
from kinformer.options import OptionError
from kinformer.record import WARNING
from kinformer.workqueue import ItemExponentialFailureRateLimiter
from kinformer_controllers.noderoute.spec import NodeRouteOptions
from kinformer_controllers.shared.cloud.interface import Route, Routes
from kinformer_controllers.shared.cloud.loading import cloud_named
from kinformer_controllers.shared.nodes import Network, parse_cidr, parse_cluster_cidrs

__all__ = (
    "NodeRouteController",
    "Plan",
    "is_responsible_for",
    "make_controller",
    "plan_routes",
)

log = get_logger(__name__)

_ROUTE_SYNCS: Final = Counter(
    "route_controller_route_sync_total",
    "A metric counting the amount of times routes have been synced with the cloud provider.",
)

COMPONENT: Final = "route_controller"
#: The largest number of concurrent calls to the cloud, as in Kubernetes.
AT_ONCE: Final = 200
#: How long changes of nodes are collected before a round, in seconds.
_GATHER: Final = 1.0
_ALL_ROUTES: Final = "routes"
_CONDITION: Final = "NetworkUnavailable"


class Plan(NamedTuple):
    """
    The plan of one round.

    :param delete: the routes to delete
    :param create: the routes to create, each with its node
    """

    delete: list[Route]
    create: list[tuple[V1Node, Route]]


def _pod_cidrs(node: V1Node) -> Sequence[str]:
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
        for cidr in _pod_cidrs(node):
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


def make_controller(context: ControllerContext) -> Controller:
    """
    The entry point of the controller; its options are :class:`.NodeRouteOptions`.

    :raises ControllerDisabled: if there is no cloud, the cloud has no routes, or routes are switched off
    :raises OptionError: if no package offers the cloud, or the cluster's network is not given
    """
    options = context.read(NodeRouteOptions)
    cloud = cloud_named(options.cloud_provider)
    if not (options.allocate_node_cidrs and options.configure_cloud_routes):
        raise ControllerDisabled("--allocate-node-cidrs and --configure-cloud-routes are not both given")
    if cloud.routes is None:
        raise ControllerDisabled(f"the cloud {cloud.name} has no routes")
    if not options.cluster_cidr:
        raise OptionError("--cluster-cidr is empty: the node route controller needs the network of the pods")
    return NodeRouteController(context, cloud.routes).controller


class NodeRouteController:
    """Syncs all routes in rounds."""

    def __init__(self, context: ControllerContext, routes: Routes) -> None:
        options = context.read(NodeRouteOptions)
        self._clock = context.clock
        self._routes, self._networks = routes, list(parse_cluster_cidrs(options.cluster_cidr))
        self._cluster, self._period = options.cluster_name, options.route_reconciliation_period
        self._recorder = context.recorder(COMPONENT)
        self._server = context.client.resource(V1Node)
        nodes = context.informers.informer_for(V1Node)
        self._nodes = nodes.indexer
        # A round that has failed is repeated as late as the next one would begin, however often it has failed.
        limiter: Any = ItemExponentialFailureRateLimiter(self._period, self._period)
        self.controller = Controller("route", self.sync, queue_name="Routes", limiter=limiter, clock=self._clock)
        self.controller.handle(nodes, ResourceEventHandlerFuncs(self._soon, self._node_changed, self._soon))
        self.controller.queue.add(_ALL_ROUTES)

    async def sync(self, _: str) -> float:
        """
        Create missing routes, and delete routes that are not needed.

        :return: seconds until the next round
        :raises SyncError: if the cloud cannot list its routes
        """
        _ROUTE_SYNCS.inc()
        try:
            routes = await self._routes.list_routes(self._cluster)
        except Exception as error:
            raise SyncError(f"error listing routes: {error}") from error
        nodes = self._nodes.list()
        missing = await self._carry_out(plan_routes(nodes, routes, self._networks))
        with_route = {route.target_node for route in routes}
        async with anyio.create_task_group() as tasks:
            for node in nodes:
                # As in Kubernetes: another network plug-in may serve a node that has neither.
                if _pod_cidrs(node) or node.metadata.name in with_route:
                    tasks.start_soon(self._tell, node, bool(_pod_cidrs(node)) and node.metadata.name not in missing)
        return self._period

    async def _carry_out(self, plan: Plan) -> set[str]:
        """Delete routes, then create routes. Returns the names of the nodes with a route that could not be created."""
        limiter, missing = anyio.CapacityLimiter(AT_ONCE), set()

        async def delete(route: Route) -> None:
            async with limiter:
                try:
                    if not route.blackhole and await self._is_wanted(route):
                        log.info("route_kept", route=route.name, node=route.target_node, why="the cache was behind")
                        return
                    await self._routes.delete_route(self._cluster, route)
                except Exception as error:
                    log.error("route_not_deleted", route=route.name, cidr=route.destination_cidr, error=str(error))

        async def create(node: V1Node, route: Route) -> None:
            meta, began = node.metadata, self._clock.monotonic()
            async with limiter:
                try:
                    await self._routes.create_route(self._cluster, meta.uid or "", route)
                except Exception as error:
                    missing.add(meta.name)
                    took = self._clock.monotonic() - began
                    message = f"Could not create route {meta.uid} {route.destination_cidr} for node {meta.name} "
                    message += f"after {took:.3f}s: {error}"
                    self._recorder.event(node, WARNING, "FailedToCreateRoute", message)

        async with anyio.create_task_group() as tasks:
            for route in plan.delete:
                tasks.start_soon(delete, route)
        async with anyio.create_task_group() as tasks:
            for node, route in plan.create:
                tasks.start_soon(create, node, route)
        return missing

    async def _is_wanted(self, route: Route) -> bool:
        """Whether the server has a node that needs the route, although the cache has none."""
        cached = self._nodes.get_by_key(route.target_node)
        if not route.target_node or (cached is not None and route.destination_cidr in _pod_cidrs(cached)):
            return False  # the route itself is wrong
        try:
            node = await self._server.get(route.target_node)
        except NotFound:
            return False
        return route.destination_cidr in _pod_cidrs(node)

    async def _tell(self, node: V1Node, available: bool) -> None:
        """Set the NetworkUnavailable condition of a node."""
        status, reason = ("False", "RouteCreated") if available else ("True", "NoRouteCreated")
        conditions = node.status.conditions if node.status is not None else None
        current = get_condition(conditions, _CONDITION)
        if current is not None and (current.status, current.reason) == (status, reason):
            return
        what = "created a route" if available else "failed to create a route"
        now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        condition = {
            "type": _CONDITION,
            "status": status,
            "reason": reason,
            "message": f"RouteController {what}",
            "lastTransitionTime": now,
            "lastHeartbeatTime": now,
        }
        patch = {"metadata": {"uid": node.metadata.uid}, "status": {"conditions": [condition]}}
        try:
            await self._server.patch(node.metadata.name, patch, patch_type=PatchType.STRATEGIC, subresource="status")
        except NotFound:
            return
        except ClientError as error:
            log.error("node_condition_not_written", node=node.metadata.name, error=str(error))

    def _soon(self, _: Any) -> None:
        self.controller.queue.add_after(_ALL_ROUTES, _GATHER)

    def _node_changed(self, old: V1Node, new: V1Node) -> None:
        if _pod_cidrs(old) != _pod_cidrs(new) or _addresses(old) != _addresses(new):
            self._soon(new)


def _addresses(node: V1Node) -> Any:
    return node.status.addresses if node.status is not None else None
