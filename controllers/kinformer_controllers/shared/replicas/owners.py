"""ReplicaSets and ReplicationControllers: how the two kinds differ, and in which two ways pods belong to them.

By owner reference is the usual way. By labels alone is the way from before owner references existed. Kubernetes still
uses it for ReplicationControllers if the garbage collector is switched off (``--enable-garbage-collector=false``). Then
a pod is counted by every controller whose selector matches it, and the expectations of the oldest of these are updated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from kinformer.cache import NAMESPACE_INDEX, SharedIndexInformer
from kinformer.client import Resource
from kinformer.controllerutil.claiming import ControllerRefManager, recheck_deletion
from kinformer.controllerutil.owning import (
    OwnerId,
    OwnersByReference,
    PodOwners,
    add_controller_index,
    controller_of,
    owned_by,
    owner_id,
)
from kinformer.controllerutil.pod_control import PodControl
from kinformer.controllerutil.pods import is_pod_active, is_pod_terminating
from kinformer.meta import GroupResource, GroupVersionKind, Selector, SelectorError, get_controller_of
from kinformer.models import V1Pod, resource_for

__all__ = (
    "ByLabels",
    "ByReference",
    "PodsOf",
    "ReplicaKind",
    "ReplicaPods",
    "desired_replicas",
)

#: The index of owners by the uid of their controller.
_SIBLINGS_INDEX: Final = "controllerUID"

R = TypeVar("R")

R_contra = TypeVar("R_contra", contravariant=True)


@dataclass(frozen=True)
class ReplicaKind(Generic[R]):
    """
    A kind of object that has a number of pods made from one template.

    :param model: the model of its objects
    :param status: the model of their status
    :param condition: the model of a condition in the status
    :param selector: returns an object's selector; raises :exc:`SelectorError` if it is invalid
    :param name: the controller's name
    :param component: the source component of its Events
    :param queue: the name of its queue in metrics
    :param tells_terminating: whether the status has ``terminatingReplicas``
    """

    model: type[R]
    status: type[Any]
    condition: type[Any]
    selector: Callable[[R], Selector]
    name: str
    component: str
    queue: str
    tells_terminating: bool
    gvk: GroupVersionKind = field(init=False)
    resource: GroupResource = field(init=False)

    def __post_init__(self) -> None:
        info = resource_for(self.model)
        object.__setattr__(self, "gvk", info.gvk)
        object.__setattr__(self, "resource", info.gvr.group_resource)

    def selects(self, owner: R, pod: V1Pod) -> bool:
        """Whether the owner's selector matches the pod. An empty or an invalid selector matches nothing."""
        try:
            selector = self.selector(owner)
        except SelectorError:
            return False
        return not selector.is_empty and selector.matches(pod.metadata.labels)


def desired_replicas(owner: Any) -> int:
    """Return the number of replicas in the spec; 1 if it is not set, as the server's default."""
    replicas: int | None = owner.spec.replicas
    return 1 if replicas is None else replicas


class ReplicaPods(NamedTuple):
    """
    The pods of one owner.

    :param active: the pods that count as replicas
    :param terminating: the pods that are being deleted and have not ended
    """

    active: list[V1Pod]
    terminating: list[V1Pod]


class PodsOf(PodOwners, Protocol[R_contra]):
    """The owner of a pod, and the pods of an owner."""

    async def pods_of(self, owner: R_contra, selector: Selector) -> ReplicaPods:
        """Adopt and release pods, and return those that the owner has then."""

    def related(self, owner: R_contra) -> Iterable[V1Pod]:
        """Return the pods of all owners with the same controller; none if the owner has no controller."""


