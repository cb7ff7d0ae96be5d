"""The settings of a Service for a cloud's load balancer: which clients are allowed, and how nodes are checked.

Authors of cloud providers use these functions. They are Kubernetes' ``cloud-provider/service/helpers``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kinformer.models import V1Service
from kinformer_controllers.shared.nodes.cluster_cidrs import Network, parse_cidr

__all__ = ("allows_all", "health_check", "needs_health_check", "requests_only_local_traffic", "source_ranges")

_ANNOTATION: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
_EVERYBODY: Final = "0.0.0.0/0"
_LOCAL: Final = "Local"


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
