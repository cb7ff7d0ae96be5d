"""What controllers ask of a cloud: Kubernetes' cloud provider interface, async and typed.

A package offers a cloud by an entry point of the group ``kinformer.cloud_providers``; its name is what
``--cloud-provider`` is given::

    [project.entry-points."kinformer.cloud_providers"]
    mycloud = "my_package:make_cloud"

``make_cloud()`` returns a :class:`CloudProvider`. Each of its parts may be None: the controllers that need it do not
run then. Every method may be called again after it has succeeded or failed half-way, and must come to the same end.
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
    """Somebody else looks after this load balancer: nothing is to be done, and nothing is wrong."""


class RetryLater(Exception):
    """
    A cloud asks to be left alone for a while.

    :param seconds: after how many it may be asked again
    """

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class LoadBalancers(Protocol):
    """Load balancers of Services. `cluster` tells apart the clusters that share a cloud account."""

    async def get_load_balancer(self, cluster: str, service: V1Service) -> V1LoadBalancerStatus | None:
        """The load balancer of a Service as it is, None if there is none."""

    async def ensure_load_balancer(
        self, cluster: str, service: V1Service, nodes: Sequence[V1Node]
    ) -> V1LoadBalancerStatus:
        """
        Make the load balancer of a Service, or bring it up to date.

        :raises ImplementedElsewhere: if somebody else does
        :raises RetryLater: if that is to be tried at a certain time
        """

    async def update_load_balancer(self, cluster: str, service: V1Service, nodes: Sequence[V1Node]) -> None:
        """
        Have the load balancer send to these nodes.

        :raises ImplementedElsewhere: if somebody else does
        """

    async def ensure_load_balancer_deleted(self, cluster: str, service: V1Service) -> None:
        """
        Delete the load balancer of a Service; one that is not there is deleted.

        :raises ImplementedElsewhere: if somebody else does
        """


@dataclass(frozen=True, slots=True)
class Route:
    """
    A route of the cloud's network.

    :param name: the cloud's own; empty for one that is to be made
    :param target_node: the name of the node that the packets go to; empty if there is none any more
    :param destination_cidr: where the packets go
    :param blackhole: whether it leads nowhere, since its instance is gone
    :param target_node_addresses: the addresses that it was made with
    :param enable_node_addresses: whether it depends on these, and has to be made anew when they change
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
        """Make a route; `name_hint` is unique, for clouds where routes have names."""

    async def delete_route(self, cluster: str, route: Route) -> None:
        """Delete a route that :meth:`list_routes` gave."""


class Instances(Protocol):
    """The machines behind nodes: Kubernetes' InstancesV2."""

    async def instance_exists(self, node: V1Node) -> bool:
        """Whether a node's instance is there, running or not."""

    async def instance_shutdown(self, node: V1Node) -> bool:
        """Whether a node's instance is there and shut down."""


class CloudProvider(Protocol):
    """
    :ivar name: for messages
    :ivar load_balancers: None if the cloud has none
    :ivar routes: None if the cloud's network finds pods by itself
    :ivar instances: None if the cloud cannot tell of them
    """

    name: str
    load_balancers: LoadBalancers | None
    routes: Routes | None
    instances: Instances | None
