"""SharedInformerFactory: one informer for each resource, shared by all who ask for it.

The controllers of a process ask the factory for the informers and listers that they need, and add their handlers. Then
the factory runs all informers. So a hundred controllers that read pods cost one watch and one cache of pods.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, TypeVar, cast

import anyio
from anyio.abc import TaskGroup

from kinformer.arguments import want, want_client, want_seconds
from kinformer.cache import (
    NAMESPACE_INDEX,
    Indexers,
    InformerOptions,
    ListWatch,
    SharedIndexInformer,
    TransformFunc,
    wait_for_cache_sync,
)
from kinformer.cache.division import Division
from kinformer.cache.index import namespace_index_func
from kinformer.cache.listwatch import ListerWatcher, WatchableResource
from kinformer.cache.options import DEFAULT_OPTIONS, check_options
from kinformer.client import Client, ListOptions
from kinformer.clock import Clock, RealClock
from kinformer.informers.borrowed import Borrowed, Running
from kinformer.informers.lister import Lister
from kinformer.informers.selection import EVERYTHING, Namespaces, Selection, by_namespace, check_transform
from kinformer.informers.snapshot import Snapshot, SnapshotKeeper
from kinformer.meta import GroupVersionResource, accessor_for
from kinformer.meta.accessor import plain_type
from kinformer.models import PartialObjectMetadata, builtin_resources, resource_for
from kinformer.tasks import check_loop, sole_error

__all__ = ("InformerTypeConflict", "Selection", "SharedInformerFactory")

T = TypeVar("T")


class InformerTypeConflict(TypeError):
    """A resource's informer was requested with two different types of objects."""

    def __init__(self, gvr: GroupVersionResource, had: type, asked: type):
        same = f"informer_for({had.__qualname__}) here"
        if had is PartialObjectMetadata:
            same = f"metadata_informer_for({asked.__qualname__}) here, or whole objects elsewhere (no metadata=True)"
        super().__init__(
            f"the informer of {gvr.group_resource} has objects of type {had.__qualname__}; it cannot have "
            f"{asked.__qualname__} as well: want {same}, or a second informer with view='NAME'"
        )


