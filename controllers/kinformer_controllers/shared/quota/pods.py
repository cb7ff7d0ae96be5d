"""Measures pods: their number, their requests and limits, and the scopes that they are in.

``count/pods`` counts every stored pod. Everything else counts only pods that have not ended: a pod that has failed or
succeeded, or whose grace period after its deletion is over, uses nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from anyio.lowlevel import checkpoint

from kinformer.clock import Clock, RealClock
from kinformer.meta import GroupResource
from kinformer.meta.integers import duration_of
from kinformer.meta.resourcelist import ResourceList
from kinformer.meta.validation import label_key_errors
from kinformer.models import V1Pod
from kinformer_controllers.shared.quota.counting import ONE, count_name
from kinformer_controllers.shared.quota.evaluator import (
    CREATE,
    SLICE,
    UPDATE,
    ConstraintError,
    Evaluator,
    Request,
    Tally,
    UsageStatsOptions,
)
from kinformer_controllers.shared.quota.limits import (
    BEST_EFFORT,
    CROSS_NAMESPACE_POD_AFFINITY,
    EXISTS,
    NOT_BEST_EFFORT,
    NOT_TERMINATING,
    PRIORITY_CLASS,
    TERMINATING,
    ScopeRequirement,
    matches_class,
)
from kinformer_controllers.shared.quota.pod_resources import (
    has_pod_level_resources,
    is_best_effort,
    pod_limits,
    pod_requests,
)
from kinformer_controllers.shared.quota.sources import NoSource, ObjectSource
from kinformer_controllers.shared.quota.views import (
    AffinityTerm,
    Container,
    PodAffinity,
    PodView,
    UnreadableObject,
    pod_shape,
    pod_view,
)

__all__ = ("PODS", "PodEvaluator", "is_quota_tracked", "is_terminating", "pod_matches_scope")

PODS: Final = GroupResource("", "pods")

_COUNT: Final = count_name(PODS)
_PLAIN: Final = ("cpu", "memory", "ephemeral-storage")
_NAMES: Final = frozenset(
    {_COUNT, "pods", *_PLAIN, *(f"requests.{name}" for name in _PLAIN), *(f"limits.{name}" for name in _PLAIN)}
)
_PREFIXES: Final = ("hugepages-", "requests.hugepages-")
_DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"

# If a quota limits one of these, every container must specify it. The Kubernetes source calls this rule a mistake, and
# keeps it for these names only.
_MUST_BE_SAID: Final = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})


# The shape of each pod is remembered, also of deleted pods. At this number of pods, all are forgotten. The same is done
# for shapes, of which this many need about 20 MB.
_PODS_KNOWN: Final = 300_000
_SHAPES_KNOWN: Final = 20_000


@dataclass(eq=False, slots=True)
class _Measured:
    """The usage of each pod of one shape, and whether it is in the scopes that were asked for."""

    used: ResourceList
    scopes: dict[ScopeRequirement, bool] = field(default_factory=dict)


class PodEvaluator(Evaluator):
    """
    Measures pods.

    Pods are made from templates, so many have the same spec and status: the same shape. Each shape is measured once.
    The usage of a pod only changes with its version, or when its grace period ends, so its shape is remembered. A
    recount of 10,000 pods takes about 30 ms the first time, and a fifth of that from then on.

    :param clock: says whether a pod's grace period is over
    """

    def __init__(self, source: ObjectSource | None = None, clock: Clock | None = None) -> None:
        self._clock = clock or RealClock()
        # The first by a pod's uid, with its resource version; the second by shape.
        self._measured: dict[str, tuple[str, _Measured]] = {}
        self._shapes: dict[bytes, _Measured] = {}
        super().__init__(
            PODS,
            _NAMES,
            self._measure,
            operations={"": (CREATE,), "resize": (UPDATE,)},
            matches_scope=pod_matches_scope,
            check=_check_pod,
            source=source or NoSource(),
        )

    def handles(self, request: Request) -> bool:
        """Whether the request creates or resizes a pod, or adds or removes its deadline, which changes its scope."""
        if request.operation == UPDATE and not request.subresource:
            try:
                return is_terminating(request.object) != is_terminating(request.old_object)
            except UnreadableObject:
                return False
        return super().handles(request)

    def matching_resources(self, names: Iterable[str]) -> list[str]:
        """Return the names that are measured, with huge pages of any size and requests of extended resources."""
        return sorted({name for name in names if name in _NAMES or _is_matched(name)})

    def usage(self, obj: Any) -> ResourceList:
        """See :meth:`Evaluator.usage`."""
        return self._remember(obj).used if _is_constant(obj) else self._measure(obj)

    async def add_up(self, objects: Sequence[Any], options: UsageStatsOptions) -> ResourceList:
        """Add up the usage: count the pods of each shape, and multiply."""
        times: Counter[_Measured] = Counter()
        tally = Tally(options.resources)
        scopes, remember = options.scopes, self._remember
        for begin in range(0, len(objects), SLICE):
            if begin:
                await checkpoint()
            shapes = []
            for obj in objects[begin : begin + SLICE]:
                if scopes and not self._is_in(scopes, obj):
                    continue
                if _is_constant(obj):
                    shapes.append(remember(obj))
                else:
                    tally.add(self._measure(obj))
            times.update(shapes)
        for measured, count in times.items():
            tally.add(measured.used, count)
        return tally.total()

    def _is_in(self, scopes: Iterable[ScopeRequirement], obj: Any) -> bool:
        if not _is_constant(obj):
            return all(pod_matches_scope(scope, obj) for scope in scopes)
        known = self._remember(obj).scopes
        for scope in scopes:
            found = known.get(scope)
            if found is None:
                found = known[scope] = pod_matches_scope(scope, obj)
            if not found:
                return False
        return True

    def _remember(self, pod: V1Pod) -> _Measured:
        meta = pod.metadata
        version = meta.resource_version
        known = self._measured.get(meta.uid)
        if known is not None and known[0] == version:
            return known[1]
        if len(self._measured) >= _PODS_KNOWN:
            self._measured.clear()
        view = pod_view(pod)
        shape = pod_shape(view)
        measured = self._shapes.get(shape)
        if measured is None:
            if len(self._shapes) >= _SHAPES_KNOWN:
                self._shapes.clear()
            measured = self._shapes[shape] = _Measured(self._measure(view))
        self._measured[meta.uid] = version, measured
        return measured

    def _measure(self, obj: Any) -> ResourceList:
        pod = pod_view(obj)
        if not is_quota_tracked(pod, self._clock):
            return {_COUNT: ONE}
        used = {_COUNT: ONE, "pods": ONE}
        _charge(used, pod_requests(pod), _charged_for_request)
        _charge(used, pod_limits(pod), _charged_for_limit)
        return used


def _is_constant(obj: Any) -> bool:
    """Whether an object is a stored pod that is not being deleted, so that its usage does not change with time."""
    if type(obj) is not V1Pod:
        return False
    meta = obj.metadata
    return bool(meta is not None and meta.uid and meta.resource_version and meta.deletion_timestamp is None)


def is_quota_tracked(obj: Any, clock: Clock) -> bool:
    """Whether a pod has not ended, and its grace period is not over."""
    pod = pod_view(obj)
    if pod.status.phase in ("Failed", "Succeeded"):
        return False
    deleted, grace = pod.metadata.deletion_timestamp, pod.metadata.deletion_grace_period_seconds
    return deleted is None or grace is None or clock.now() <= deleted + duration_of(grace)


def is_terminating(obj: Any) -> bool:
    """Whether a pod has a deadline (``activeDeadlineSeconds``). The scope's name has nothing to do with deletion."""
    deadline = pod_view(obj).spec.active_deadline_seconds
    return deadline is not None and deadline >= 0


