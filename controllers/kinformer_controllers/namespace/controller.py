"""The namespace controller: deletes the content of a namespace that is being deleted, and then removes its finalizer.

It is kube-controller-manager's controller. It begins five seconds after the deletion, when every API server refuses new
objects in the namespace, and repeats until nothing is left. The namespace's conditions say what is left.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from kinformer.cache import ResourceEventHandlerFuncs
from kinformer.client import Conflict, NotFound
from kinformer.client.errors import ClientError
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext, SyncError
from kinformer.models import V1Namespace, V1NamespaceStatus
from kinformer.workqueue import BucketRateLimiter, ItemExponentialFailureRateLimiter, MaxOfRateLimiter
from kinformer_controllers.namespace.conditions import Findings, conditions_of, updated
from kinformer_controllers.namespace.emptying import Emptier
from kinformer_controllers.namespace.spec import NamespaceOptions

__all__ = ("NamespaceController",)

log = get_logger(__name__)

NAME: Final = "namespace-controller"

#: The finalizer of this controller in a namespace's spec.
_FINALIZER: Final = "kubernetes"

#: Seconds after which all API servers know of a deletion, and objects that were created just before it are visible.
_GRACE: Final = 5.0

#: The most seconds to wait for pods. Their grace may be 292 years, and they may go sooner.
_LONGEST_WAIT: Final = 3600.0

_Change = Callable[[V1Namespace], Awaitable[V1Namespace]]


class NamespaceController:
    """Syncs namespaces that are being deleted."""

    def __init__(self, context: ControllerContext) -> None:
        options = context.read(NamespaceOptions)
        self._clock = context.clock
        self._resync_period = options.namespace_sync_period
        self._namespaces = context.client.resource(V1Namespace)
        self._finalize = self._namespaces.subresource("finalize", V1Namespace)
        self._emptier = Emptier(context.client, clock=self._clock)
        informer = context.informers.informer_for(V1Namespace)
        self._known = informer.indexer
        # Namespaces are few, and users wait for them, so the delay is never longer than a minute.
        limiter = MaxOfRateLimiter[str](
            ItemExponentialFailureRateLimiter(0.005, 60.0), BucketRateLimiter(10.0, 100, self._clock)
        )
        self.controller = Controller(
            NAME,
            self.sync,
            workers=options.concurrent_namespace_syncs,
            queue_name="namespace",
            limiter=limiter,
            clock=self._clock,
        )
        self.controller.handle(
            informer, ResourceEventHandlerFuncs(add=self._seen, update=lambda old, new: self._seen(new))
        )

    def _seen(self, namespace: V1Namespace) -> None:
        """Queue a namespace that is being deleted, after a delay."""
        if namespace.metadata.deletion_timestamp is not None:
            self.controller.queue.add_after(namespace.metadata.name, _GRACE)

    async def sync(self, key: str) -> float | None:
        """
        Delete the content of a namespace that is being deleted. When nothing is left, remove the finalizer.

        :return: seconds until the next check, if deleted objects are not gone yet or another finalizer is left
        :raises SyncError: if some objects could not be deleted
        """
        if self._known.get_by_key(key) is None:
            return None
        try:
            # It is read from the server, because several clients may write to it while it is being deleted.
            namespace = await self._namespaces.get(key)
            if namespace.metadata.deletion_timestamp is None:
                return None
            namespace = await self._written(namespace, self._mark_terminating)
            if namespace.metadata.deletion_timestamp is None or not (namespace.spec and namespace.spec.finalizers):
                return None
            emptied = await self._emptier.empty(key, namespace.metadata.deletion_timestamp)
            await self._tell(namespace, emptied.findings)
            if emptied.errors:
                texts = ", ".join(emptied.errors)
                raise SyncError(f"[{texts}]" if len(emptied.errors) > 1 else texts)
            if emptied.seconds:
                return min(float(emptied.seconds // 2 + 1), _LONGEST_WAIT)
            namespace = await self._written(namespace, self._let_go)
        except NotFound:
            return None
        # Another finalizer is left. Its controller may still create objects in the namespace.
        return self._resync_period if namespace.spec and namespace.spec.finalizers and self._resync_period else None

    async def _written(self, namespace: V1Namespace, change: _Change) -> V1Namespace:
        """
        Apply a change to a namespace. After a conflict, it is applied to the latest version.

        :raises NotFound: if the namespace is gone
        :raises SyncError: if the name now belongs to another namespace
        """
        while True:
            try:
                return await change(namespace)
            except Conflict:
                latest = await self._namespaces.get(namespace.metadata.name)
                if latest.metadata.uid != namespace.metadata.uid:
                    raise SyncError("namespace uid has changed across retries") from None
                namespace = latest

    async def _mark_terminating(self, namespace: V1Namespace) -> V1Namespace:
        status = namespace.status
        if namespace.metadata.deletion_timestamp is None or (status is not None and status.phase == "Terminating"):
            return namespace
        return await self._namespaces.update_status(_with_status(namespace, phase="Terminating"))

    async def _let_go(self, namespace: V1Namespace) -> V1Namespace:
        spec = namespace.spec
        if _FINALIZER not in ((spec.finalizers if spec is not None else None) or ()):
            return namespace
        kept = sorted({one for one in (spec.finalizers if spec is not None else None) or () if one != _FINALIZER})
        changed = msgspec.structs.replace(namespace, spec=msgspec.structs.replace(spec, finalizers=kept))
        return await self._finalize.update(namespace.metadata.name, changed)

    async def _tell(self, namespace: V1Namespace, found: Findings) -> None:
        status = namespace.status
        conditions = updated(
            (status.conditions if status is not None else None) or (), conditions_of(found), self._clock.now()
        )
        if conditions is None:
            return
        try:
            await self._namespaces.update_status(_with_status(namespace, conditions=conditions))
        except ClientError as error:
            # The next sync writes them. Deleting the content does not depend on them.
            log.warning("namespace_conditions_not_written", namespace=namespace.metadata.name, error=str(error))


def _with_status(namespace: V1Namespace, **fields: Any) -> V1Namespace:
    status = namespace.status if namespace.status is not None else V1NamespaceStatus()
    return msgspec.structs.replace(namespace, status=msgspec.structs.replace(status, **fields))
