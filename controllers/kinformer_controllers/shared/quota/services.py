"""Measures Services: their number, their load balancers, and the node ports that they will have."""

from __future__ import annotations

from typing import Any, Final

from kinformer.meta import GroupResource, Quantity
from kinformer.meta.quantity import ZERO
from kinformer.meta.resourcelist import ResourceList
from kinformer_controllers.shared.quota.counts import ONE, count_name
from kinformer_controllers.shared.quota.evaluator import CREATE, UPDATE, GenericEvaluator
from kinformer_controllers.shared.quota.sources import NoSource, ObjectSource
from kinformer_controllers.shared.quota.views import service_view

__all__ = ("SERVICES", "service_evaluator", "service_usage")

SERVICES: Final = GroupResource("", "services")

_COUNT: Final = count_name(SERVICES)
_NAMES: Final = (_COUNT, "services", "services.nodeports", "services.loadbalancers")


def service_usage(obj: Any) -> ResourceList:
    """
    Return what a service uses. Its requested node ports are counted: none are allocated yet when it is created.

    :raises UnreadableObject: if the object is not a service
    """
    spec = service_view(obj).spec
    ports = spec.ports or ()
    node_ports = balancers = 0
    if spec.type == "NodePort":
        node_ports = len(ports)
    elif spec.type == "LoadBalancer":
        balancers = 1
        allocate = spec.allocate_load_balancer_node_ports is not False
        node_ports = len(ports) if allocate else sum(1 for port in ports if port.node_port)
    return {
        _COUNT: ONE,
        "services": ONE,
        "services.loadbalancers": ONE if balancers else ZERO,
        "services.nodeports": Quantity.of(node_ports),
    }


def service_evaluator(source: ObjectSource | None = None) -> GenericEvaluator:
    """Make the evaluator of services. Updates count, too, because they can change a service's type."""
    return GenericEvaluator(
        SERVICES, _NAMES, service_usage, operations={"": (CREATE, UPDATE)}, source=source or NoSource()
    )
