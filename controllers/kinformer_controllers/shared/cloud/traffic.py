"""What a cloud's load balancer needs to know of a Service: who may come in, and how nodes are checked.

These are the helpers of Kubernetes' ``cloud-provider/service/helpers``, for those who write a provider.
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
    The networks from which a load balancer lets clients in: of the spec, or else of the annotation, or else all.

    :raises ValueError: if one of them is no network
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
    """Whether everybody may come in, over IPv4."""
    return any(str(network) == _EVERYBODY for network in networks)


def requests_only_local_traffic(service: V1Service) -> bool:
    """Whether a node passes on only to its own pods."""
    spec = service.spec
    return spec.type in ("LoadBalancer", "NodePort") and spec.external_traffic_policy == _LOCAL


def needs_health_check(service: V1Service) -> bool:
    """Whether a load balancer has to find out which nodes have pods."""
    return service.spec.type == "LoadBalancer" and requests_only_local_traffic(service)


def health_check(service: V1Service) -> tuple[str, int] | None:
    """The path and the port by which it finds out, None if it need not."""
    port = service.spec.health_check_node_port
    return ("/healthz", port) if needs_health_check(service) and port else None
