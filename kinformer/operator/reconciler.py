"""Reconciler: a controller as a class, for those who think of it as one.

A subclass names its resource and what it owns, and has one method that brings one object to where it should be::

    class WebAppReconciler(Reconciler[WebApp]):
        name = "webapp"
        owns = (V1Deployment, V1Service)

        async def reconcile(self, obj: WebApp) -> None:
            written = await self.applier.ensure_owned(obj, deployment_for(obj))
            await self.update_status(obj, status_of(written.object))


    make_controller = WebAppReconciler.make_controller

What comes out is a :class:`~kinformer.manager.Controller` like any other. The class adds the wiring that such
controllers have in common, and nothing that a function ``sync(key)`` with some lines of wiring could not do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from kinformer.cache import SharedIndexInformer
from kinformer.manager import Controller, ControllerContext
from kinformer.manager.predicates import Predicate, annotations_changed, any_of, generation_changed, labels_changed
from kinformer.operator.applying import Applier
from kinformer.operator.finalizers import Finalizer
from kinformer.operator.status import update_status_if_changed
from kinformer.record import NORMAL, WARNING

__all__ = ("Reconciler",)

T = TypeVar("T")


class Reconciler(ABC, Generic[T]):
    """
    The base of reconcilers of objects of type `T`, a model or a :class:`~kinformer.operator.CustomResource`.

    What a subclass may set:

    :cvar name: what log lines, metrics, Events and the field manager call it
    :cvar owns: the types of the objects that it makes: a change of one wakes its owner
    :cvar workers: how many objects are reconciled at once
    :cvar when: which changes of an object wake it. By default those of the spec, the labels and the annotations: so it
        does not hear of its own status writes

    What a method may use:

    :ivar context: what the manager gave
    :ivar client: the server
    :ivar objects: the informer of the type, whose ``indexer`` is the cache
    :ivar applier: applies and owns objects, under the name
    :raises TypeError: when a subclass is defined without `name`, or without the type
    """

    name: ClassVar[str] = ""
    owns: ClassVar[tuple[type[Any], ...]] = ()
    workers: ClassVar[int] = 1
    when: ClassVar[tuple[Predicate, ...]] = (any_of(generation_changed, labels_changed, annotations_changed),)
    #: The type of the objects, as the subclass names it: ``Reconciler[WebApp]``.
    resource_type: ClassVar[Any]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for base in getattr(cls, "__orig_bases__", ()):
            if isinstance(origin := get_origin(base), type) and issubclass(origin, Reconciler):
                (cls.resource_type,) = get_args(base)
        if not isinstance(getattr(cls, "resource_type", None), type):
            raise TypeError(f"{cls.__qualname__} does not say what it reconciles: want Reconciler[SomeType]")
        if not cls.name:
            raise TypeError(f"{cls.__qualname__} has no name: want a class attribute such as name = 'webapp'")

    def __init__(self, context: ControllerContext) -> None:
        self.context = context
        self.client = context.client
        self.objects: SharedIndexInformer[T] = context.informers.informer_for(self.resource_type)
        self.applier = Applier(context.client, self.name, context.informers)
        self._recorder = context.recorder(self.name)

    @classmethod
    def make_controller(cls, context: ControllerContext) -> Controller:
        """The controller: what an entry point of the group ``kinformer.controllers`` names."""
        return cls(context).controller()

    def controller(self) -> Controller:
        """
        The controller of this reconciler. Override it to watch more: ``return super().controller().watch_mapped(…)``.
        """
        controller = Controller(self.name, self._sync, workers=self.workers, clock=self.context.clock)
        controller.watch(self.objects, *self.when)
        for owned in self.owns:
            controller.watch_owned(self.context.informers.informer_for(owned), self.resource_type)
        return controller

    @abstractmethod
    async def reconcile(self, obj: T) -> float | timedelta | None:
        """
        Bring one object to where it should be.

        :param obj: as the cache has it, perhaps being deleted: not to be changed, and perhaps a little behind
        :return: after how long to look again; None: when something changes
        """

    async def deleted(self, key: str) -> None:
        """
        An object is gone. It is not needed for what has owner references, or a finalizer: for what is in memory only.

        :param key: ``namespace/name``, or ``name``
        """

    def event(self, obj: Any, reason: str, message: str, *, warning: bool = False) -> None:
        """
        Record an Event about an object. Returns at once and raises nothing.

        :param reason: a word in CamelCase: ``Scaled``
        :param message: a sentence for people
        """
        self._recorder.event(obj, WARNING if warning else NORMAL, reason, message)

    def finalizer(self, name: str) -> Finalizer:
        """A finalizer whose clean-ups are told of by Events if they fail."""
        return Finalizer(name, self.client, self._recorder)

    async def update_status(self, obj: T, status: Any) -> T:
        """Write the status of an object if it differs: see :func:`~kinformer.operator.update_status_if_changed`."""
        return await update_status_if_changed(self.client, obj, status)

    async def _sync(self, key: str) -> float | timedelta | None:
        obj = self.objects.indexer.get_by_key(key)
        if obj is None:
            await self.deleted(key)
            return None
        return await self.reconcile(obj)
