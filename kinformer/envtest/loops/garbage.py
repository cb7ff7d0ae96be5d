"""GarbageCollector: deletes, orphans or waits for the dependents of deleted objects, as the deletion asked.

It uses the same graph and verdicts as a cluster's controller (:mod:`kinformer.deletion`). It differs in its source: the
storage is always up to date, so there are no requests, no caches and no retries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from kinformer.deletion.graph import Graph, Identity, Kind, Node, Phase, ReferenceLike
from kinformer.deletion.heads import FOREGROUND, ORPHAN, Reference, phase_of
from kinformer.deletion.verdict import Delete, Standing, judge
from kinformer.envtest import status
from kinformer.envtest.admission import User
from kinformer.envtest.operations import DeleteOptions, Operations, WriteOptions
from kinformer.envtest.registry import Resource
from kinformer.envtest.storage import Change
from kinformer.envtest.storage.history import DELETED
from kinformer.envtest.strategy.base import Obj, with_field
from kinformer.logs import get_logger
from kinformer.meta.names import GroupResource, GroupVersion

__all__ = ("GarbageCollector",)

log = get_logger(__name__)

_HOW: Final = WriteOptions(
    User("system:serviceaccount:kube-system:generic-garbage-collector"), manager="kube-controller-manager"
)
_DEFINITIONS: Final = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")

#: Seconds until the next guess of a virtual owner's identity is tried.
_LATER: Final = 1.0


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    uid: str = ""
    owner_references: list[Reference] | None = None
    finalizers: list[str] | None = None
    deletion_timestamp: str | None = None


class _Head(msgspec.Struct, gc=False):
    metadata: _Metadata


class _NotServed(Exception):
    """The kind of an object is not served, so it is not known whether the object exists."""


_read_head = msgspec.json.Decoder(_Head).decode


class GarbageCollector:
    """
    See :class:`~kinformer.envtest.loops.runner.Loop`.

    :param wake: called when there is something to do
    """

    def __init__(self, operations: Operations, wake: Callable[[], None]):
        self._operations = operations
        self._wake = wake
        self._graph = Graph(self)
        self._kinds: dict[GroupResource, Kind] = {}
        self._to_look_at: dict[str, None] = {}
        self._to_orphan: dict[str, None] = {}

    # -- notes
    # ----------------------------------------------------------------------------------------------------------

    def note(self, resource: GroupResource, change: Change) -> None:
        if resource == _DEFINITIONS:
            self._kinds.clear()
        metadata = _read_head(change.now.head).metadata
        kind = self._kinds.get(resource) or self._kind_of(resource)
        namespace, _, name = change.now.key.rpartition("/")
        if change.type == DELETED:
            self._graph.gone(kind, namespace, name, metadata.uid)
        else:
            phase = phase_of(metadata.deletion_timestamp, metadata.finalizers)
            self._graph.see(kind, namespace, name, metadata.uid, metadata.owner_references or (), phase)

    def _kind_of(self, resource: GroupResource) -> Kind:
        served = self._operations.registry.by_storage(resource)
        # Objects of a kind that is not served any more are named by their resource.
        kind = Kind(served.api_version, served.kind) if served else Kind(resource.group, resource.resource)
        self._kinds[resource] = kind
        return kind

    # -- called by the graph
    # ---------------------------------------------------------------------------------------------

    def look_at(self, node: Node, /) -> None:
        """See :class:`~kinformer.deletion.graph.Agenda`."""
        self._to_look_at[node.uid] = None

    def look_later(self, node: Node, /) -> None:
        """See :class:`~kinformer.deletion.graph.Agenda`."""

        def now() -> None:
            self.look_at(node)
            self._wake()

        self._operations.clock.call_later(_LATER, now)

    def orphan(self, node: Node, /) -> None:
        """See :class:`~kinformer.deletion.graph.Agenda`."""
        self._to_orphan[node.uid] = None

    def misplaced(self, node: Node, owner: ReferenceLike, /) -> None:
        """Do nothing: only the real controller records Events."""

    # -- acting -------------------------------------------------------------------------------------------------------

    @property
    def is_due(self) -> bool:
        return bool(self._to_look_at or self._to_orphan)

    def act(self) -> bool:
        queue = self._to_orphan or self._to_look_at
        if not queue:
            return False
        uid = next(iter(queue))
        del queue[uid]
        node = self._graph.nodes.get(uid)
        if node is None:
            return True
        try:
            if queue is self._to_orphan:
                self._let_dependents_go(node)
            else:
                self._look(node)
        except _NotServed as error:
            # Loaded data may have references that a server would refuse. Other owners may still be served.
            level = log.warning if error.args else log.debug
            for one in node.dependents or (node,):
                name = f"{one.namespace}/{one.name}"
                level("owner_of_no_kind", object=name, kind=node.kind.kind, api_version=node.kind.api_version)
        except status.StatusError as error:
            if error.code not in (404, 409):
                raise
        return True

    def _look(self, node: Node) -> None:
        if node.is_being_deleted and not node.is_waiting:
            return
        metadata = self._find(node.identity)
        if metadata is None:
            self._graph.absent(node.identity)
        elif node.is_waiting:
            self._end_waiting(node)
        else:
            self._decide(node, metadata)

    def _decide(self, node: Node, metadata: _Metadata) -> None:
        owners = [
            (reference.uid, self._standing(node.identity, reference)) for reference in metadata.owner_references or ()
        ]
        verdict = judge(node, metadata.finalizers or (), owners)
        if isinstance(verdict, Delete):
            if verdict.unblock:
                self._write(node, _unblock)
            resource = self._resource_of(node.identity)
            options = DeleteOptions(propagation=verdict.propagation, uid=node.uid)
            self._operations.delete(resource, node.namespace, node.name, options, _HOW)
        elif verdict.disown:
            self._disown(node, verdict.disown)

    def _standing(self, item: Identity, reference: Reference) -> Standing:
        wanted = Identity(reference.api_version, reference.kind, item.namespace, reference.name, reference.uid)
        owner = self._find(wanted)
        if owner is None:
            return Standing.DANGLING
        is_waiting = phase_of(owner.deletion_timestamp, owner.finalizers) is not Phase.LIVING
        return Standing.WAITING if is_waiting and FOREGROUND in (owner.finalizers or ()) else Standing.SOLID

    def _end_waiting(self, node: Node) -> None:
        blocking = node.holding_up()
        if not blocking:
            self._take_finalizer(node, FOREGROUND)
        for dependent in blocking:
            if not dependent.is_waiting:
                self.look_at(dependent)

    def _let_dependents_go(self, owner: Node) -> None:
        # Each write is noted at once and changes the graph, so this iterates over a copy.
        for dependent in list(owner.dependents or ()):
            self._disown(dependent, (owner.uid,))
        self._take_finalizer(owner, ORPHAN)

    # -- the storage ---------------------------------------------------------------------------------------------------

    def _resource_of(self, identity: Identity) -> Resource:
        """
        The resource of an object.

        :raises _NotServed: if the kind is not served, or it needs a namespace and that is not known
        """
        try:
            group, version = GroupVersion.parse(identity.api_version)
        except ValueError:
            raise _NotServed("not an apiVersion") from None
        resource = self._operations.registry.by_kind(group, version, identity.kind)
        if resource is None or (resource.namespaced and not identity.namespace):
            raise _NotServed
        return resource

    def _find(self, identity: Identity) -> _Metadata | None:
        """
        The metadata of exactly this object; None if it does not exist.

        :raises _NotServed: as :meth:`_resource_of`
        """
        resource = self._resource_of(identity)
        namespace = identity.namespace if resource.namespaced else ""
        version = self._operations.storage.get(resource.storage, namespace, identity.name)
        if version is None:
            return None
        metadata = _read_head(version.raw).metadata
        return metadata if metadata.uid == identity.uid else None

    def _disown(self, node: Node, owners: tuple[str, ...]) -> None:
        def change(metadata: Obj) -> None:
            kept = [one for one in metadata.get("ownerReferences") or () if one.get("uid") not in owners]
            with_field(metadata, "ownerReferences", kept or None)

        self._write(node, change)

    def _take_finalizer(self, node: Node, finalizer: str) -> None:
        def change(metadata: Obj) -> None:
            kept = [one for one in metadata.get("finalizers") or () if one != finalizer]
            with_field(metadata, "finalizers", kept or None)

        self._write(node, change)

    def _write(self, node: Node, edit: Callable[[Obj], None]) -> None:
        def change(old: Obj | None) -> Obj:
            assert old is not None
            edit(old["metadata"])
            return old

        if self._find(node.identity) is not None:
            resource = self._resource_of(node.identity)
            self._operations.update(resource, node.namespace, node.name, change, _HOW)


def _unblock(metadata: Obj) -> None:
    for reference in metadata.get("ownerReferences") or ():
        if reference.get("blockOwnerDeletion"):
            reference["blockOwnerDeletion"] = False
