"""Computing a budget's status from its pods and the scale that their controllers want.

In: a budget; its pods come from :class:`Budgets`. Out: its new status, and Events about problems. The status is not
written here. A percentage (``minAvailable: 50%``) is of the number of pods that the controllers want, not of the
existing pods. Controllers of Kubernetes' own kinds are read from caches. For any other kind the scale subresource is
read, so budgets work for custom resources, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from kinformer.cache import Indexer
from kinformer.client import Client
from kinformer.client.errors import NotFound
from kinformer.controllerutil.owning import controller_of
from kinformer.meta import GroupVersion, GroupVersionKind, SelectorError
from kinformer.models import (
    V1Deployment,
    V1OwnerReference,
    V1Pod,
    V1PodDisruptionBudget,
    V1PodDisruptionBudgetStatus,
    V1ReplicaSet,
    V1ReplicationController,
    V1StatefulSet,
)
from kinformer.record import NORMAL, WARNING, EventRecorder
from kinformer_controllers.disruption.budgets import Budgets
from kinformer_controllers.disruption.status import (
    count_healthy,
    desired_healthy,
    disrupted_pods,
    new_status,
    wants_scale,
)
from kinformer_controllers.shared.scale_selector import UnreadableScale, read_scale_selector
from kinformer_controllers.shared.selector_text import selector_text

__all__ = (
    "BudgetCounter",
    "Count",
    "ScaleError",
    "ScaleFinder",
)

_APPS: Final = ("apps", "extensions")

_UNMANAGED_PODS: Final = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of "
    "the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please "
    'set ".spec.minAvailable" field of the PDB to an integer value.'
)


class ScaleError(Exception):
    """The scale of a pod's controller cannot be found."""


class _ExpectedScale(NamedTuple):
    """
    The result of :func:`_expected_scale`.

    :ivar total: the sum of the scales of the pods' controllers
    :ivar unmanaged: the names of pods without a controller; they do not count
    """

    total: int
    unmanaged: list[str]


class _Found(NamedTuple):
    uid: str
    scale: int


async def _expected_scale(pods: Iterable[V1Pod], scales: ScaleFinder) -> _ExpectedScale:
    """
    Return the sum of the scales of the pods' controllers. Each controller counts once.

    :raises ScaleError: if the controller of a pod is gone, or its kind has no scale
    :raises ClientError: if the server could not be read
    """
    wanted: dict[str, int] = {}
    found_by: set[str] = set()  # by uid, the pods' own controllers; `wanted` may have these controllers' Deployments
    unmanaged = []
    for pod in pods:
        reference = controller_of(pod)
        if reference is None:
            unmanaged.append(pod.metadata.name)
        elif reference.uid not in found_by:
            found_by.add(reference.uid)
            found = await scales.find(reference, pod.metadata.namespace)
            if found is None:
                raise ScaleError(f'found no controllers for pod "{pod.metadata.name}"')
            wanted[found.uid] = found.scale
    return _ExpectedScale(sum(wanted.values()), unmanaged)


@dataclass(eq=False)
class ScaleFinder:
    """
    Finds controllers and their scales. Those of Kubernetes' own kinds are found in caches.

    :param client: reads the scale of other kinds
    """

    client: Client
    replication_controllers: Indexer[V1ReplicationController]
    replica_sets: Indexer[V1ReplicaSet]
    deployments: Indexer[V1Deployment]
    stateful_sets: Indexer[V1StatefulSet]

    async def find(self, reference: V1OwnerReference, namespace: str) -> _Found | None:
        """
        Return the controller that decides the number of pods, and its scale; None if it is gone. If a Deployment
        controls the ReplicaSet, the result is the Deployment's.

        :raises ScaleError: if the kind is not served, or has no scale
        :raises ClientError: if the server could not be read
        """
        found = self._find_cached(reference, namespace)
        return found if found is not None else await self._ask(reference, namespace)

    def _find_cached(self, reference: V1OwnerReference, namespace: str) -> _Found | None:
        group, kind = _group_of(reference), reference.kind
        if (group, kind) == ("", "ReplicationController"):
            return _found(_get(self.replication_controllers, reference, namespace))
        if kind == "ReplicaSet" and group in _APPS:
            return self._of_replica_set(reference, namespace)
        if (group, kind) == ("apps", "StatefulSet"):
            return _found(_get(self.stateful_sets, reference, namespace))
        return None

    def _of_replica_set(self, reference: V1OwnerReference, namespace: str) -> _Found | None:
        replica_set = _get(self.replica_sets, reference, namespace)
        if replica_set is None:
            return None
        owner = controller_of(replica_set)
        if owner is None or owner.kind != "Deployment":
            return _found(replica_set)
        return _found(_get(self.deployments, owner, namespace)) if _group_of(owner) in _APPS else None

    async def _ask(self, reference: V1OwnerReference, namespace: str) -> _Found | None:
        served = await self.client.discovery.resource_for_kind(
            GroupVersionKind(*GroupVersion.parse(reference.api_version), reference.kind)
        )
        resource = self.client.resource(dict[str, Any], served.gvr, namespaced=served.namespaced)
        try:
            scale = await resource.get_scale(reference.name, namespace)
        except NotFound:
            # The server's answer is the same if the object is gone and if its kind has no scale.
            if "scale" not in served.subresources:
                raise ScaleError(f"{served.gvr.group_resource} does not implement the scale subresource") from None
            return None
        try:
            read_scale_selector((scale.status.selector if scale.status is not None else None) or "")
        except UnreadableScale as error:
            raise ScaleError(str(error)) from error
        if scale.metadata is None or scale.metadata.uid != reference.uid:
            return None
        return _Found(reference.uid, (scale.spec.replicas or 0) if scale.spec is not None else 0)


