"""What a service asks for, as far as its endpoints go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kinformer.models import V1Service, V1ServicePort
from kinformer_controllers.shared.services.pod import EndpointPod, is_ipv6

__all__ = (
    "HEADLESS_LABEL",
    "TRIGGER_TIME_ANNOTATION",
    "ResolvedPort",
    "gets_endpoints",
    "has_cluster_ip",
    "is_headless",
    "port_resolver",
    "wants_ipv6",
)

#: On endpoints of a service without an IP of its own.
HEADLESS_LABEL = "service.kubernetes.io/headless"
#: On endpoints: the time of the first of the changes that led to the last write.
TRIGGER_TIME_ANNOTATION = "endpoints.kubernetes.io/last-change-trigger-time"


def gets_endpoints(service: V1Service) -> bool:
    """Whether endpoints are made for it. Those of a service without a selector are somebody else's work."""
    spec = service.spec
    return spec is not None and spec.type != "ExternalName" and bool(spec.selector)


def has_cluster_ip(service: V1Service) -> bool:
    """Whether it has an IP of its own: neither is it headless, nor still without one."""
    return service.spec.cluster_ip not in ("None", "", None)


def is_headless(service: V1Service) -> bool:
    return service.spec.cluster_ip == "None"


def wants_ipv6(service: V1Service) -> bool | None:
    """
    The one family of its Endpoints: its first. A service from before there were families has that of its IP.

    :return: None if it has neither: then each pod is listed with the family of its primary address
    """
    spec = service.spec
    if spec.ip_families:
        return bool(spec.ip_families[0] == "IPv6")
    return is_ipv6(spec.cluster_ip or "") if has_cluster_ip(service) else None


class ResolvedPort(NamedTuple):
    """A service's port as one pod has it."""

    name: str
    port: int
    protocol: str
    app_protocol: str | None


def port_resolver(service: V1Service) -> Callable[[EndpointPod], tuple[ResolvedPort, ...]]:
    """
    A function that gives a pod's ports for the service, without those that the pod lacks.

    For pods with the same ports it gives the very same tuple.
    """
    ports = service.spec.ports or ()
    targets = [(port.name or "", _target(port), port.protocol or "TCP", port.app_protocol) for port in ports]
    if not any(isinstance(target, str) for _, target, _, _ in targets):
        same = tuple(ResolvedPort(*each) for each in targets)
        return lambda pod: same
    seen: dict[tuple[ResolvedPort, ...], tuple[ResolvedPort, ...]] = {}

    def resolve(pod: EndpointPod) -> tuple[ResolvedPort, ...]:
        resolved: list[ResolvedPort] = []
        for name, target, protocol, app_protocol in targets:
            number = pod.named_ports.get((target, protocol)) if isinstance(target, str) else target
            if number is not None:
                resolved.append(ResolvedPort(name, number, protocol, app_protocol))
        found = tuple(resolved)
        return seen.setdefault(found, found)

    return resolve


def _target(port: V1ServicePort) -> Any:
    """A number or a container port's name. The server fills it in; where one does not, it is the port itself."""
    return port.port if port.target_port is None else port.target_port
