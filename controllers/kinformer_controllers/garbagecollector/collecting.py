"""Collecting: checks one object that the graph has queued, and deletes it if all its owners are gone.

The graph may be old, so nothing is deleted because of the graph alone. Each owner that the object names is read from
the server, unless it is known to be absent. The deletion has the object's uid and resource version as preconditions. So
an object that gets another owner at that moment is not deleted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from kinformer.client.errors import Conflict, NoKindMatch, NotFound
from kinformer.deletion.graph import Graph, Identity, Node, Phase
from kinformer.deletion.heads import FOREGROUND, ORPHAN, HeadMeta, Reference
from kinformer.deletion.verdict import Delete, Standing, judge
from kinformer.logs import get_logger
from kinformer.manager import SyncError
from kinformer.workqueue import ItemExponentialFailureRateLimiter, parallelize_until
from kinformer_controllers.garbagecollector.objects import NamespacedOwnerOfClusterWide, Objects

__all__ = ("Collector",)

log = get_logger(__name__)

#: How many dependents of one owner are orphaned at the same time.
_AT_ONCE: Final = 20


@dataclass(eq=False)
class Collector:
    """
    Checks objects, by their uids.

    :param cached: returns the metadata of an object in a cache; None if no cache has it
    :param look_at: queues an object
    :param catch_up: waits until the caches are current, and returns the names of those that are not
    """

    graph: Graph
    objects: Objects
    cached: Callable[[Node], HeadMeta | None]
    look_at: Callable[[Node], None]
    catch_up: Callable[[], Awaitable[Collection[str]]]
    #: The delays for objects that exist and were not seen in a watch yet, and for those whose kind is not served.
    _later: ItemExponentialFailureRateLimiter = field(
        default_factory=lambda: ItemExponentialFailureRateLimiter(0.005, 1000.0), init=False
    )

    async def collect(self, uid: str) -> float | None:
        """
        Delete an object if none of its owners exists. If it waits for its dependents and none is left, finish its
        deletion.

        :return: seconds after which to check it again; None if that is not needed
        :raises ClientError: if the server refuses a request
        """
        node = self.graph.nodes.get(uid)
        if node is None:
            self._later.forget(uid)
            return None
        try:
            await self._look(node)
        except NoKindMatch as error:
            # It is not known whether the kind will be served later or never again, so nothing is deleted.
            log.debug("owner_of_unknown_kind", object=str(node.identity), error=str(error))
            return self._later.when(uid)
        except NamespacedOwnerOfClusterWide:
            # While the object has this invalid reference, nothing is known about its owner. There is no event when the
            # reference is removed.
            log.debug("cluster_wide_object_names_namespaced_owner", object=str(node.identity))
            return self._later.when(uid)
        if node.is_virtual and self.graph.nodes.get(uid) is node:
            # It exists on the server. If it was created and deleted while a watch was broken, no event will come, so it
            # is checked again.
            return self._later.when(uid)
        self._later.forget(uid)
        return None

    async def orphan(self, uid: str) -> None:
        """
        Remove an owner's reference from its dependents, and then the owner's finalizer ``orphan``.

        It waits for caches that are known to be behind. A dependent that they do not show yet would keep its reference,
        and would be deleted when the owner is gone.

        :raises SyncError: if a cache stays behind, or the reference could not be removed from all dependents
        :raises ClientError: if the finalizer could not be removed
        """
        owner = self.graph.nodes.get(uid)
        if owner is None or owner.phase is not Phase.ORPHANING:
            return
        if late := await self.catch_up():
            why = f"the caches of {', '.join(late)} are behind and may lack some"
            raise SyncError(f"dependents of owner {owner.identity} are not orphaned yet: {why}")
        dependents = list(owner.dependents or ())
        failures: list[str] = []

        async def let_go(number: int) -> None:
            identity = dependents[number].identity
            try:
                await self.objects.disown(identity, (uid,))
            except NotFound:
                pass
            except Exception as error:
                failures.append(f"orphaning {identity} failed, {error}")

        await parallelize_until(_AT_ONCE, len(dependents), let_go)
        if failures:
            raise SyncError(f"failed to orphan dependents of owner {owner.identity}, got errors: {'; '.join(failures)}")
        await self._finish(owner, ORPHAN)

    async def _look(self, node: Node) -> None:
        if node.is_being_deleted and not node.is_waiting:
            return  # it is already being deleted, and its dependents are checked when it is gone
        if node.is_waiting:
            await self._end_waiting(node)
            return
        meta = None if node.is_virtual else self.cached(node)
        if meta is not None:
            # The cache saves a request. If it is old, the precondition on its version makes the write fail.
            try:
                await self._decide(node, meta)
            except Conflict:
                pass
            else:
                return
        meta = await self._live(node)
        if meta is not None:
            await self._decide(node, meta, is_live=True)

    async def _live(self, node: Node) -> HeadMeta | None:
        """Return the object's metadata from the server. If it does not exist, tell the graph and return None."""
        identity = node.identity
        try:
            meta = await self.objects.get(identity)
        except NotFound:
            meta = None
        if meta is None or meta.uid != identity.uid:
            self.graph.absent(identity)
            return None
        return meta

    async def _decide(self, node: Node, meta: HeadMeta, *, is_live: bool = False) -> None:
        # The namespace of a virtual node is a guess. With a wrong one, its owners would not be found.
        identity = node.identity._replace(namespace=meta.namespace or "")
        owners = [
            (reference.uid, await self._standing(identity, reference)) for reference in meta.owner_references or ()
        ]
        if node.is_being_deleted:
            # Its deletion was seen only now, and its dependents may be waiting because of it. That is no circle.
            return
        verdict = judge(node, meta.finalizers or (), owners)
        blocks = any(reference.block_owner_deletion for reference in meta.owner_references or ())
        try:
            if isinstance(verdict, Delete) and verdict.unblock and blocks:
                await self.objects.unblock(identity, meta)
                # It has a new version now, perhaps with other changes, so everything is checked again.
                if (now := await self._live(node)) is not None:
                    await self._decide(node, now, is_live=True)
            elif isinstance(verdict, Delete):
                await self._delete(identity, verdict, meta, is_live=is_live)
            elif verdict.disown:
                await self.objects.disown(identity, verdict.disown)
        except NotFound:
            self.graph.absent(node.identity)

    async def _delete(self, identity: Identity, verdict: Delete, meta: HeadMeta, *, is_live: bool) -> None:
        version = meta.resource_version
        try:
            await self.objects.delete(identity, verdict.propagation, version)
        except Conflict:
            if not is_live:
                raise
            now = await self.objects.get(identity)
            same = now.uid == identity.uid and now.owner_references == meta.owner_references
            if not same or now.resource_version == version:
                raise
            # Its owners have not changed, but it changes so often that a precondition on the version always fails.
            await self.objects.delete(identity, verdict.propagation)

    async def _standing(self, item: Identity, reference: Reference) -> Standing:
        absents = self.graph.absents
        wanted = Identity(reference.api_version, reference.kind, "", reference.name, reference.uid)
        if absents.get(wanted) or absents.get(wanted := wanted._replace(namespace=item.namespace)):
            return Standing.DANGLING
        kind = await self.objects.kind_of(reference.api_version, reference.kind)
        if not kind.namespaced:
            wanted = wanted._replace(namespace="")
        try:
            owner = await self.objects.get(wanted)
        except NotFound:
            owner = None
        if owner is None or owner.uid != reference.uid:
            absents.put(wanted, True)
            return Standing.DANGLING
        if owner.deletion_timestamp is not None and FOREGROUND in (owner.finalizers or ()):
            return Standing.WAITING
        return Standing.SOLID

    async def _end_waiting(self, node: Node) -> None:
        """Handle an owner that waits until its dependents are gone (foreground deletion)."""
        blocking = node.holding_up()
        if not blocking:
            await self._finish(node, FOREGROUND)
        for dependent in blocking:
            if not dependent.is_waiting:
                self.look_at(dependent)

    async def _finish(self, owner: Node, finalizer: str) -> None:
        """
        Remove the finalizer from an owner.

        :raises Conflict: if another client has changed the owner
        """
        meta = await self._live(owner)
        if meta is not None:
            await self.objects.take_finalizer(owner.identity, meta, finalizer)