def pod_matches_scope(requirement: ScopeRequirement, obj: Any) -> bool:
    """
    Whether a pod is in a scope. No pod is in an unknown scope.

    :raises ScopeError: if the requirement is invalid
    """
    pod = pod_view(obj)
    scope = requirement.scope
    if scope in (TERMINATING, NOT_TERMINATING):
        return is_terminating(pod) == (scope == TERMINATING)
    if scope in (BEST_EFFORT, NOT_BEST_EFFORT):
        return is_best_effort(pod) == (scope == BEST_EFFORT)
    if scope == PRIORITY_CLASS:
        name = pod.spec.priority_class_name
        return bool(name) if requirement.operator == EXISTS else matches_class(requirement, [name] if name else [])
    return scope == CROSS_NAMESPACE_POD_AFFINITY and _looks_at_other_namespaces(pod)


def _check_pod(required: Collection[str], obj: Any) -> None:
    """
    Check that every container specifies the amounts of CPU and memory that a quota limits.

    :raises ConstraintError: if amounts are missing; the error names them and the containers
    """
    pod = pod_view(obj)
    if has_pod_level_resources(pod):
        return
    wanted = _MUST_BE_SAID.intersection(required)
    if not wanted:
        return
    missing: dict[str, set[str]] = {}
    for container in (*(pod.spec.containers or ()), *(pod.spec.init_containers or ())):
        for name in wanted.difference(_said(container)):
            missing.setdefault(name, set()).add(container.name or "")
    if missing:
        texts = (f"{name} for: {','.join(sorted(containers))}" for name, containers in sorted(missing.items()))
        raise ConstraintError(f"must specify {'; '.join(texts)}")