# More than 15 fields: most are settings that a user gives for all informers.
class SharedInformerFactory:
    """
    Makes informers, each once, and runs them.

    ::

        async with connect() as client, SharedInformerFactory(client) as informers:
            pods = informers.informer_for(V1Pod)
            pods.add_event_handler(ResourceEventHandlerFuncs(add=print))
            informers.start()
            await informers.wait_for_cache_sync()

    An exception of the body, or of an informer, is raised out of the ``async with`` unchanged.

    :param namespace: only objects of this namespace; kinds without namespaces are cached completely
    :param namespaces: only objects of these namespaces, each with its own list and watch, in one cache. A mapping has
        selectors for each of them: ``{"default": Selection(), "web": Selection(label_selector="app=web")}``
    :param label_selector: for every kind, only objects that it matches
    :param field_selector: for every kind, only objects that it matches
    :param resync_period: seconds between resyncs, for handlers that do not ask for another period; 0 for never
    :param custom_resync: the same for single types
    :param transform: called with every object of every kind before it is stored; the object that it returns is stored
    :param by_type: other selections for single types: ``{V1Secret: Selection(label_selector="app=web")}``
    :param informer_options: how every informer follows the server
    :param snapshot: a file in which the caches are kept, so that the next process need not list: its path, or a
        :class:`Snapshot`
    :raises ValueError: if a selector cannot be parsed, or the namespaces are invalid
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
        informer_options: InformerOptions = DEFAULT_OPTIONS,
        snapshot: Snapshot | str | os.PathLike[str] | None = None,
        clock: Clock | None = None,
    ):
        ListOptions(label_selector=label_selector, field_selector=field_selector)  # raises if one cannot be parsed
        check_options(informer_options)
        want_client(client, "the client of an informer factory")
        for period in (resync_period, *(custom_resync or {}).values()):
            want_seconds(period, "the resync period")
        check_transform(transform)
        for selection in (by_type or {}).values():
            want(
                selection, isinstance(selection, Selection), "a value of by_type", "Selection(label_selector='app=web')"
            )
        for type_ in (*(custom_resync or {}), *(by_type or {})):
            want(type_, isinstance(type_, type), "a key of by_type or custom_resync", "a type, as in {V1Pod: …}")
        #: The client that the informers list and watch with.
        self.client = client
        self._namespaces = by_namespace(namespace, namespaces) or {"": EVERYTHING}
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._resync_period = resync_period
        self._custom_resync = dict(custom_resync or {})
        self._transform = transform
        self._by_type = dict(by_type or {})
        self._informer_options = informer_options
        self._clock = clock or RealClock()
        self._informers: dict[GroupVersionResource, SharedIndexInformer[Any]] = {}
        #: Further informers of a resource, by the names of their views.
        self._views: dict[tuple[GroupVersionResource, str], SharedIndexInformer[Any]] = {}
        self._running: dict[SharedIndexInformer[Any], Running] = {}
        self._borrowed: dict[tuple[type[Any], GroupVersionResource], Running] = {}
        self._tasks: TaskGroup | None = None
        self._shut_down = anyio.Event()
        self._holds_handlers = False
        self._division: Division | None = None
        if isinstance(snapshot, str | os.PathLike):
            snapshot = Snapshot(path=snapshot)
        is_right = snapshot is None or isinstance(snapshot, Snapshot)
        want(snapshot, is_right, "the snapshot of an informer factory", "the path of a file, or Snapshot(path=…)")
        self._keeper = None if snapshot is None else SnapshotKeeper(snapshot, client, self._clock)

    # --- getting informers

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
        The informer of a resource. It is made at the first request. It has an index by namespace.

        All callers share one informer, so its objects have one type. If you need other objects, ask for a view. This is
        another informer of the same resource, with its own watch and cache, shared by all who ask for that view.

        :param type_: the type of the objects: a model, a Struct with the fields that are needed, or dict
        :param resource: group, version and plural, or a model of the same resource; not needed if `type_` is a model
        :param namespaced: for custom resources: whether the objects belong to namespaces. It is known for models.
        :param kind: for custom resources: the kind; dicts of another kind are left out
        :param indexers: index functions to add, by name; existing ones of the same name are kept
        :param view: the name of a view, also used in logs and metrics; empty for the shared informer
        :param selection: the objects that a view holds
        :raises InformerTypeConflict: if the informer exists already, with objects of another type
        :raises LookupError: if the resource of the type is not known
        :raises ValueError: if a selection is given without a view; use `by_type` for shared informers
        """
        if selection is not EVERYTHING and not view:
            raise ValueError("a selection needs a view: name one, or use the factory's by_type")
        type_ = plain_type(type_)
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
        An informer of a resource's metadata only. The server then sends nothing else.

        :raises InformerTypeConflict: if there is already an informer with the resource's whole objects
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
        Borrow an informer of a resource's metadata. All borrowers share it, and it ends when it is not needed any more.

        If :meth:`informer_for` has given an informer of this resource, that one is used, provided that its objects are
        suitable and no selector of this factory leaves objects out. Otherwise an informer is made, which ends when its
        last borrower has given it back.

        :param type_: the type of the objects if an informer is made: a Struct with metadata
        :param will_do: whether objects of another type are suitable
        :param indexers: the index functions that are needed, for objects of a type
        :param transform: for an informer that is made: called with each object before it is stored
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
        return Lister(informer, gvr.group_resource)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces whose objects are had; none for those of all."""
        return tuple(filter(None, self._namespaces))

    @property
    def informers(self) -> Mapping[GroupVersionResource, SharedIndexInformer[Any]]:
        """Every informer that was requested, by its resource, without views."""
        return dict(self._informers)

    @property
    def views(self) -> Mapping[tuple[GroupVersionResource, str], SharedIndexInformer[Any]]:
        """Every view that was requested, by its resource and its name."""
        return dict(self._views)

    @property
    def every(self) -> list[SharedIndexInformer[Any]]:
        """Every informer that was requested, with views, and with borrowed ones."""
        return [*self._all(), *(running.informer for running in self._borrowed.values())]

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
        served = self.client.resource(
            type_,
            gvr,
            namespaced=namespaced,
            kind=kind,
            metadata_only=type_ is PartialObjectMetadata,
            drop_managed_fields=not self._informer_options.keep_managed_fields,
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
            options=self._informer_options,
            clock=self._clock,
        )
        if self._keeper is not None:
            informer.state_source = self._keeper.state_for
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
                lists_at_once=self._asks_at_once(),
            )
            for namespace, there in (namespaces if namespaced else {"": EVERYTHING}).items()
        }

    def _asks_at_once(self) -> Callable[[], Awaitable[bool]] | None:
        """What tells informers whether to ask for plain lists, if the server is to decide it."""
        return self.client.discovery.lists_at_once if self._informer_options.use_watch_list == "auto" else None

    def _make_borrowed(
        self, type_: type[T], gvr: GroupVersionResource, namespaced: bool, transform: TransformFunc[T] | None
    ) -> SharedIndexInformer[T]:
        resource = self.client.resource(
            type_,
            gvr,
            namespaced=namespaced,
            metadata_only=True,
            drop_managed_fields=not self._informer_options.keep_managed_fields,
        )
        namespaces = self._namespaces if namespaced else ("",)
        return SharedIndexInformer(
            {namespace: ListWatch(resource, namespace, lists_at_once=self._asks_at_once()) for namespace in namespaces},
            type_,
            name=f"{gvr.group_resource} (metadata)",
            transform=transform,
            options=self._informer_options,
            clock=self._clock,
        )

    # --- running

    async def __aenter__(self) -> SharedInformerFactory:
        if self._tasks is not None:
            raise RuntimeError("the informer factory runs already")
        self._check_not_shut_down()
        self._loop = asyncio.get_running_loop()
        self._tasks = await anyio.create_task_group().__aenter__()
        if self._keeper is not None:
            self._tasks.start_soon(self._keeper.run, self._all, name="snapshot")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        tasks, self._tasks = self._tasks, None
        self._shut_down.set()
        assert tasks is not None
        await self._keep()
        tasks.cancel_scope.cancel()
        try:
            return await tasks.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            # Callers need not know that there are tasks, so `except NotFound` around the factory must work.
            alone = sole_error(group)
            if alone is group:
                raise
            if alone is error:
                return False
            raise alone from alone.__cause__

    def start(self) -> None:
        """
        Start every informer that was requested and does not run yet.

        If you request another informer while the factory runs, call this again.

        :raises RuntimeError: if the factory itself does not run (use it in ``async with``, or :meth:`run` it), or if it
            was shut down, or runs in another event loop
        """
        self._check_not_shut_down()
        if self._tasks is None:
            raise RuntimeError("the informer factory does not run: use it in `async with`, or run() it")
        check_loop(self._loop, "the informer factory")
        for informer in self._all():
            if informer not in self._running:
                running = self._running[informer] = Running(informer)
                self._tasks.start_soon(running.run, name=f"informer {informer.name}")

    async def stop(self, informer: SharedIndexInformer[Any]) -> None:
        """
        End one informer, and return once it has ended. The others go on.

        Its handlers are not called again, and its cache stays as it is. A later request for its resource makes a new
        informer.

        :raises ValueError: if the informer is not of this factory
        """
        if informer not in self._all():
            raise ValueError(f"informer {informer.name} is not of this factory")
        self._informers = {gvr: known for gvr, known in self._informers.items() if known is not informer}
        self._views = {name: known for name, known in self._views.items() if known is not informer}
        running = self._running.pop(informer, None)
        if running is not None:
            running.scope.cancel()
            await running.ended.wait()

    def divide(self, division: Division) -> None:
        """
        Make informers hold only the objects that belong to this process, one of several that share them out.

        :raises RuntimeError: if an informer was already requested, or a snapshot is kept: it does not follow the shares
        """
        if self._keeper is not None:
            raise RuntimeError("the factory keeps a snapshot, and so cannot hold a changing share of the objects")
        if self._informers:
            raise RuntimeError("the factory has informers that hold everything: call divide() before informer_for()")
        self._division = division

    def hold_handlers(self) -> None:
        """
        Do not call handlers that are added from now on, to any informer, until :meth:`release_handlers`.

        The informers themselves follow the server. This is for a process that stands by for another one.
        """
        self._holds_handlers = True
        for informer in self._all():
            informer.hold_handlers()

    def release_handlers(self) -> None:
        """Call the held handlers for everything in the caches, without a request to the server."""
        self._holds_handlers = False
        for informer in self._all():
            informer.release_handlers()

    async def run(self) -> None:
        """Start all requested informers and run until cancelled or shut down. Return when every informer has ended."""
        async with self:
            self.start()
            await self._shut_down.wait()

    async def wait_for_cache_sync(self, timeout: float | None = None) -> None:
        """
        Wait until every informer that was started has synced.

        :param timeout: seconds after which to give up; None for never
        :raises CacheNotSynced: if some have not synced when the time is over; the error names them
        :raises InformerStateError: if one of them stopped before it had synced
        """
        await wait_for_cache_sync(*self._running, timeout=timeout, clock=self._clock)

    async def shutdown(self) -> None:
        """
        End every informer, and return once all have ended. No informer of this factory can be started again.

        A caller that waits for an informer to sync gets an InformerStateError.
        """
        self._shut_down.set()
        await self._keep()
        every = [*self._running.values(), *self._borrowed.values()]
        for running in every:
            running.scope.cancel()
        for running in every:
            await running.ended.wait()

    async def _keep(self) -> None:
        """Write the last snapshot, if there is to be one."""
        if self._keeper is not None:
            await self._keeper.finish(self._all())

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
