"""Services: how many, how many load balancers, and how many node ports they will have."""

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
    What a service uses. Node ports are counted by what it asks for, as they are not allocated yet when it is created.

    :raises UnreadableObject: if it is no service
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
    """Measures services. Updates count, as they can change the type."""
    return GenericEvaluator(
        SERVICES, _NAMES, service_usage, operations={"": (CREATE, UPDATE)}, source=source or NoSource()
    )
