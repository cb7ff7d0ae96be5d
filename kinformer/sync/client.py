"""The client without ``async`` and ``await``: each method waits until the asyncio client has done it in its thread."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, TypeVar, Unpack

import anyio
from anyio.from_thread import start_blocking_portal

import kinformer.client as aio
from kinformer.cache import Indexers, InformerOptions, ListWatch, SharedIndexInformer, TransformFunc
from kinformer.cache.options import DEFAULT_OPTIONS
from kinformer.client import DEFAULT_IDLE_TIMEOUT
from kinformer.client.entering import Entering
from kinformer.client.types import ListOptions, ListParams, ObjectList
from kinformer.client.types import WatchEvent as _WatchEvent
from kinformer.sync.calls import Calls
from kinformer.sync.informer import Informer

if TYPE_CHECKING:
    from kinformer.client.follow import Change
    from kinformer.client.pod_logs import LogOptions
    from kinformer.meta import GroupKind, GroupVersionKind, GroupVersionResource

__all__ = ("Client", "Resource", "connect")

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")

_EVERYTHING: Final = ListOptions()
_AsyncResource = aio.Resource


def connect(
    kubeconfig: str | os.PathLike[str] | None = None, context: str | None = None, **more: Any
) -> AbstractContextManager[Client]:
    """
    A client of one API server, while the block runs.

    :param more: the parameters of :func:`kinformer.client.connect`: `url`, `token`, `impersonate` and the others
    :raises ConfigError: if the configuration is missing or invalid
    """
    return Entering(_connected(aio.connect(kubeconfig, context, **more)))


@contextmanager
def _connected(connection: AbstractAsyncContextManager[aio.Client]) -> Iterator[Client]:
    with start_blocking_portal("asyncio", name="kinformer.sync") as portal:
        try:
            with portal.wrap_async_context_manager(connection) as client:
                calls = Calls(portal, client.server)
                try:
                    yield Client(client, calls)
                finally:
                    calls.close()
        finally:
            # Calls of other threads are cancelled, so that they do not delay the end of this block.
            portal.call(partial(portal.stop, cancel_remaining=True))


class Client:
    """One API server; made by :func:`connect`."""

    def __init__(self, client: aio.Client, calls: Calls):
        #: The asynchronous client, for :meth:`call`.
        self.aio = client
        self._calls = calls

    def __repr__(self) -> str:
        return f"<Client of {self.server}, blocking>"

    @property
    def server(self) -> str:
        """The server's URL."""
        return self.aio.server

    def call(self, function: Callable[P, Awaitable[R]], *args: P.args, **kwargs: P.kwargs) -> R:
        """
        Run an asynchronous function in the client's thread, and wait for it. Use it for everything that has no
        method here::

            client.call(install, client.aio, WebApp)
        """
        return self._calls(function, *args, **kwargs)

    def resource(
        self,
        type_: type[T],
        gvr: GroupVersionResource | tuple[str, str, str] | type[Any] | None = None,
        *,
        namespaced: bool | None = None,
        kind: str | None = None,
        metadata_only: bool = False,
    ) -> Resource[T]:
        """See :meth:`kinformer.client.Client.resource`."""
        found = self.aio.resource(type_, gvr, namespaced=namespaced, kind=kind, metadata_only=metadata_only)
        return Resource(found, self._calls)

    def resource_for_kind(self, kind: GroupVersionKind | GroupKind, type_: type[T]) -> Resource[T]:
        """See :meth:`kinformer.client.Client.resource_for_kind`."""
        return Resource(self._calls(self.aio.resource_for_kind, kind, type_), self._calls)

    def resource_for_object(self, obj: Mapping[str, Any]) -> Resource[dict[str, Any]]:
        """See :meth:`kinformer.client.Client.resource_for_object`."""
        return Resource(self._calls(self.aio.resource_for_object, obj), self._calls)

    def server_version(self) -> aio.ServerVersion:
        """The version of the server."""
        return self._calls(self.aio.server_version)

    def server_resources(self, *, refresh: bool = False) -> list[aio.ApiResource]:
        """All resources that the server serves."""
        return self._calls(self.aio.server_resources, refresh=refresh)

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Send any request; see :meth:`kinformer.client.Client.request`."""
        return self._calls(self.aio.request, method, path, params=params, body=body, headers=headers)


def _waiting(
    verb: Callable[Concatenate[_AsyncResource[T], P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Resource[T], P], R]:
    """A verb of the same name, parameters and errors that waits for the asynchronous one."""

    @wraps(verb)
    def wait(self: Resource[T], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._call(verb, self.aio, *args, **kwargs)

    return wait


# More than 15 fields: those that are assigned are methods.
class Resource(Generic[T]):
    """
    The verbs of one kind of object, as :class:`kinformer.client.Resource` has them. Each waits for its answer.

    `pages`, `watch`, `follow` and `logs` are iterators. Each holds a connection until it ends, is closed
    (``contextlib.closing``), or is collected as garbage, as after ``break`` in a ``for``.
    """

    def __init__(self, resource: aio.Resource[T], calls: Calls):
        #: The asynchronous verbs.
        self.aio = resource
        self._call = calls

    def __repr__(self) -> str:
        return repr(self.aio)

    # Reading

    get = _waiting(_AsyncResource[T].get)
    list = _waiting(_AsyncResource[T].list)

    def pages(
        self, namespace: str = "", options: ListOptions = _EVERYTHING, **more: Unpack[ListParams]
    ) -> Generator[ObjectList[T], None, None]:
        """
        List the objects in pages.

        :raises Expired: if the server has forgotten the state of the first page before the last one is read. List again
        """
        return self._call.iterate(lambda: _whole(self.aio.pages(namespace, options, **more)))

    def watch(
        self, namespace: str = "", options: ListOptions = _EVERYTHING, **more: Unpack[ListParams]
    ) -> Generator[_WatchEvent[T], None, None]:
        """
        Give the changes since ``resource_version``, one by one, until the server ends the watch.

        :raises Expired: if that version is too old
        :raises ConnectionLost: if the connection breaks
        """
        for batch in self._call.iterate(lambda: self.aio.watch(namespace, options, **more)):
            yield from batch

    def follow(
        self, namespace: str = "", options: ListOptions = _EVERYTHING, **more: Unpack[ListParams]
    ) -> Generator[Change[T], None, None]:
        """Give each object that exists, and then every change. It goes on after outages and forgotten history (410)."""
        return self._call.iterate(lambda: _whole(self.aio.follow(namespace, options, **more)))

    def informer(
        self,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        indexers: Indexers[T] | None = None,
        resync_period: float = 0.0,
        transform: TransformFunc[T] | None = None,
        idle_timeout: float | None = DEFAULT_IDLE_TIMEOUT,
        options: InformerOptions = DEFAULT_OPTIONS,
    ) -> Informer[T]:
        """
        A cache of the objects that any thread may read, kept up to date in the client's thread while its block runs.

        :param namespace: only objects of this namespace; empty for all
        :param indexers: index functions by name
        :param resync_period: seconds between resyncs, for handlers that do not ask for another period; 0 for never
        :param transform: called with each object before it is stored, in the client's thread
        :param idle_timeout: seconds of silence after which a second watch takes over: see
            :class:`~kinformer.cache.ListWatch`
        :param options: how it follows the server
        :raises ValueError: if a selector cannot be parsed
        """
        source = ListWatch(self.aio, namespace, label_selector, field_selector, idle_timeout=idle_timeout)
        name = str(self.aio.gvr.group_resource)

        async def make() -> SharedIndexInformer[T]:
            return SharedIndexInformer(
                source,
                self.aio.type,
                name=name,
                indexers=indexers,
                resync_period=resync_period,
                transform=transform,
                resource=self.aio.gvr,
                options=options,
            )

        return Informer(self._call, source, self._call(make))

    def until(
        self,
        name: str,
        condition: Callable[[T | None], bool],
        namespace: str = "",
        *,
        timeout: float | None = None,
    ) -> T | None:
        """
        Wait until a condition holds for one object, and return that state of it.

        :param condition: called in the client's thread
        :param timeout: seconds to wait; None for no limit
        :raises TimeoutError: if the condition does not hold by then
        """

        async def wait() -> T | None:
            with anyio.fail_after(timeout):
                return await self.aio.until(name, condition, namespace)

        return self._call(wait)

    # Writing

    create = _waiting(_AsyncResource[T].create)
    update = _waiting(_AsyncResource[T].update)
    update_status = _waiting(_AsyncResource[T].update_status)
    patch = _waiting(_AsyncResource[T].patch)
    patch_status = _waiting(_AsyncResource[T].patch_status)
    apply = _waiting(_AsyncResource[T].apply)
    delete = _waiting(_AsyncResource[T].delete)
    delete_collection = _waiting(_AsyncResource[T].delete_collection)

    # Subresources

    get_scale = _waiting(_AsyncResource[T].get_scale)
    patch_scale = _waiting(_AsyncResource[T].patch_scale)

    # Pods

    evict = _waiting(_AsyncResource[T].evict)
    read_logs = _waiting(_AsyncResource[T].read_logs)
    run = _waiting(_AsyncResource[T].run)

    def logs(self, name: str, namespace: str, **options: Unpack[LogOptions]) -> Generator[str, None, None]:
        """
        Give a container's log, line by line.

        :raises ConnectionLost: if the connection breaks before the log ends
        """
        return self._call.iterate(lambda: self.aio.logs(name, namespace, **options))

    @contextmanager
    def local_port(self, name: str, port: int, namespace: str, *, local_port: int = 0) -> Iterator[int]:
        """A port of this machine that leads to a pod's while the block runs."""
        forward = self.aio.local_port(name, port, namespace, local_port=local_port)
        opened = self._call.iterate(lambda: _held(forward))
        try:
            yield next(opened)
        finally:
            opened.close()


@asynccontextmanager
async def _whole(items: AsyncIterator[R]) -> AsyncIterator[AsyncIterator[R]]:
    try:
        yield items
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()


@asynccontextmanager
async def _held(context: AbstractAsyncContextManager[R]) -> AsyncIterator[AsyncIterator[R]]:
    """An iterator whose only item is the value of a context. It keeps the context open until it is closed."""

    async def items() -> AsyncIterator[R]:
        async with context as value:
            yield value
            await anyio.sleep_forever()

    async with _whole(items()) as opened:
        yield opened
