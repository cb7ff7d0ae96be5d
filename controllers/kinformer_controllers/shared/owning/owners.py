"""Finding the owner of a pod, usually by its controller reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from kinformer.cache import NAMESPACE_INDEX, Indexer
from kinformer.logs import get_logger
from kinformer.meta import Accessor, accessor_for
from kinformer.models import V1OwnerReference, V1Pod
from kinformer_controllers.shared.owning.identity import OwnerId

__all__ = ("OwnersByReference", "PodOwners", "controller_of")

log = get_logger(__name__)

O = TypeVar("O")  # noqa: E741 - an owner


def controller_of(obj: Any) -> V1OwnerReference | None:
    """Return the controller reference of a model. It is faster than :func:`kinformer.meta.get_controller_of`."""
    references: list[V1OwnerReference] | None = obj.metadata.owner_references
    if references:
        for reference in references:
            if reference.controller:
                return reference
    return None


class PodOwners(Protocol):
    """The owners that a :class:`~.handlers.PodHandler` queues."""

    def owner_of(self, pod: V1Pod) -> OwnerId | None:
        """Return the owner of the pod; None if there is none."""

    def candidates_for(self, pod: V1Pod) -> list[str]:
        """Return the keys of the owners that might adopt this orphan."""

    def min_ready_seconds(self, owner: OwnerId) -> int:
        """Return how many seconds a pod of that owner must be ready to be available; 0 if the owner does not say."""


class OwnersByReference(Generic[O]):
    """
    Finds the owner that a pod's controller reference names. Every owner that selects an orphan is a candidate for it.

    :param type_: the type of the owners, such as a model
    :param kind: the owners' kind in references; the group and the version of a reference are not compared
    :param owners: the informer's cache of the owners, with its index by namespace
    :param selects: whether an owner's selector matches a pod
    :param min_ready_seconds: reads an owner's minReadySeconds, for kinds that have it
    """

    def __init__(
        self,
        type_: type[O],
        kind: str,
        owners: Indexer[O],
        selects: Callable[[O, V1Pod], bool],
        min_ready_seconds: Callable[[O], int | None] = lambda _: 0,
    ) -> None:
        self._accessor: Accessor[O] = accessor_for(type_)
        self._kind = kind
        self._owners = owners
        self._selects = selects
        self._min_ready_seconds = min_ready_seconds

    def owner_of(self, pod: V1Pod) -> OwnerId | None:
        """See :meth:`PodOwners.owner_of`."""
        reference = controller_of(pod)
        if reference is None or reference.kind != self._kind:
            return None
        key = f"{pod.metadata.namespace}/{reference.name}"
        owner = self._owners.get_by_key(key)
        # An owner with another uid is a later object with the same name.
        return OwnerId(key, reference.uid) if owner is not None and self._accessor.uid(owner) == reference.uid else None

    def candidates_for(self, pod: V1Pod) -> list[str]:
        """See :meth:`PodOwners.candidates_for`."""
        owners = self._owners.by_index(NAMESPACE_INDEX, pod.metadata.namespace)
        candidates = [self._accessor.key(owner) for owner in owners if self._selects(owner, pod)]
        if len(candidates) > 1:
            log.warning("selectors_overlap", pod=self._key(pod), kind=self._kind, selecting=sorted(candidates))
        return candidates

    def min_ready_seconds(self, owner: OwnerId) -> int:
        """See :meth:`PodOwners.min_ready_seconds`."""
        found = self._owners.get_by_key(owner.key)
        return (self._min_ready_seconds(found) or 0) if found is not None else 0

    @staticmethod
    def _key(pod: Any) -> str:
        return f"{pod.metadata.namespace}/{pod.metadata.name}"