def _group_of(reference: V1OwnerReference) -> str:
    try:
        return GroupVersion.parse(reference.api_version).group
    except ValueError as error:
        raise ScaleError(f"the owner reference to {reference.kind} {reference.name}: {error}") from error


def _get(owners: Indexer[Any], reference: V1OwnerReference, namespace: str) -> Any:
    """Return the object that a reference names; None if it is gone, or another object has its name."""
    owner = owners.get_by_key(f"{namespace}/{reference.name}")
    return owner if owner is not None and owner.metadata.uid == reference.uid else None


def _found(owner: Any) -> _Found | None:
    if owner is None:
        return None
    replicas = owner.spec.replicas
    return _Found(owner.metadata.uid, 1 if replicas is None else replicas)


@dataclass(frozen=True, slots=True)
class Count:
    """
    The result for one budget.

    :ivar status: the new status
    :ivar recheck: seconds until an allowed eviction is overdue; None if there is none
    """

    status: V1PodDisruptionBudgetStatus
    recheck: float | None


class BudgetCounter:
    """
    Computes the statuses of budgets.

    :param recorder: records Events about problems of a budget or a pod
    """

    def __init__(self, budgets: Budgets, scales: ScaleFinder, recorder: EventRecorder) -> None:
        self._budgets = budgets
        self._scales = scales
        self._recorder = recorder

    async def count(self, budget: V1PodDisruptionBudget, now: datetime) -> Count:
        """
        Compute a budget's status.

        :raises SelectorError: if the budget's selector is invalid
        :raises ScaleError: if the scale of a pod's controller cannot be found
        :raises ValueError: if the budget's number is neither an integer nor a percentage
        :raises ClientError: if the server could not be read
        """
        try:
            pods = self._budgets.pods_of(budget)
        except SelectorError as error:
            self._recorder.event(budget, WARNING, "NoPods", f"Failed to get pods: {error}")
            raise
        if not pods:
            self._recorder.event(budget, NORMAL, "NoPods", "No matching pods found")
        try:
            expected, desired = await self._expect(budget, pods)
        except Exception as error:
            message = f"Failed to calculate the number of expected pods: {error}"
            self._recorder.event(budget, WARNING, "CalculateExpectedPodCountFailed", message)
            raise
        disrupted = disrupted_pods(budget, pods, now)
        for pod in disrupted.overdue:
            # Kubernetes' text has the namespace twice, too.
            where = f"{budget.metadata.namespace}/{budget.metadata.namespace}"
            message = f"Pod was expected by PDB {where} to be deleted but it wasn't"
            self._recorder.event(pod, WARNING, "NotDeleted", message)
        status = new_status(
            budget,
            healthy=count_healthy(pods, disrupted.pods, now),
            desired=desired,
            expected=expected,
            disrupted=disrupted.pods,
            now=now,
        )
        return Count(status, (disrupted.recheck - now).total_seconds() if disrupted.recheck is not None else None)

    async def _expect(self, budget: V1PodDisruptionBudget, pods: list[V1Pod]) -> tuple[int, int]:
        """Return how many pods there should be, and how many of them must be healthy."""
        if not wants_scale(budget):
            expected = len(pods) if budget.spec.min_available is not None else 0
            return expected, desired_healthy(budget, expected)
        scale = await _expected_scale(pods, self._scales)
        if scale.unmanaged:
            message = _UNMANAGED_PODS.format(selector_text(budget.spec.selector))
            self._recorder.event(budget, WARNING, "UnmanagedPods", message)
        return scale.total, desired_healthy(budget, scale.total)
