"""What a pod asks for in all: the sums and maxima over its containers, as the scheduler reckons it too.

Containers add up. Init containers run one after the other before them, so that the greatest of each amount counts;
those that stay (sidecars) add to whatever starts after them. Amounts for the pod as a whole stand instead of the
containers', and the overhead of running a pod comes on top. While containers are resized in place, the most of what is
asked for, has been allocated and is in force counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from controllers.quota.views import Container, ContainerStatus, PodView, Texts
from kinformer.meta import Quantity
from kinformer.meta.resourcelist import ResourceList, load

__all__ = ("has_pod_level_resources", "is_best_effort", "pod_limits", "pod_requests")

_COMPUTE: Final = frozenset({"cpu", "memory"})
_HUGE_PAGES: Final = "hugepages-"


def pod_requests(pod: PodView) -> ResourceList:
    """
    :raises QuantityError: if an amount is none
    """
    statuses = _statuses(pod)
    if _is_simple(pod, statuses):
        return _sum([one.resources.requests for one in pod.spec.containers or () if one.resources is not None])
    infeasible = bool(statuses) and _resize_is_infeasible(pod)

    def of_container(container: Container, status: ContainerStatus | None) -> ResourceList:
        asked = load(container.resources.requests) if container.resources is not None else {}
        if status is None or status.resources is None:
            return asked
        effective = {} if infeasible else asked
        _raise_to(effective, load(status.resources.requests))
        _raise_to(effective, load(status.allocated_resources))
        return effective

    result = _aggregate(pod, [(one, of_container(one, status)) for one, status in _with_status(pod, statuses)])
    resources = pod.spec.resources
    if resources is not None and resources.requests:
        _override(result, resources.requests)
    if pod.spec.overhead:
        _add_to(result, load(pod.spec.overhead))
    return result


def pod_limits(pod: PodView) -> ResourceList:
    """
    :raises QuantityError: if an amount is none
    """
    statuses = _statuses(pod)
    if _is_simple(pod, statuses):
        return _sum([one.resources.limits for one in pod.spec.containers or () if one.resources is not None])
    infeasible = bool(statuses) and _resize_is_infeasible(pod)

    def of_container(container: Container, status: ContainerStatus | None) -> ResourceList:
        asked = load(container.resources.limits) if container.resources is not None else {}
        if status is None or status.resources is None:
            return asked
        effective = {} if infeasible else asked
        _raise_to(effective, load(status.resources.limits))
        return effective

    result = _aggregate(pod, [(one, of_container(one, status)) for one, status in _with_status(pod, statuses)])
    resources = pod.spec.resources
    if resources is not None and resources.limits:
        _override(result, resources.limits)
    if pod.spec.overhead:
        # What has no limit has none with its overhead either.
        for name, amount in load(pod.spec.overhead).items():
            if result.get(name):
                result[name] += amount
    return result


def has_pod_level_resources(pod: PodView) -> bool:
    """Whether the pod as a whole asks for, or limits, something that can be had so."""
    resources = pod.spec.resources
    if resources is None:
        return False
    return any(map(_is_pod_level, resources.requests or ())) or any(map(_is_pod_level, resources.limits or ()))


def is_best_effort(pod: PodView) -> bool:
    """
    Whether nothing is asked for or limited, of CPU or memory.

    :raises QuantityError: if an amount is none
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


def _is_simple(pod: PodView, statuses: Mapping[str, ContainerStatus]) -> bool:
    """Whether a pod is nothing but its containers, as most are: this saves a third of the time of a first recount."""
    spec = pod.spec
    return not (statuses or spec.init_containers or spec.overhead or spec.resources is not None)


def _sum(lists: Iterable[Texts | None]) -> ResourceList:
    result: ResourceList = {}
    for texts in lists:
        if texts:
            _add_to(result, load(texts))
    return result


def _statuses(pod: PodView) -> dict[str, ContainerStatus]:
    """Those that say what a container really has."""
    status = pod.status
    found: dict[str, ContainerStatus] = {}
    for statuses in (status.container_statuses, status.init_container_statuses):
        for one in statuses or ():
            if one.resources is not None and one.name:
                found[one.name] = one
    return found


def _with_status(
    pod: PodView, statuses: Mapping[str, ContainerStatus]
) -> Iterator[tuple[Container, ContainerStatus | None]]:
    """Every container, init containers last, with its status; of init containers, only sidecars can be resized."""
    for container in pod.spec.containers or ():
        yield container, statuses.get(container.name or "")
    for container in pod.spec.init_containers or ():
        yield container, statuses.get(container.name or "") if _is_sidecar(container) else None


def _aggregate(pod: PodView, amounts: list[tuple[Container, ResourceList]]) -> ResourceList:
    result: ResourceList = {}
    regular = len(pod.spec.containers or ())
    for _, used in amounts[:regular]:
        _add_to(result, used)
    sidecars: ResourceList = {}
    initial: ResourceList = {}
    for container, used in amounts[regular:]:
        if _is_sidecar(container):
            _add_to(result, used)
            _add_to(sidecars, used)
            _raise_to(initial, sidecars)
        else:
            _add_to(used, sidecars)
            _raise_to(initial, used)
    _raise_to(result, initial)
    return result


def _is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"


def _resize_is_infeasible(pod: PodView) -> bool:
    for condition in pod.status.conditions or ():
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _is_pod_level(name: str) -> bool:
    return name in _COMPUTE or name.startswith(_HUGE_PAGES)


def _override(amounts: ResourceList, by: Texts) -> None:
    for name, amount in load(by).items():
        if _is_pod_level(name):
            amounts[name] = amount


def _add_to(amounts: ResourceList, more: ResourceList) -> None:
    for name, amount in more.items():
        amounts[name] = amounts[name] + amount if name in amounts else amount


def _raise_to(amounts: ResourceList, others: ResourceList) -> None:
    for name, amount in others.items():
        if name not in amounts or amount > amounts[name]:
            amounts[name] = amount
