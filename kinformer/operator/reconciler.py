"""Reconciler: a controller as a class.

A subclass names its resource and the kinds that it owns. It has one method that brings an object to its desired state::

    class WebAppReconciler(Reconciler[WebApp]):
        name = "webapp"
        owns = (V1Deployment, V1Service)

        async def reconcile(self, obj: WebApp) -> None:
            written = await self.applier.ensure_owned(obj, deployment_for(obj))
            await self.update_status(obj, status_of(written.object))


The class is the factory of its controller. An entry point of the group ``kinformer.controllers`` may name it, or the
command ``kinformer manager --controllers my_package.controller:WebAppReconciler``. The result is a
:class:`~kinformer.manager.Controller` like any other. The class only saves the wiring that such controllers have in
common. A function ``sync(key)`` with some lines of wiring can do the same.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, Unpack, get_args, get_origin, overload

from kinformer.arguments import want, want_function, want_several
from kinformer.cache import ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.controllerutil.applying import Applier
from kinformer.controllerutil.finalizers import Finalizer
from kinformer.controllerutil.writing import update_status_if_changed
from kinformer.manager import Controller, ControllerContext, ControllerOptions, Requeue
from kinformer.manager.predicates import Predicate, annotations_changed, any_of, generation_changed, labels_changed
from kinformer.meta.validation import label_value_errors
from kinformer.models import resource_for
from kinformer.operator.daemons import Daemons
from kinformer.operator.related import Found, Relation
from kinformer.permissions import RECORD_EVENTS, Rule, allow
from kinformer.record import NORMAL, WARNING

if TYPE_CHECKING:
    from kinformer.operator.webhooks import Webhooks

__all__ = ("OptionsOf", "Reconciler")

T = TypeVar("T")
V = TypeVar("V")


# More than 15 fields: half of them are what an author declares, the others what the methods work with.
class Reconciler(ABC, Generic[T]):
    """
    The base class of reconcilers. `T` is the type of the objects: a model or a
    :class:`~kinformer.operator.CustomResource`.

    A subclass may set:

    :cvar name: the name in logs, metrics and Events, and of the field manager
    :cvar owns: the types of the objects that it creates. When one of them changes, its owner is reconciled
    :cvar workers: how many objects are reconciled at a time. If an option decides it, set ``self.workers`` in
        ``__init__``
    :cvar options: its options, which are flags of ``kinformer manager``: ``options = OptionsOf(MyOptions)``
    :cvar webhooks: the webhooks that belong to it; the manager serves them
    :cvar needs: the permissions that it needs beside those that follow from its type, `owns`, and the related objects
        that it declares (:class:`~kinformer.operator.Related`, :class:`~kinformer.operator.Referred`)
    :cvar permissions: all permissions that it needs. If a subclass does not set them, they are made: to follow the
        objects, what it owns and what is related, to write finalizers and the status, to apply what it owns, to record
        Events, and `needs`
    :cvar when: which changes of an object need a reconciliation. By default those of the spec, the labels and the
        annotations, so that its own writes of the status do not count

    Its methods may use:

    :ivar context: the context from the manager
    :ivar client: for requests to the API server
    :ivar objects: the informer of the type. Its ``indexer`` is the cache
    :ivar applier: applies objects under `name`
    :raises TypeError: when a subclass is defined without `name` or the type, or with a `reconcile` that is not
        async
    """

    name: ClassVar[str] = ""
    owns: ClassVar[tuple[type[Any], ...]] = ()
    workers: int = 1
    webhooks: ClassVar[Webhooks | None] = None
    needs: ClassVar[tuple[Rule, ...]] = ()
    permissions: ClassVar[tuple[Rule, ...]] = ()
    when: ClassVar[tuple[Predicate, ...]] = (any_of(generation_changed, labels_changed, annotations_changed),)
    #: The type of the objects: ``WebApp`` for a subclass of ``Reconciler[WebApp]``.
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
        cls._check_attributes()
        if "permissions" not in cls.__dict__:
            related = [relation.type for relation in _declared(cls, Relation).values()]
            cls.permissions = (*_permissions_of(cls.resource_type, cls.owns, related), *cls.needs)

    @classmethod
    def _check_attributes(cls) -> None:
        """
        :raises TypeError: if what the class declares cannot be used
        """
        name = cls.__qualname__
        want(cls.name, not label_value_errors(cls.name), f"{name}.name", "letters, digits, '-', '_' and '.'")
        is_types = isinstance(cls.owns, (tuple, list)) and all(isinstance(owned, type) for owned in cls.owns)
        want(cls.owns, is_types, f"{name}.owns", "a tuple of types, as in owns = (V1Service,)")
        for rules in ("needs", "permissions"):
            want_several(getattr(cls, rules), f"{name}.{rules}", f"a tuple, as in {rules} = (allow('get', 'pods'),)")
        want_several(cls.when, f"{name}.when", "a tuple, as in when = (generation_changed,)")
        is_webhooks = cls.webhooks is None or callable(getattr(cls.webhooks, "validating", None))
        want(cls.webhooks, is_webhooks, f"{name}.webhooks", "a Webhooks, whose functions are registered with it")
        options = vars(cls).get("options")
        want(options, not isinstance(options, type), f"{name}.options", "OptionsOf(…) of this class")
        for method in ("reconcile", "daemon"):
            function = vars(cls).get(method)
            if inspect.isfunction(function):
                if not inspect.iscoroutinefunction(inspect.unwrap(function)):
                    raise TypeError(f"{name}.{method} is not async: want async def {method}(self, obj)")
                want_function(function, 2, f"{name}.{method}", f"async def {method}(self, obj)")

    def __init__(self, context: ControllerContext) -> None:
        self.context = context
        self.client = context.client
        self.objects: SharedIndexInformer[T] = context.informers.informer_for(self.resource_type)
        self.applier = Applier(context.client, self.name, context.informers)
        self._recorder = context.recorder(self.name)
        self._finalizers: dict[str, Finalizer] = {}
        self._daemons: Daemons[T] | None = None
        #: The related objects, by the names under which the class declares them.
        self.related: dict[str, Found[Any]] = {
            name: relation.found(context, self.objects, self.resource_type)
            for name, relation in _declared(type(self), Relation).items()
        }
        for name in _declared(type(self), OptionsOf):
            getattr(self, name)  # a manager refuses options that no controller has read when it is made

    @classmethod
    def make_controller(cls, context: ControllerContext) -> Controller:
        """Create the controller. An entry point of the group ``kinformer.controllers`` may refer to this method."""
        return cls(context).controller()

    def controller(self, **options: Unpack[ControllerOptions]) -> Controller:
        """
        Create the controller of this reconciler.

        Override this to watch more kinds, or to give options: ``return super().controller(sync_timeout=30,
        workers=self.context.option("workers", 5)).watch_mapped(…)``.

        :param options: those of :class:`~kinformer.manager.Controller`
        """
        options.setdefault("workers", self.workers)
        controller = Controller(self.name, self._sync, clock=self.context.clock, **options)
        controller.reconciler = type(self)
        controller.watch(self.objects, *self.when)
        for owned in self.owns:
            controller.watch_owned(self.context.informers.informer_for(owned), self.resource_type)
        for found in self.related.values():
            controller.watch_mapped(found.informer, found.keys_of)
        if type(self).daemon is not Reconciler.daemon:
            self._daemons = Daemons(self.daemon, controller, self.context)
            controller.handle(self.objects, ResourceEventHandlerFuncs(delete=self._daemons.forget))
        return controller

    @abstractmethod
    async def reconcile(self, obj: T) -> Requeue:
        """
        Bring one object to its desired state.

        :param obj: the object from the cache. Do not change it. It may be a little old, and it may be being deleted
        :return: the time (seconds, a timedelta or a :class:`~kinformer.manager.RequeueAfter`) after which to reconcile
            it again; None: when something changes
        """

    async def daemon(self, obj: T) -> None:
        """
        Override this for work that continues while an object exists, for example reading a stream. It runs in one task
        for each object, beside the syncs.

        It starts after the first :meth:`reconcile` that succeeds. It is cancelled when the object is gone, and when the
        controller ends. When the spec has changed or the object is being deleted, it is cancelled before
        :meth:`reconcile` is called, and for a new spec it starts again afterwards. If it raises, the error is logged,
        and it is called again after a wait that grows. If processes share the keys, each process runs the daemons of
        its own namespaces. Do not shard a kind that has no namespaces and has daemons: a daemon would stay in the
        process that started it first.

        :param obj: the object as it was when the task started
        """

    async def deleted(self, key: str) -> None:
        """
        Called when an object is gone. Override this to drop state that is kept in memory.

        Owned objects are deleted by the garbage collector, and other clean-ups need a finalizer.

        :param key: ``namespace/name``, or ``name``
        """

    def event(self, obj: Any, reason: str, message: str, *, warning: bool = False) -> None:
        """
        Record an Event about an object. This returns at once and does not raise.

        :param reason: a word in CamelCase: ``Scaled``
        :param message: a sentence for people
        :param warning: whether the Event has the type ``Warning`` instead of ``Normal``
        """
        self._recorder.event(obj, WARNING if warning else NORMAL, reason, message)

    def finalizer(self, name: str) -> Finalizer:
        """The finalizer of this name, which records an Event when a clean-up fails. Each name has one."""
        return self._finalizers.setdefault(name, Finalizer(name, self.client, self._recorder))

    async def update_status(self, obj: T, status: Any) -> T:
        """Write the status of an object if it differs: see :func:`~kinformer.operator.update_status_if_changed`."""
        return await update_status_if_changed(self.client, obj, status)

    async def run(self) -> None:
        """Run the controller until cancelled. A manager runs :meth:`controller` itself."""
        await self.controller().run()

    async def _sync(self, key: str) -> Requeue:
        obj = self.objects.indexer.get_by_key(key)
        if self._daemons is not None:
            await self._daemons.end_old(key, obj)
        if obj is None:
            await self.deleted(key)
            return None
        after = await self.reconcile(obj)
        if self._daemons is not None:
            self._daemons.ensure(key, obj)
        return after


class OptionsOf(Generic[V]):
    """
    Declares the options of a reconciler: ``options = OptionsOf(MyOptions)``. In its methods, ``self.options`` has their
    values.

    :param type_: a dataclass of :mod:`kinformer.options`
    """

    def __init__(self, type_: type[V]) -> None:
        self._type = type_
        self._name = ""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, reconciler: None, owner: type[Any]) -> type[V]: ...
    @overload
    def __get__(self, reconciler: Reconciler[Any], owner: type[Any]) -> V: ...
    def __get__(self, reconciler: Reconciler[Any] | None, owner: type[Any]) -> Any:
        if reconciler is None:
            return self._type
        # From now on the attribute of the object comes first, and they are not read again.
        values = vars(reconciler)[self._name] = reconciler.context.read(self._type)
        return values


def _declared(cls: type[Any], kind: type[Any]) -> dict[str, Any]:
    """The attributes of a kind that a class and its bases declare, by name."""
    return {
        name: value for base in reversed(cls.__mro__) for name, value in vars(base).items() if isinstance(value, kind)
    }


def _permissions_of(type_: type[Any], owns: Iterable[type[Any]], related: Iterable[type[Any]]) -> Iterator[Rule]:
    """What the methods of :class:`Reconciler` do at the server."""

    def named(kind: type[Any]) -> str:
        return str(resource_for(kind).gvr.group_resource)

    name, *owned = map(named, (type_, *owns))
    yield allow("list watch get patch", name)  # a patch is for finalizers
    # Servers that check who may block the deletion of an owner ask for "update" on its finalizers.
    yield allow("update", f"{name}/status", f"{name}/finalizers")
    if owned:
        yield allow("list watch get create patch", *owned)
    if followed := [other for other in map(named, related) if other not in owned]:
        yield allow("list watch", *followed)
    yield RECORD_EVENTS
