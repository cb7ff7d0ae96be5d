"""Owners: whose an object is, and how a controller finds what it owns.

In: objects and an informer's cache. Out: the identity of an owner (:class:`OwnerId`), the objects in a cache that an
owner controls (:func:`owned_by`), and the owner of an object that changed (:class:`OwnersByReference`).
:func:`set_controller_reference` makes an object belong to an owner. Nothing here asks the server::

    add_controller_index(pods)
    for pod in owned_by(pods.indexer, replica_set, "ReplicaSet"): ...

The index by controller works for any kind: pods, ReplicaSets, ControllerRevisions. It reads only an object's metadata.
The index of pods by their node reads only a pod's spec.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from kinformer.cache import NAMESPACE_INDEX, Indexer, SharedIndexInformer
from kinformer.logs import get_logger
from kinformer.meta import (
    Accessor,
    GroupVersionKind,
    SelectorError,
    accessor_for,
    accessor_of,
    get_controller_of,
    label_selector_as_selector,
    new_controller_ref,
)
from kinformer.models import V1LabelSelector, V1ObjectMeta, V1OwnerReference, V1Pod, to_dict

__all__ = (
    "AlreadyOwned",
    "CONTROLLER_INDEX",
    "OwnerId",
    "OwnersByReference",
    "POD_NODE_INDEX",
    "PodOwners",
    "add_controller_index",
    "add_pod_node_index",
    "controller_key",
    "controller_of",
    "named_owner",
    "owned_by",
    "owner_id",
    "selects",
    "set_controller_reference",
)

O = TypeVar("O")  # noqa: E741 - an owner
T = TypeVar("T")

log = get_logger(__name__)


class OwnerId(NamedTuple):
    """
    The identity of an owner.

    :param key: ``namespace/name``, or the name of a cluster-scoped object, as in the work queue
    :param uid: the object's uid
    """

    key: str
    uid: str


def owner_id(obj: Any) -> OwnerId:
    """Return the key and the uid of a model, a Struct or a dict."""
    accessor = accessor_of(obj)
    return OwnerId(accessor.key(obj), accessor.uid(obj))


def controller_of(obj: Any) -> V1OwnerReference | None:
    """Return the controller reference of a model. It is faster than :func:`kinformer.meta.get_controller_of`."""
    references: list[V1OwnerReference] | None = obj.metadata.owner_references
    if references:
        for reference in references:
            if reference.controller:
                return reference
    return None


def named_owner(owners: Indexer[O], kind: str, namespace: str, reference: V1OwnerReference | None) -> O | None:
    """Return the owner in the cache that a reference names; None if it is gone, or of another kind."""
    if reference is None or reference.kind != kind:
        return None
    owner: Any = owners.get_by_key(f"{namespace}/{reference.name}")
    # An owner with another uid is a later object with the same name.
    return owner if owner is not None and owner.metadata.uid == reference.uid else None


def selects(selector: V1LabelSelector | None, obj: Any) -> bool:
    """Whether an owner's selector matches a model. An empty or an invalid selector matches nothing."""
    try:
        found = label_selector_as_selector(selector)
    except SelectorError:
        return False
    return not found.is_empty and found.matches(obj.metadata.labels)


def _selects(owner: Any, obj: Any) -> bool:
    return selects(owner.spec.selector, obj)


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
    :param selects: whether an owner's selector matches a pod; by default, the one in its spec (:func:`selects`)
    :param min_ready_seconds: reads an owner's minReadySeconds, for kinds that have it
    """

    def __init__(
        self,
        type_: type[O],
        kind: str,
        owners: Indexer[O],
        selects: Callable[[O, V1Pod], bool] = _selects,
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


CONTROLLER_INDEX = "controller"
POD_NODE_INDEX = "spec.nodeName"


def add_controller_index(informer: SharedIndexInformer[Any]) -> None:
    """Add the index of objects by their controller. If the informer already has it, nothing happens."""
    if CONTROLLER_INDEX not in informer.indexer.get_indexers():
        informer.add_indexers({CONTROLLER_INDEX: _controller_key_of})


def add_pod_node_index(informer: SharedIndexInformer[V1Pod]) -> None:
    """Add the index of pods by the node that they are bound to. If the informer already has it, nothing happens."""
    if POD_NODE_INDEX not in informer.indexer.get_indexers():
        informer.add_indexers({POD_NODE_INDEX: _node_of})
        informer.decode_early("spec")


def controller_key(namespace: str, reference: V1OwnerReference | None) -> str:
    """Return the index value of objects with this controller reference; for None, that of a namespace's orphans."""
    if reference is None:
        return namespace
    return f"{namespace}/{reference.kind}/{reference.name}/{reference.uid}"


