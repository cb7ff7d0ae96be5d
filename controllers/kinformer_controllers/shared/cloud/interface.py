"""Kubernetes' cloud provider interface, async and typed: the calls that controllers make to a cloud.

A package offers a cloud by an entry point of the group ``kinformer.cloud_providers``. The flag ``--cloud-provider``
takes the entry point's name::

    [project.entry-points."kinformer.cloud_providers"]
    mycloud = "my_package:make_cloud"

``make_cloud()`` returns a :class:`CloudProvider`. Each of its parts may be None. Controllers that need a part which is
None do not run. Every method must be idempotent: it may be called again after it has succeeded or failed half-way.

Authors of cloud providers also use the functions here that read a Service's settings for its load balancer: which
clients are allowed, and how nodes are checked. They are Kubernetes' ``cloud-provider/service/helpers``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from kinformer.models import V1LoadBalancerStatus, V1Node, V1NodeAddress, V1Service
from kinformer_controllers.shared.nodes import Network, parse_cidr

__all__ = (
    "CloudProvider",
    "ImplementedElsewhere",
    "Instances",
    "LoadBalancers",
    "RetryLater",
    "Route",
    "Routes",
    "allows_all",
    "health_check",
    "needs_health_check",
    "requests_only_local_traffic",
    "source_ranges",
)

_ANNOTATION: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
_EVERYBODY: Final = "0.0.0.0/0"
_LOCAL: Final = "Local"


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


def source_ranges(service: V1Service) -> list[Network]:
    """
    Return the networks whose clients the load balancer accepts.

    They are those of the spec. Without them, they are those of the annotation. Without that, all of IPv4 is allowed.

    :raises ValueError: if one of them is not a network
    """
    given = service.spec.load_balancer_source_ranges
    if given:
        try:
            return [parse_cidr(each) for each in given]
        except ValueError as error:
            raise ValueError(
                f"service.Spec.LoadBalancerSourceRanges: {given} is not valid. Expecting a list of IP ranges. "
                f"For example, 10.0.0.0/24. Error msg: {error}"
            ) from error
    text = (service.metadata.annotations or {}).get(_ANNOTATION, "").strip() or _EVERYBODY
    try:
        return [parse_cidr(each) for each in text.split(",")]
    except ValueError as error:
        raise ValueError(
            f"{_ANNOTATION}: {text} is not valid. Expecting a comma-separated list of source IP ranges. "
            "For example, 10.0.0.0/24,192.168.2.0/24"
        ) from error


def allows_all(networks: Iterable[Network]) -> bool:
    """Whether all IPv4 clients are allowed."""
    return any(str(network) == _EVERYBODY for network in networks)


def requests_only_local_traffic(service: V1Service) -> bool:
    """Whether a node sends the Service's external traffic only to its own pods."""
    spec = service.spec
    return spec.type in ("LoadBalancer", "NodePort") and spec.external_traffic_policy == _LOCAL


def needs_health_check(service: V1Service) -> bool:
    """Whether the load balancer must check which nodes have pods of the Service."""
    return service.spec.type == "LoadBalancer" and requests_only_local_traffic(service)


def health_check(service: V1Service) -> tuple[str, int] | None:
    """Return the path and the port of the health check on each node; None if no check is needed."""
    port = service.spec.health_check_node_port
    return ("/healthz", port) if needs_health_check(service) and port else None
