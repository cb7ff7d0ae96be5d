"""Collecting: what is done about one object that the graph wants looked at.

The graph may be behind, so nothing is deleted on its word. Each owner that the object names is asked for at the server,
unless it is known to be absent, and the deletion holds for this uid and this version only: whoever makes another object
its owner meanwhile keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kinformer.client.errors import Conflict, NoKindMatch, NotFound
from kinformer.deletion.absent import Identity
from kinformer.deletion.graph import Graph, Node, Phase
from kinformer.deletion.heads import FOREGROUND, ORPHAN, HeadMeta, Reference
from kinformer.deletion.verdict import Delete, Standing, judge
from kinformer.logs import get_logger
from kinformer.manager import SyncError
from kinformer.workqueue import ItemExponentialFailureRateLimiter, parallelize_until
from kinformer_controllers.garbagecollector.objects import NamespacedOwnerOfClusterWide, Objects

__all__ = ("Collector",)

log = get_logger(__name__)

#: How many dependents of one owner are let go at once.
_AT_ONCE: Final = 20


class Collector:
    """
    Looks at objects, by their uids.

    :param cached: the object as a cache has it, None if none does
    :param look_at: has an object looked at again
    """

    def __init__(
        self, graph: Graph, objects: Objects, cached: Callable[[Node], HeadMeta | None], look_at: Callable[[Node], None]
    ) -> None:
        self._graph = graph
        self._objects = objects
        self._cached = cached
        self._look_at = look_at
        #: For objects that are there and were not seen yet, and for those whose kind is not served.
        self._later = ItemExponentialFailureRateLimiter(0.005, 1000.0)

    async def collect(self, uid: str) -> float | None:
        """
        Delete an object if none of its owners is there; end its waiting if it waits for nobody any more.

        :return: seconds after which to look again
        :raises ClientError: if the server did not let it be done
        """
        node = self._graph.nodes.get(uid)
        if node is None:
            self._later.forget(uid)
            return None
        try:
            await self._look(node)
        except NoKindMatch as error:
            # The kind's definition may be on its way, or be gone for good: nobody can tell, so nothing is deleted.
            log.debug("owner_of_unknown_kind", object=str(node.identity), error=str(error))
            return self._later.when(uid)
        except NamespacedOwnerOfClusterWide:
            # Nothing can be said of the object while it names that owner, and the graph does not tell when that ends.
            log.debug("cluster_wide_object_names_namespaced_owner", object=str(node.identity))
            return self._later.when(uid)
        if node.is_virtual and self._graph.nodes.get(uid) is node:
            # It is there. One that was made and deleted while a watch was broken is never seen: only this tells of it.
            return self._later.when(uid)
        self._later.forget(uid)
        return None

    async def orphan(self, uid: str) -> None:
        """
        Let the dependents of an owner go, and then the owner.

        :raises SyncError: if some dependents could not be let go
        :raises ClientError: if the owner could not be
        """
        owner = self._graph.nodes.get(uid)
        if owner is None or owner.phase is not Phase.ORPHANING:
            return
        dependents = list(owner.dependents or ())
        failures: list[str] = []

        async def let_go(number: int) -> None:
            identity = dependents[number].identity
            try:
                await self._objects.disown(identity, (uid,))
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
            return  # it goes by itself, and its dependents are looked at when it is gone
        if node.is_waiting:
            await self._end_waiting(node)
            return
        meta = None if node.is_virtual else self._cached(node)
        if meta is not None:
            # The cache saves a request. If it is behind, the version that it has stands against what it leads to.
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
        """The object as the server has it; if it has none, the graph is told."""
        identity = node.identity
        try:
            meta = await self._objects.get(identity)
        except NotFound:
            meta = None
        if meta is None or meta.uid != identity.uid:
            self._graph.absent(identity)
            return None
        return meta

    async def _decide(self, node: Node, meta: HeadMeta, *, is_live: bool = False) -> None:
        # The namespace of a virtual node is a guess, and its owners would be looked for in a wrong one.
        identity = node.identity._replace(namespace=meta.namespace or "")
        owners = [
            (reference.uid, await self._standing(identity, reference)) for reference in meta.owner_references or ()
        ]
        verdict = judge(node, meta.finalizers or (), owners)
        blocks = any(reference.block_owner_deletion for reference in meta.owner_references or ())
        try:
            if isinstance(verdict, Delete) and verdict.unblock and blocks:
                await self._objects.unblock(identity, meta)
                # It is another version now, which somebody may have changed before: all is looked at again.
                if (now := await self._live(node)) is not None:
                    await self._decide(node, now, is_live=True)
            elif isinstance(verdict, Delete):
                await self._delete(identity, verdict, meta, is_live=is_live)
            elif verdict.disown:
                await self._objects.disown(identity, verdict.disown)
        except NotFound:
            self._graph.absent(node.identity)

    async def _delete(self, identity: Identity, verdict: Delete, meta: HeadMeta, *, is_live: bool) -> None:
        version = meta.resource_version
        try:
            await self._objects.delete(identity, verdict.propagation, version)
        except Conflict:
            if not is_live:
                raise
            now = await self._objects.get(identity)
            same = now.uid == identity.uid and now.owner_references == meta.owner_references
            if not same or now.resource_version == version:
                raise
            # It changes all the time, and not in whose it is.
            await self._objects.delete(identity, verdict.propagation)

    async def _standing(self, item: Identity, reference: Reference) -> Standing:
        absents = self._graph.absents
        wanted = Identity(reference.api_version, reference.kind, "", reference.name, reference.uid)
        if wanted in absents or (wanted := wanted._replace(namespace=item.namespace)) in absents:
            return Standing.DANGLING
        kind = await self._objects.kind_of(reference.api_version, reference.kind)
        if not kind.namespaced:
            wanted = wanted._replace(namespace="")
        try:
            owner = await self._objects.get(wanted)
        except NotFound:
            owner = None
        if owner is None or owner.uid != reference.uid:
            absents.add(wanted)
            return Standing.DANGLING
        if owner.deletion_timestamp is not None and FOREGROUND in (owner.finalizers or ()):
            return Standing.WAITING
        return Standing.SOLID

    async def _end_waiting(self, node: Node) -> None:
        """For an owner that waits until its dependents are gone."""
        blocking = node.holding_up()
        if not blocking:
            await self._finish(node, FOREGROUND)
        for dependent in blocking:
            if not dependent.is_waiting:
                self._look_at(dependent)

    async def _finish(self, owner: Node, finalizer: str) -> None:
        """
        :raises Conflict: if somebody changed the owner meanwhile
        """
        meta = await self._live(owner)
        if meta is not None:
            await self._objects.take_finalizer(owner.identity, meta, finalizer)