def _said(container: Container) -> set[str]:
    resources = container.resources
    if resources is None:
        return set()
    return {
        *(charged for name in resources.requests or () for charged in _charged_for_request(name)),
        *(charged for name in resources.limits or () for charged in _charged_for_limit(name)),
    }


def _charge(used: ResourceList, amounts: ResourceList, names_for: Callable[[str], tuple[str, ...]]) -> None:
    for name, amount in amounts.items():
        for charged in names_for(name):
            used[charged] = amount


@lru_cache(maxsize=4096)
def _charged_for_request(name: str) -> tuple[str, ...]:
    """Return the names that a quota has for a request of this resource."""
    if name in _PLAIN or name.startswith("hugepages-"):
        return (name, f"requests.{name}")
    if _is_extended(name) or name.startswith(_DEVICE_CLASS):
        # These resources cannot be overcommitted: limits equal requests, and there are no names for limits.
        return (f"requests.{name}",)
    return ()


@lru_cache(maxsize=4096)
def _charged_for_limit(name: str) -> tuple[str, ...]:
    return (f"limits.{name}",) if name in _PLAIN else ()


@lru_cache(maxsize=4096)
def _is_matched(name: str) -> bool:
    if name.startswith(_PREFIXES):
        return True
    return name.startswith("requests.") and (not _is_native(name) or name.startswith(f"requests.{_DEVICE_CLASS}"))


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended(name: str) -> bool:
    if _is_native(name) or name.startswith("requests."):
        return False
    return not label_key_errors(f"requests.{name}")


def _looks_at_other_namespaces(pod: PodView) -> bool:
    affinity = pod.spec.affinity
    if affinity is None:
        return False
    return any(_crosses(term) for part in (affinity.pod_affinity, affinity.pod_anti_affinity) for term in _terms(part))


def _terms(part: PodAffinity | None) -> Iterable[AffinityTerm]:
    if part is not None:
        yield from part.required_during_scheduling_ignored_during_execution or ()
        for weighted in part.preferred_during_scheduling_ignored_during_execution or ():
            if weighted.pod_affinity_term is not None:
                yield weighted.pod_affinity_term


def _crosses(term: AffinityTerm) -> bool:
    return bool(term.namespaces) or term.namespace_selector is not None