class ByReference(OwnersByReference[R], Generic[R]):
    """Pods belong to an owner by owner reference."""

    def __init__(
        self,
        kind: ReplicaKind[R],
        owners: SharedIndexInformer[R],
        pods: SharedIndexInformer[V1Pod],
        server: Resource[R],
        control: PodControl,
    ) -> None:
        super().__init__(kind.model, kind.gvk.kind, owners.indexer, kind.selects, _min_ready_seconds)
        add_controller_index(pods)
        _add_siblings_index(owners)
        self._replica_kind = kind
        self._pods = pods.indexer
        self._server = server
        self._control = control

    async def pods_of(self, owner: R, selector: Selector) -> ReplicaPods:
        """See :meth:`PodsOf.pods_of`."""
        kind, meta = self._replica_kind, owner.metadata  # type: ignore[attr-defined]  # a model of either kind
        # Owned pods and orphans are read in one step. Otherwise an adopted orphan could be found again as an owned pod.
        pods = owned_by(self._pods, owner, kind.gvk.kind)

        async def read_fresh() -> R:
            return await self._server.get(meta.name, meta.namespace)

        manager: ControllerRefManager[V1Pod] = ControllerRefManager(
            owner, kind.gvk, selector, self._control.patch, recheck_deletion(read_fresh, meta.uid)
        )
        active = await manager.claim([pod for pod in pods if is_pod_active(pod)])
        terminating = [
            pod
            for pod in pods
            if is_pod_terminating(pod) and _is_controlled_by(pod, meta.uid) and selector.matches(pod.metadata.labels)
        ]
        return ReplicaPods(active, terminating)

    def related(self, owner: R) -> Iterable[V1Pod]:
        """See :meth:`PodsOf.related`."""
        reference = get_controller_of(owner)
        if reference is None:
            return ()
        kind = self._replica_kind.gvk.kind
        siblings = self._owners.by_index(_SIBLINGS_INDEX, reference.uid)
        return (pod for sibling in siblings for pod in owned_by(self._pods, sibling, kind, orphans=False))


class ByLabels(Generic[R]):
    """Pods belong to every owner whose selector matches. Their owner for expectations is the oldest of these."""

    def __init__(self, kind: ReplicaKind[R], owners: SharedIndexInformer[R], pods: SharedIndexInformer[V1Pod]) -> None:
        _add_siblings_index(owners)
        self._kind = kind
        self._owners = owners.indexer
        self._pods = pods.indexer

    def owner_of(self, pod: V1Pod) -> OwnerId | None:
        """See :meth:`PodOwners.owner_of`."""
        owners = self._owners.by_index(NAMESPACE_INDEX, pod.metadata.namespace)
        owner = min((it for it in owners if self._kind.selects(it, pod)), key=_age, default=None)
        return owner_id(owner) if owner is not None else None

    def candidates_for(self, pod: V1Pod) -> list[str]:
        """Return nothing: pods are not adopted."""
        return []

    def min_ready_seconds(self, owner: OwnerId) -> int:
        """See :meth:`PodOwners.min_ready_seconds`."""
        found = self._owners.get_by_key(owner.key)
        return (_min_ready_seconds(found) or 0) if found is not None else 0

    async def pods_of(self, owner: R, selector: Selector) -> ReplicaPods:
        """See :meth:`PodsOf.pods_of`."""
        pods = list(self._selected(owner))
        return ReplicaPods(
            [pod for pod in pods if is_pod_active(pod)], [pod for pod in pods if is_pod_terminating(pod)]
        )

    def related(self, owner: R) -> Iterable[V1Pod]:
        """See :meth:`PodsOf.related`."""
        reference = get_controller_of(owner)
        if reference is None:
            return ()
        siblings = self._owners.by_index(_SIBLINGS_INDEX, reference.uid)
        return {pod.metadata.uid: pod for sibling in siblings for pod in self._selected(sibling)}.values()

    def _selected(self, owner: Any) -> Iterable[V1Pod]:
        there = self._pods.by_index(NAMESPACE_INDEX, owner.metadata.namespace)
        return (pod for pod in there if self._kind.selects(owner, pod))


def _add_siblings_index(owners: SharedIndexInformer[Any]) -> None:
    if _SIBLINGS_INDEX not in owners.indexer.get_indexers():
        owners.add_indexers({_SIBLINGS_INDEX: _controller_uid})


def _controller_uid(owner: Any) -> tuple[str, ...]:
    reference = get_controller_of(owner)
    return (reference.uid,) if reference is not None else ()


def _min_ready_seconds(owner: Any) -> int | None:
    seconds: int | None = owner.spec.min_ready_seconds
    return seconds


def _is_controlled_by(pod: V1Pod, uid: str) -> bool:
    reference = controller_of(pod)
    return reference is not None and reference.uid == uid


def _age(owner: Any) -> tuple[float, str]:
    created = owner.metadata.creation_timestamp
    return (created.timestamp() if created else 0.0, owner.metadata.name)
