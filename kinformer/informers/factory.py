"""SharedInformerFactory: one informer for each resource, whoever asks for it.

Controllers of one process ask the factory for the informers and listers that they need, add their handlers, and then
have the factory run them all. So a hundred controllers that look at pods cost one watch of pods, and one copy of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, TypeVar, cast

import anyio
from anyio.abc import TaskGroup

from kinformer.cache import (
    NAMESPACE_INDEX,
    Indexers,
    ListWatch,
    SharedIndexInformer,
    TransformFunc,
    wait_for_cache_sync,
)
from kinformer.cache.division import Division
from kinformer.cache.index import namespace_index_func
from kinformer.cache.listwatch import ListerWatcher, WatchableResource
from kinformer.cache.tasks import sole_error
from kinformer.client import Client, ListOptions
from kinformer.clock import Clock, RealClock
from kinformer.informers.borrowed import Borrowed, Running
from kinformer.informers.lister import Lister
from kinformer.informers.selection import EVERYTHING, Namespaces, Selection, by_namespace
from kinformer.meta import GroupVersionResource, accessor_for
from kinformer.models import PartialObjectMetadata, builtin_resources, resource_for

__all__ = ("InformerTypeConflict", "Selection", "SharedInformerFactory")

T = TypeVar("T")


class InformerTypeConflict(TypeError):
    """Somebody asked for a resource's informer with one type of object, and somebody else with another."""

    def __init__(self, gvr: GroupVersionResource, had: type, asked: type):
        super().__init__(
            f"the informer of {gvr} has objects of type {had.__qualname__}; "
            f"it cannot have {asked.__qualname__} as well: let both ask for the same type"
        )


