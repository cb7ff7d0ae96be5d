"""The total requests and limits of a pod, computed from its containers in the same way as in the scheduler.

- The amounts of containers are added up.
- Init containers run one after the other before the containers, so the largest of each amount counts.
- Sidecars (init containers that keep running) are added to everything that starts after them.
- Amounts for the pod as a whole replace those of its containers.
- The pod's overhead is added.
- While a container is resized in place, the largest of the requested, allocated and actual amounts counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kinformer.meta import Quantity
from kinformer.meta.resourcelist import ResourceList, load
from kinformer_controllers.shared.quota.views import Container, ContainerStatus, PodView, Resources, Texts

__all__ = ("has_pod_level_resources", "is_best_effort", "pod_limits", "pod_requests")

_COMPUTE: Final = frozenset({"cpu", "memory"})
_HUGE_PAGES: Final = "hugepages-"


def pod_requests(pod: PodView) -> ResourceList:
    """
    Return what a pod requests.

    :raises QuantityError: if an amount is not a valid quantity
    """
    result = _of_containers_and_pod(
        pod, lambda resources: resources.requests, lambda status: status.allocated_resources
    )
    _add_to(result, load(pod.spec.overhead))
    return result


def pod_limits(pod: PodView) -> ResourceList:
    """
    Return the limits of a pod.

    :raises QuantityError: if an amount is not a valid quantity
    """
    result = _of_containers_and_pod(pod, lambda resources: resources.limits, lambda status: None)
    # The overhead is only added to limits that exist: without a limit, the overhead does not make one.
    for name, amount in load(pod.spec.overhead).items():
        if result.get(name):
            result[name] += amount
    return result


def _of_containers_and_pod(
    pod: PodView,
    pick: Callable[[Resources], Texts | None],
    allocated: Callable[[ContainerStatus], Texts | None],
) -> ResourceList:
    """
    Return the amounts of the containers and the pod, without overhead.

    :param pick: returns the requests, or the limits
    :param allocated: returns further amounts that count while a container is resized
    """
    spec, statuses, infeasible = pod.spec, _statuses(pod), _resize_is_infeasible(pod)

    def asked(container: Container) -> ResourceList:
        return load(pick(container.resources)) if container.resources is not None else {}

    def effective(container: Container) -> ResourceList:
        status = statuses.get(container.name or "")
        if status is None or status.resources is None:
            return asked(container)
        amounts = {} if infeasible else asked(container)
        _raise_to(amounts, load(pick(status.resources)))
        _raise_to(amounts, load(allocated(status)))
        return amounts

    result: ResourceList = {}
    for container in spec.containers or ():
        _add_to(result, effective(container))
    sidecars: ResourceList = {}
    initial: ResourceList = {}
    for container in spec.init_containers or ():
        if container.restart_policy == "Always":
            amounts = effective(container)
            _add_to(result, amounts)
            _add_to(sidecars, amounts)
            _raise_to(initial, sidecars)
        else:
            # It has ended, or has not started: it cannot be resized.
            amounts = asked(container)
            _add_to(amounts, sidecars)
            _raise_to(initial, amounts)
    _raise_to(result, initial)
    if spec.resources is not None:
        for name, amount in load(pick(spec.resources)).items():
            if _is_pod_level(name):
                result[name] = amount
    return result


def has_pod_level_resources(pod: PodView) -> bool:
    """Whether the pod as a whole has a request or a limit for CPU, memory or huge pages."""
    resources = pod.spec.resources
    if resources is None:
        return False
    return any(map(_is_pod_level, resources.requests or ())) or any(map(_is_pod_level, resources.limits or ()))


def is_best_effort(pod: PodView) -> bool:
    """
    Whether the pod has no request and no limit for CPU or memory.

    :raises QuantityError: if an amount is not a valid quantity
    """
    if pod.status.qos_class:
        return pod.status.qos_class == "BestEffort"
    if pod.spec.resources is not None:
        every = [pod.spec.resources]
    else:
        containers = [*(pod.spec.containers or ()), *(pod.spec.init_containers or ())]
        every = [one.resources for one in containers if one.resources is not None]
    return not any(_has_some(one.requests) or _has_some(one.limits) for one in every)


def _has_some(amounts: Texts | None) -> bool:
    return any(name in _COMPUTE and Quantity.parse(text).nano > 0 for name, text in (amounts or {}).items())


def _statuses(pod: PodView) -> dict[str, ContainerStatus]:
    status = pod.status
    return {
        one.name or "": one
        for statuses in (status.container_statuses, status.init_container_statuses)
        for one in statuses or ()
    }


def _resize_is_infeasible(pod: PodView) -> bool:
    for condition in pod.status.conditions or ():
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _is_pod_level(name: str) -> bool:
    return name in _COMPUTE or name.startswith(_HUGE_PAGES)


def _add_to(amounts: ResourceList, more: ResourceList) -> None:
    for name, amount in more.items():
        amounts[name] = amounts[name] + amount if name in amounts else amount


def _raise_to(amounts: ResourceList, others: ResourceList) -> None:
    for name, amount in others.items():
        if name not in amounts or amount > amounts[name]:
            amounts[name] = amount
