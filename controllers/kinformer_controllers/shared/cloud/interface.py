"""Kubernetes' cloud provider interface, async and typed: the calls that controllers make to a cloud.

A package offers a cloud by an entry point of the group ``kinformer.cloud_providers``. The flag ``--cloud-provider``
takes the entry point's name::

    [project.entry-points."kinformer.cloud_providers"]
    mycloud = "my_package:make_cloud"

``make_cloud()`` returns a :class:`CloudProvider`. Each of its parts may be None. Controllers that need a part which is
None do not run. Every method must be idempotent: it may be called again after it has succeeded or failed half-way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kinformer.models import V1LoadBalancerStatus, V1Node, V1NodeAddress, V1Service

__all__ = (
    "CloudProvider",
    "ImplementedElsewhere",
    "Instances",
    "LoadBalancers",
    "RetryLater",
    "Route",
    "Routes",
)


class ImplementedElsewhere(Exception):
    """Another component manages this load balancer. The controller leaves it alone, and this is not an error."""


class RetryLater(Exception):
    """
    The cloud asks the controller to try again later.

    :param seconds: the time to wait before the next try, in seconds
    """

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class LoadBalancers(Protocol):
    """Load balancers of Services. `cluster` is the cluster's name, for clusters that share one cloud account."""

    async def get_load_balancer(self, cluster: str, service: V1Service) -> V1LoadBalancerStatus | None:
        """Return the status of a Service's load balancer; None if there is no load balancer."""

    async def ensure_load_balancer(
        self, cluster: str, service: V1Service, nodes: Sequence[V1Node]
    ) -> V1LoadBalancerStatus:
        """
        Create the load balancer of a Service, or update it.

        :raises ImplementedElsewhere: if another component manages it
        :raises RetryLater: if the controller should try again after a certain time
        """

    async def update_load_balancer(self, cluster: str, service: V1Service, nodes: Sequence[V1Node]) -> None:
        """
        Make the load balancer send to these nodes.

        :raises ImplementedElsewhere: if another component manages it
        """

    async def ensure_load_balancer_deleted(self, cluster: str, service: V1Service) -> None:
        """
        Delete the load balancer of a Service. It is no error if there is none.

        :raises ImplementedElsewhere: if another component manages it
        """


@dataclass(frozen=True, slots=True)
class Route:
    """
    A route of the cloud's network.

    :param name: the cloud's name for it; empty for a route that is to be created
    :param target_node: the name of the node that receives the packets; empty if that node no longer exists
    :param destination_cidr: the network of the packets' destination addresses
    :param blackhole: whether its packets are dropped, because its instance is gone
    :param target_node_addresses: the node's addresses when the route was created
    :param enable_node_addresses: whether the route depends on these addresses and must be created again when they
        change
    """

    name: str
    target_node: str
    destination_cidr: str
    blackhole: bool = False
    target_node_addresses: tuple[V1NodeAddress, ...] = ()
    enable_node_addresses: bool = False


class Routes(Protocol):
    """Routes to the pods of each node."""

    async def list_routes(self, cluster: str) -> Sequence[Route]:
        """All routes of the cluster."""

    async def create_route(self, cluster: str, name_hint: str, route: Route) -> None:
        """Create a route. `name_hint` is unique; a cloud whose routes have names can use it in the name."""

    async def delete_route(self, cluster: str, route: Route) -> None:
        """Delete a route that :meth:`list_routes` returned."""


class Instances(Protocol):
    """The machines behind nodes: Kubernetes' InstancesV2."""

    async def instance_exists(self, node: V1Node) -> bool:
        """Whether a node's instance exists, running or not."""

    async def instance_shutdown(self, node: V1Node) -> bool:
        """Whether a node's instance exists and is shut down."""


class CloudProvider(Protocol):
    """
    A cloud: its name and its parts.

    :ivar name: the cloud's name in messages
    :ivar load_balancers: None if the cloud has no load balancers
    :ivar routes: None if the cloud's network needs no routes to reach pods
    :ivar instances: None if the cloud cannot say which instances exist
    """

    name: str
    load_balancers: LoadBalancers | None
    routes: Routes | None
    instances: Instances | None