class SharedInformerFactory:
    """
    Makes informers, each once, and runs them.

    ::

        async with connect() as client, SharedInformerFactory(client) as informers:
            pods = informers.informer_for(V1Pod)
            pods.add_event_handler(ResourceEventHandlerFuncs(add=print))
            informers.start()
            await informers.wait_for_cache_sync()

    An exception of the body, or of an informer, leaves the ``async with`` as it is.

    :param namespace: only the objects of this namespace; kinds that belong to none are had whole
    :param namespaces: only the objects of these namespaces, each with a list and a watch of its own, in one copy. A
        mapping has selectors for each of them: ``{"default": Selection(), "web": Selection(label_selector="app=web")}``
    :param label_selector: only objects that it matches, of every kind
    :param field_selector: only objects that it matches, of every kind
    :param resync_period: seconds between resyncs of handlers that do not ask for another; 0 for never
    :param custom_resync: the same for single types
    :param transform: is given every object of every kind before it is stored
    :param by_type: other selections for single types: ``{V1Secret: Selection(label_selector="app=web")}``
    :param informer_options: further parameters for every :class:`~kinformer.cache.SharedIndexInformer`
    :raises ValueError: if a selector cannot be parsed, or if the namespaces make no sense
    """

    def __init__(
        self,
        client: Client,
        *,
        namespace: str = "",
        namespaces: Namespaces | None = None,
        label_selector: str = "",
        field_selector: str = "",
        resync_period: float = 0.0,
        custom_resync: Mapping[type, float] | None = None,
        transform: TransformFunc[Any] | None = None,
        by_type: Mapping[type, Selection] | None = None,
        informer_options: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
    ):
        ListOptions(label_selector=label_selector, field_selector=field_selector)  # refuses what cannot be parsed
        self._client = client
        self._namespaces = by_namespace(namespace, namespaces) or {"": EVERYTHING}
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._resync_period = resync_period
        self._custom_resync = dict(custom_resync or {})
        self._transform = transform
        self._by_type = dict(by_type or {})
        self._informer_options = dict(informer_options or {})
        self._clock = clock or RealClock()
        self._informers: dict[GroupVersionResource, SharedIndexInformer[Any]] = {}
        #: Second informers of a resource, by what they are called.
        self._views: dict[tuple[GroupVersionResource, str], SharedIndexInformer[Any]] = {}
        self._running: dict[SharedIndexInformer[Any], Running] = {}
        self._borrowed: dict[tuple[type[Any], GroupVersionResource], Running] = {}
        self._tasks: TaskGroup | None = None
        self._shut_down = anyio.Event()
        self._holds_handlers = False
        self._division: Division | None = None

    # --- asking

    def informer_for(
        self,
        type_: type[T],
        resource: GroupVersionResource | tuple[str, str, str] | type[Any] | None = None,
        *,
        namespaced: bool = True,
        kind: str = "",
        indexers: Indexers[T] | None = None,
        view: str = "",
        selection: Selection = EVERYTHING,
    ) -> SharedIndexInformer[T]:
        """
        The informer of a resource, made if nobody asked for it before. It has the index by namespace.

        All who ask share one informer, and so have objects of one type. Who needs others asks for a view: a second
        informer of the same resource, with a watch and a copy of its own, shared by all who ask for that view.

        :param type_: what its objects are: a model, a Struct with the fields that are wanted, or dict
        :param resource: group, version and plural, or a model of the same resource; not needed when `type_` is a model
        :param namespaced: whether a custom resource's objects belong to namespaces; what has a model is known
        :param kind: a custom resource's kind: dicts of another kind that come along are left out
        :param indexers: index functions to add, by name; those that are there already are left as they are
        :param view: what the second informer is called, in the log and in metrics; empty for the one that is shared
        :param selection: which objects a view holds
        :raises InformerTypeConflict: if the informer is there already, with objects of another type
        :raises LookupError: if it is not known where objects of that type are served
        :raises ValueError: if a selection is given without a view: `by_type` is for those that are shared
        """
        if selection is not EVERYTHING and not view:
            raise ValueError("a selection is for a view: give it a name, or use the factory's by_type")
        if isinstance(resource, tuple):
            gvr = GroupVersionResource(*resource)
            namespaced = next(
                (known.namespaced for known in builtin_resources().values() if known.gvr == gvr), namespaced
            )
        else:
            info = resource_for(resource or type_)
            gvr, namespaced, kind = info.gvr, info.namespaced, info.kind
        informer = self._views.get((gvr, view)) if view else self._informers.get(gvr)
        if informer is None:
            chosen = selection if view else self._by_type.get(type_, EVERYTHING)
            informer = self._make(type_, gvr, namespaced, kind, chosen, view)
            if view:
                self._views[gvr, view] = informer
            else:
                self._informers[gvr] = informer
            if self._holds_handlers:
                informer.hold_handlers()
        elif informer.type is not type_:
            raise InformerTypeConflict(gvr, informer.type, type_)
        if indexers:
            _add_missing(informer, indexers)
        return cast("SharedIndexInformer[T]", informer)

    def metadata_informer_for(
        self, resource: GroupVersionResource | tuple[str, str, str] | type[Any], *, namespaced: bool = True
    ) -> SharedIndexInformer[PartialObjectMetadata]:
        """
        An informer of a resource's metadata only, which is all that the server then sends.

        :raises InformerTypeConflict: if there is an informer with the resource's whole objects already
        """
        return self.informer_for(PartialObjectMetadata, resource, namespaced=namespaced)

    def borrow(
        self,
        type_: type[T],
        gvr: GroupVersionResource,
        *,
        namespaced: bool = True,
        will_do: Callable[[type[Any]], bool] = lambda _: True,
        indexers: Callable[[type[Any]], Indexers[Any]] = lambda _: {},
        transform: TransformFunc[T] | None = None,
    ) -> Borrowed:
        """
        An informer of a resource's metadata for as long as it is needed, shared with all others who need it.

        That is the one that :meth:`informer_for` gave, if its objects will do, and this factory leaves out none by a
        selector. Otherwise one is made, which ends when the last who borrowed it has given it back.

        :param type_: what the objects of one that is made are, if there is none that will do: a Struct with metadata
        :param will_do: whether objects of another type will do
        :param indexers: the index functions that are needed, for objects of a type
        :param transform: is given each object of one that is made, before it is stored
        :raises RuntimeError: if the factory does not run, or was shut down
        """
        self.start()
        known = self._informers.get(gvr)
        narrowed = any(it is not EVERYTHING for it in self._namespaces.values())
        everywhere = self._label_selector or self._field_selector or self._transform or self._division or narrowed
        leaves_out = everywhere or (known is not None and known.type in self._by_type)
        if known is not None and not known.is_stopped and not leaves_out and will_do(known.type):
            _add_missing(known, indexers(known.type))
            return Borrowed(known, lambda: None)
        running = self._borrowed.get((type_, gvr))
        if running is None or running.informer.is_stopped:
            running = Running(self._make_borrowed(type_, gvr, namespaced, transform))
            self._borrowed[type_, gvr] = running
            assert self._tasks is not None, "start() has seen to it"
            self._tasks.start_soon(running.run, name=f"informer {running.informer.name}")
        _add_missing(running.informer, indexers(type_))
        running.borrowers += 1

        def give_back() -> None:
            running.borrowers -= 1
            if not running.borrowers:
                running.scope.cancel()
                if self._borrowed.get((type_, gvr)) is running:
                    del self._borrowed[type_, gvr]

        return Borrowed(running.informer, give_back)

    def lister(
        self,
        type_: type[T],
        resource: GroupVersionResource | tuple[str, str, str] | type[Any] | None = None,
        *,
        namespaced: bool = True,
    ) -> Lister[T]:
        """
        A lister over the informer that :meth:`informer_for` gives for the same arguments.

        :raises InformerTypeConflict: as :meth:`informer_for`
        :raises LookupError: as :meth:`informer_for`
        """
        informer = self.informer_for(type_, resource, namespaced=namespaced)
        gvr = next(gvr for gvr, known in self._informers.items() if known is informer)
        return Lister(informer.indexer, accessor_for(type_), gvr.group_resource)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces whose objects are had; none for those of all."""
        return tuple(filter(None, self._namespaces))

    @property
    def informers(self) -> Mapping[GroupVersionResource, SharedIndexInformer[Any]]:
        """Every informer that was asked for, by its resource; views are apart."""
        return dict(self._informers)

    @property
    def views(self) -> Mapping[tuple[GroupVersionResource, str], SharedIndexInformer[Any]]:
        """Every view that was asked for, by its resource and its name."""
        return dict(self._views)

    def _all(self) -> list[SharedIndexInformer[Any]]:
        return [*self._informers.values(), *self._views.values()]

    def _make(
        self,
        type_: type[T],
        gvr: GroupVersionResource,
        namespaced: bool,
        kind: str,
        selection: Selection,
        view: str,
    ) -> SharedIndexInformer[T]:
        accessor = accessor_for(type_)
        served = self._client.resource(
            type_,
            gvr,
            namespaced=namespaced,
            kind=kind,
            metadata_only=type_ is PartialObjectMetadata,
            drop_managed_fields=not self._informer_options.get("keep_managed_fields", False),
        )
        sources: dict[str, ListerWatcher[T]] = self._list_watches(served, selection, namespaced=namespaced)
        if self._division is not None:
            narrowed = self._division.narrowed
            sources = {name: narrowed(source, type_, namespaced=namespaced) for name, source in sources.items()}
        informer = SharedIndexInformer(
            sources,
            type_,
            name=f"{gvr.group_resource} ({view})" if view else str(gvr.group_resource),
            indexers={NAMESPACE_INDEX: namespace_index_func(accessor)},
            resync_period=self._custom_resync.get(type_, self._resync_period),
            transform=selection.transform or self._transform,
            expected_kind=kind,
            resource=gvr,
            clock=self._clock,
            **self._informer_options,
        )
        if self._division is not None:
            informer.key_gate = self._division.gate
            self._division.add_informer(informer)
        return informer

    def _list_watches(
        self, served: WatchableResource[T], selection: Selection, *, namespaced: bool
    ) -> dict[str, ListerWatcher[T]]:
        """One for each namespace that is held, or one for all."""
        namespaces = by_namespace(selection.namespace, selection.namespaces) or self._namespaces
        return {
            namespace: ListWatch(
                served,
                namespace,
                _all_of(self._label_selector, selection.label_selector, there.label_selector),
                _all_of(self._field_selector, selection.field_selector, there.field_selector),
            )
            for namespace, there in (namespaces if namespaced else {"": EVERYTHING}).items()
        }

    def _make_borrowed(
        self, type_: type[T], gvr: GroupVersionResource, namespaced: bool, transform: TransformFunc[T] | None
    ) -> SharedIndexInformer[T]:
        resource = self._client.resource(
            type_,
            gvr,
            namespaced=namespaced,
            metadata_only=True,
            drop_managed_fields=not self._informer_options.get("keep_managed_fields", False),
        )
        namespaces = self._namespaces if namespaced else ("",)
        return SharedIndexInformer(
            {namespace: ListWatch(resource, namespace) for namespace in namespaces},
            type_,
            name=f"{gvr.group_resource} (metadata)",
            transform=transform,
            clock=self._clock,
            **self._informer_options,
        )

    # --- running

    async def __aenter__(self) -> SharedInformerFactory:
        if self._tasks is not None:
            raise RuntimeError("the informer factory runs already")
        self._check_not_shut_down()
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        tasks, self._tasks = self._tasks, None
        self._shut_down.set()
        assert tasks is not None
        tasks.cancel_scope.cancel()
        try:
            return await tasks.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            # Who uses the factory need not know that there are tasks: `except NotFound` around it is to find one.
            alone = sole_error(group)
            if alone is group:
                raise
            if alone is error:
                return False
            raise alone from alone.__cause__

    def start(self) -> None:
        """
        Start every informer that was asked for and does not run yet.

        Whoever asks for another one while the factory runs calls this again.

        :raises RuntimeError: if the factory itself does not run: use it in ``async with``, or :meth:`run` it; or if it
            was shut down
        """
        self._check_not_shut_down()
        if self._tasks is None:
            raise RuntimeError("the informer factory does not run: use it in `async with`, or run() it")
        for informer in self._all():
            if informer not in self._running:
                running = self._running[informer] = Running(informer)
                self._tasks.start_soon(running.run, name=f"informer {informer.name}")

    async def stop(self, informer: SharedIndexInformer[Any]) -> None:
        """
        End one informer while the others go on, and return once it has ended.

        Its handlers are told nothing more, and its copy stays as it is. Who asks for its resource again gets a new one.

        :raises ValueError: if it is none of this factory's
        """
        if informer not in self._all():
            raise ValueError(f"informer {informer.name} is none of this factory's")
        self._informers = {gvr: known for gvr, known in self._informers.items() if known is not informer}
        self._views = {name: known for name, known in self._views.items() if known is not informer}
        running = self._running.pop(informer, None)
        if running is not None:
            running.scope.cancel()
            await running.ended.wait()

    def divide(self, division: Division) -> None:
        """
        Have informers hold only what belongs to this process, of several that share the objects out between them.

        :raises RuntimeError: if an informer was asked for already
        """
        if self._informers:
            raise RuntimeError("the factory has informers that hold everything: divide() it before any is asked for")
        self._division = division

    def hold_handlers(self) -> None:
        """
        Tell handlers that are added from now on, to whichever informer, nothing until :meth:`release_handlers`.

        The informers themselves follow the server: that is a process that stands by for another one.
        """
        self._holds_handlers = True
        for informer in self._all():
            informer.hold_handlers()

    def release_handlers(self) -> None:
        """Tell the handlers that were held of everything that is there, without asking the server again."""
        self._holds_handlers = False
        for informer in self._all():
            informer.release_handlers()

    async def run(self) -> None:
        """Run, and start what was asked for, until cancelled or shut down; then wait until every informer has ended."""
        async with self:
            self.start()
            await self._shut_down.wait()

    async def wait_for_cache_sync(self, timeout: float | None = None) -> None:
        """
        Wait until every informer that was started has synced.

        :param timeout: seconds after which to give up; None for never
        :raises CacheNotSynced: names those that had not synced when the time was up
        :raises InformerStateError: if one of them stopped before it had synced
        """
        await wait_for_cache_sync(*self._running, timeout=timeout, clock=self._clock)

    async def shutdown(self) -> None:
        """
        End every informer, and return once all have ended. They cannot be started again, nor can others.

        Whoever waits for one to sync gets an InformerStateError.
        """
        self._shut_down.set()
        every = [*self._running.values(), *self._borrowed.values()]
        for running in every:
            running.scope.cancel()
        for running in every:
            await running.ended.wait()

    def _check_not_shut_down(self) -> None:
        if self._shut_down.is_set():
            raise RuntimeError("the informer factory was shut down: make a new one")


def _all_of(*selectors: str) -> str:
    """A selector that selects what all of them do."""
    return ",".join(filter(None, selectors))


def _add_missing(informer: SharedIndexInformer[Any], indexers: Indexers[Any]) -> None:
    there = informer.indexer.get_indexers()
    if missing := {name: func for name, func in indexers.items() if name not in there}:
        informer.add_indexers(missing)
