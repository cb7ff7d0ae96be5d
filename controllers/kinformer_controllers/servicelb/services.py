"""Deciding which Services have a load balancer, and which of their changes matter to it."""

from __future__ import annotations

from typing import Any, Final

from kinformer.controllerutil.finalizers import has_finalizer
from kinformer.models import V1Service

__all__ = ("FINALIZER", "needs_cleanup", "needs_update", "wants_load_balancer")

FINALIZER: Final = "service.kubernetes.io/load-balancer-cleanup"
_LOAD_BALANCER: Final = "LoadBalancer"
#: The fields of a Service that a load balancer is made from.
_FIELDS: Final = (
    "load_balancer_source_ranges",
    "session_affinity",
    "session_affinity_config",
    "load_balancer_ip",
    "external_ips",
    "external_traffic_policy",
    "health_check_node_port",
)


def wants_load_balancer(service: V1Service) -> bool:
    """Whether a Service asks for a load balancer and does not name another controller by its class."""
    return service.spec.type == _LOAD_BALANCER and service.spec.load_balancer_class is None


def needs_cleanup(service: V1Service) -> bool:
    """Whether a Service has a load balancer that must be deleted."""
    if not has_finalizer(service, FINALIZER):
        return False
    return service.metadata.deletion_timestamp is not None or service.spec.type != _LOAD_BALANCER


def needs_update(old: V1Service, new: V1Service) -> bool:
    """Whether a change of a Service matters to its load balancer."""
    if not wants_load_balancer(old) and not wants_load_balancer(new):
        return False
    if wants_load_balancer(old) != wants_load_balancer(new):
        return True
    if any((getattr(old.spec, field) or None) != (getattr(new.spec, field) or None) for field in _FIELDS):
        return True
    if [_port(it) for it in old.spec.ports or ()] != [_port(it) for it in new.spec.ports or ()]:
        return True
    if len(old.spec.ip_families or ()) != len(new.spec.ip_families or ()):
        return True
    return (old.metadata.annotations or {}) != (new.metadata.annotations or {}) or old.metadata.uid != new.metadata.uid


def _port(port: Any) -> tuple[Any, ...]:
    return port.name, port.protocol, port.port, port.node_port, port.target_port, port.app_protocol
