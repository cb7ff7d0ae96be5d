"""Protection: a finalizer that stays on an object while somebody uses the object.

In: the objects of one kind. Out: the finalizer is added to them, and removed from those that are being deleted and are
not used. A controller says what is used (:meth:`Protection.is_used`), and with :class:`FreedHandler` which changes of
the users need a look.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, TypeVar

from kinformer.client.errors import NotFound
from kinformer.controllerutil.finalizers import (
    has_finalizer,
    is_finalizer_due,
    with_finalizers,
    without_finalizers,
)
from kinformer.controllerutil.handlers import ChangeHandler
from kinformer.manager import Controller, ControllerContext

__all__ = ("FreedHandler", "Protection")

T = TypeVar("T")


class Protection(ABC, Generic[T]):
    """
    Syncs the objects of one kind.

    :cvar kind: the kind
    :cvar name: the name of the controller
    :cvar finalizer: the finalizer that keeps an object
    :cvar adds: whether the finalizer is added here. Otherwise, the API server adds it to each new object
    :cvar workers: the number of workers, as in Kubernetes
    """

    kind: ClassVar[type[Any]]
    name: ClassVar[str]
    finalizer: ClassVar[str]
    adds: ClassVar[bool] = True
    workers: ClassVar[int] = 1

    def __init__(self, context: ControllerContext) -> None:
        self._server = context.client.resource(self.kind)
        informer = context.informers.informer_for(self.kind)
        self._cached = informer.indexer
        self.controller = Controller(
            self.name,
            self.sync,
            workers=self.workers,
            queue_name=self.name.replace("-", ""),
            clock=context.clock,
        )
        self.controller.watch(informer, self.needs_a_look)

    @abstractmethod
    async def is_used(self, obj: T) -> bool:
        """
        Whether somebody uses an object that is being deleted.

        :raises ClientError: if the server refuses a request
        """

    def needs_a_look(self, old: Any, new: Any) -> bool:
        """Whether an object lacks the finalizer, or has it and is being deleted."""
        if new is None:
            return False
        return is_finalizer_due(new, self.finalizer) and (self.adds or has_finalizer(new, self.finalizer))

    async def sync(self, key: str) -> None:
        """
        Add the finalizer to an object, or remove it if the object may be deleted.

        :raises ClientError: if the server refuses a request
        """
        obj = self._cached.get_by_key(key)
        if obj is None or not self.needs_a_look(None, obj):
            return
        finalizers = obj.metadata.finalizers or []
        if obj.metadata.deletion_timestamp is None:
            finalizers = [*finalizers, self.finalizer]
        elif await self.is_used(obj):
            return
        else:
            finalizers = without_finalizers(finalizers, self.finalizer)
        try:
            # If the object has changed since it was read, its version differs, and the server refuses the update.
            await self._server.update(with_finalizers(obj, finalizers))
        except NotFound:
            return  # it is gone


class FreedHandler(ChangeHandler):
    """
    An event handler for users. It queues what a user no longer uses.

    :param add: called with the key of each object that is free of this user
    :param uses: the keys of what a user names
    :param is_over: whether a user needs nothing of this any more, although it exists
    :param lets_go: whether a user may name other objects later. What pods name stays the same, so their volumes need
        not be read at each change
    """

    def __init__(
        self,
        add: Callable[[str], object],
        uses: Callable[[Any], Iterable[str]],
        is_over: Callable[[Any], bool] = lambda user: False,
        *,
        lets_go: bool = False,
    ) -> None:
        super().__init__(self._user_changed)
        self._add, self._uses, self._is_over, self._lets_go = add, uses, is_over, lets_go

    def _user_changed(self, old: Any, new: Any) -> None:
        if new is not None and self._is_over(new):
            self._free(self._uses(new))
        if old is None:
            return
        if new is None or old.metadata.uid != new.metadata.uid:
            # Perhaps it was deleted and created again, and the watch did not show the deletion. What both name is
            # queued, too: the claim of an ephemeral volume is kept only by its own pod, not by a later one of the same
            # name.
            self._free(self._uses(old))
        elif self._lets_go:
            self._free(set(self._uses(old)).difference(self._uses(new)))

    def _free(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._add(key)