def owned_by(indexer: Indexer[T], owner: Any, kind: str, *, orphans: bool = True) -> list[T]:
    """
    Return the objects in the cache whose controller is `owner`.

    :param kind: the kind of `owner`
    :param orphans: whether to include the objects of its namespace that have no controller; it might adopt them
    """
    accessor = accessor_of(owner)
    namespace = accessor.namespace(owner)
    value = f"{namespace}/{kind}/{accessor.name(owner)}/{accessor.uid(owner)}"
    found = indexer.by_index(CONTROLLER_INDEX, value)
    return found + indexer.by_index(CONTROLLER_INDEX, namespace) if orphans else found


def _controller_key_of(obj: Any) -> str:
    return controller_key(obj.metadata.namespace, controller_of(obj))


def _node_of(pod: V1Pod) -> tuple[str, ...]:
    spec = pod.spec
    return (spec.node_name,) if spec is not None and spec.node_name else ()


class AlreadyOwned(Exception):
    """The object already has another controlling owner. An object can have only one."""


def set_controller_reference(owner: Any, obj: Any, gvk: GroupVersionKind | None = None) -> None:
    """
    Make `owner` the controlling owner of `obj`, in place (controller-runtime's ``SetControllerReference``).

    If the object has no namespace, it gets its owner's. If it has a reference to this owner already, the reference is
    replaced.

    :param owner: an object from the server, with a UID
    :param obj: a model, a custom resource or a dict, with metadata. It is changed, so it must not be an object of a
        cache
    :param gvk: the kind of `owner`; needed only if its type does not tell
    :raises AlreadyOwned: if `obj` has another controlling owner
    :raises ValueError: if `obj` is in another namespace than its owner, or `owner` has no UID because it was not
        created yet
    :raises TypeError: if the metadata of `obj` is of another type
    """
    owners, objects = accessor_of(owner), accessor_of(obj)
    uid, namespace = owners.uid(owner), owners.namespace(owner)
    if not uid:
        raise ValueError(f"{owners.key(owner)} has no uid: create it before it owns something")
    current = get_controller_of(obj)
    if current is not None and current.uid != uid:
        raise AlreadyOwned(
            f"{objects.key(obj)} is controlled by {current.kind} {current.name}: it cannot belong to "
            f"{owners.key(owner)} as well"
        )
    there = objects.namespace(obj)
    if namespace and there and there != namespace:
        raise ValueError(f"{objects.key(obj)} cannot belong to {owners.key(owner)}, which is in another namespace")
    reference = new_controller_ref(owner, gvk)
    if isinstance(obj, dict):
        metadata = obj.setdefault("metadata", {})
        kept = [found for found in metadata.get("ownerReferences") or () if found.get("uid") != uid]
        metadata["ownerReferences"] = [*kept, to_dict(reference)]
        if namespace and not there:
            metadata["namespace"] = namespace
        return
    metadata = obj.metadata
    if not isinstance(metadata, V1ObjectMeta):
        raise TypeError(f"the metadata of {type(obj).__qualname__} is no V1ObjectMeta: want V1ObjectMeta(name=…)")
    kept = [found for found in metadata.owner_references or () if found.uid != uid]
    metadata.owner_references = [*kept, reference]
    if namespace and not there:
        metadata.namespace = namespace
