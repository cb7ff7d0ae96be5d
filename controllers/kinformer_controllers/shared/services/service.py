"""Reading the fields of a service that its endpoints depend on; and the time of the change that led to a write.

The time is written into an annotation, from which others measure how long endpoints take to follow a change. It is the
earliest time at which a pod's readiness or the service changed since the last sync. The annotation is left out if there
is no such time, for example after the deletion of a pod. For a service without an earlier sync it is the service's
creation time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kinformer.models import V1Service, V1ServicePort
from kinformer_controllers.shared.services.pod import EndpointPod, is_ipv6

__all__ = (
    "HEADLESS_LABEL",
    "TRIGGER_TIME_ANNOTATION",
    "ResolvedPort",
    "TriggerTimes",
    "format_trigger_time",
    "gets_endpoints",
    "has_cluster_ip",
    "is_headless",
    "port_resolver",
    "wants_ipv6",
)

#: The label of the endpoints of a headless service.
HEADLESS_LABEL = "service.kubernetes.io/headless"
#: The annotation of endpoints with the time of the earliest change that led to their last write.
TRIGGER_TIME_ANNOTATION = "endpoints.kubernetes.io/last-change-trigger-time"


def gets_endpoints(service: V1Service) -> bool:
    """Whether this controller makes endpoints for it. A user makes those of a service without a selector."""
    spec = service.spec
    return spec is not None and spec.type != "ExternalName" and bool(spec.selector)


def has_cluster_ip(service: V1Service) -> bool:
    """Whether it has a cluster IP: it is not headless, and its IP has been assigned."""
    return service.spec.cluster_ip not in ("None", "", None)


def is_headless(service: V1Service) -> bool:
    return service.spec.cluster_ip == "None"


def wants_ipv6(service: V1Service) -> bool | None:
    """
    Return whether its Endpoints have IPv6 addresses. That is so if IPv6 is its first family.

    An old service may have no families. Then the family of its cluster IP counts.

    :return: None if it has neither families nor a cluster IP. Then each pod's primary address is used
    """
    spec = service.spec
    if spec.ip_families:
        return bool(spec.ip_families[0] == "IPv6")
    return is_ipv6(spec.cluster_ip or "") if has_cluster_ip(service) else None


class ResolvedPort(NamedTuple):
    """A port of a service, with the port number that one pod has for it."""

    name: str
    port: int
    protocol: str
    app_protocol: str | None


def port_resolver(service: V1Service) -> Callable[[EndpointPod], tuple[ResolvedPort, ...]]:
    """
    Make a function that returns a pod's ports for the service, without those that the pod does not have.

    For pods with the same ports it returns the same tuple object.
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
    """Return the target: a number or a container port's name. The default is the port itself, as on the server."""
    return port.port if port.target_port is None else port.target_port


class TriggerTimes:
    """Remembers for each service the times that its last sync has seen."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[datetime | None, dict[str, datetime]]] = {}

    def compute(self, key: str, service: V1Service, pods: Collection[EndpointPod]) -> datetime | None:
        """
        Return the trigger time of this sync; None if there is none. The times of this sync are remembered.
        """
        created: datetime | None = service.metadata.creation_timestamp
        times = {pod.key: pod.ready_changed for pod in pods if pod.ready_changed is not None}
        known = self._seen.get(key)
        self._seen[key] = (created, times)
        if known is None:
            return created
        since, before = known
        # The difference of the two views is fast: mostly one of thousands of pods has changed.
        news = times.items() - before.items()
        earliest = min((time for key, time in news if (last := before.get(key)) is None or time > last), default=None)
        if created is not None and (since is None or created > since):
            return created if earliest is None else min(created, earliest)
        return earliest

    def forget(self, key: str) -> None:
        """Forget a service that was deleted."""
        self._seen.pop(key, None)


def format_trigger_time(time: datetime) -> str:
    """Format a time as Go's RFC3339Nano: without zeros at the end of the fraction, and without an empty fraction."""
    text = time.astimezone(UTC).replace(tzinfo=None).isoformat()
    return f"{text.rstrip('0') if '.' in text else text}Z"
