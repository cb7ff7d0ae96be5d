"""Resource: the verbs of one kind of object at one server, typed.

``client.resource(V1Pod)`` gives one; so does ``client.resource(dict, GroupVersionResource(...))`` for a kind without a
model. An empty namespace means what it means in the API: for a list or watch all namespaces, for anything else that
the kind has none. Whatever a verb sends may be an object of the type, a dict under JSON's names, any other Struct, a
kubernetes_asyncio model, or, where its name need not be found in it, bytes that are JSON already.

Every verb raises :exc:`ApiError`'s subclasses for what the server refuses, :exc:`ServerUnreachable` and
:exc:`ConnectionLost` for what it never said, and :exc:`DecodeError` for answers that the type does not fit.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, Unpack
from urllib.parse import quote

import msgspec

from kinformer.client.codec import ObjectCodec
from kinformer.client.errors import EndlessList, UnsupportedMediaType
from kinformer.client.pod_verbs import PodVerbs
from kinformer.client.status import About, Status
from kinformer.client.types import (
    DeleteOptions,
    ListOptions,
    ListParams,
    ObjectList,
    PatchType,
    WriteOptions,
    write_params,
)
from kinformer.client.watch import DEFAULT_IDLE_TIMEOUT, Opener, WatchStream
from kinformer.client.writes import tell_of_write
from kinformer.meta import GroupVersionResource, accessor_of
from kinformer.models import builtin_resources, encode

if TYPE_CHECKING:
    from kinformer.client.follow import Change
    from kinformer.client.reachability import Reachability
    from kinformer.client.transport import BodyStream, Transport
    from kinformer.models import V1Scale

__all__ = ("Resource", "Subresource")

T = TypeVar("T")
S = TypeVar("S")

#: client-go's page size.
PAGE_SIZE: Final = 500

_JSON: Final = "application/json"
_METADATA_ONLY: Final = ";as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
#: KEP-5958. API servers ignore parameters that they do not know.
_DROP_MANAGED_FIELDS: Final = ";drop=metadata.managedFields"

_EVERYTHING: Final = ListOptions()
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9._:-]+").fullmatch


class Resource(PodVerbs, Generic[T]):
    """
    One kind of object, made by :meth:`Client.resource`.

    :param namespaced: None where it is not known: then a call that names a namespace decides for itself
    """

    def __init__(
        self,
        transport: Transport,
        type_: type[T],
        gvr: GroupVersionResource,
        *,
        kind: str = "",
        namespaced: bool | None = None,
        metadata_only: bool = False,
        drop_managed_fields: bool = False,
    ):
        self.type = type_
        self.gvr = gvr
        self.kind = kind
        self.namespaced = namespaced
        self._transport = transport
        self._about_all = About(gvr.group_resource)
        self._codec: ObjectCodec[T] = ObjectCodec(type_, gvr.api_version, kind)
        self._prefix = f"/apis/{gvr.group}/{gvr.version}" if gvr.group else f"/api/{gvr.version}"
        self._strategic = gvr in _builtin_gvrs()
        self._headers: dict[str, str] = {}
        self._list_headers: dict[str, str] = {}
        if metadata_only or drop_managed_fields:
            form = _METADATA_ONLY if metadata_only else ""
            drop = _DROP_MANAGED_FIELDS if drop_managed_fields else ""
            self._headers = {"Accept": f"{_JSON}{form.format('')}{drop}"}
            self._list_headers = {"Accept": f"{_JSON}{form.format('List')}{drop}"}

    @property
    def reachability(self) -> Reachability:
        """Whether the server can be reached."""
        return self._transport.reachability

    @property
    def compression(self) -> bool:
        """Whether the server is asked to compress lists."""
        return self._transport.compression

    def __repr__(self) -> str:
        return f"<Resource {self.gvr.group_resource} {self.gvr.version} as {self.type.__name__}>"

    # Reading

    async def get(self, name: str, namespace: str = "", *, resource_version: str = "") -> T:
        """
        :raises NotFound: if there is none of that name
        """
        params = {"resourceVersion": resource_version} if resource_version else None
        path = self.path(namespace, name)
        return self._codec.decode(await self._send("GET", path, name, params=params), path)

    async def list(
        self,
        namespace: str = "",
        options: ListOptions = _EVERYTHING,
        *,
        accept: Callable[[T], bool] | None = None,
        leave_out: bool = False,
        **more: Unpack[ListParams],
    ) -> ObjectList[T]:
        """
        All of them, or as many as `options` say: one request. What they say may be said in place:
        ``list("default", label_selector="app=web")``.

        :param accept: is given each object while the list is still coming, and says whether to keep it. If it gives
            them a memory of their own (:func:`kinformer.models.detacher_for`), a list of any length takes no more
            memory than its objects. Should the connection break, it is given all of them again, as other objects
        :param leave_out: leave out what does not fit the type, and tell so by the list's `left_out`
        :raises DecodeError: if an object does not fit the type, and is not to be left out
        :raises Expired: if the resource version or the page asked for is too old
        """
        options = _with(options, more)
        path = self.path(namespace)
        reader = self._codec.list_reader(accept) if accept is not None else None
        with self._codec.reading_list(path):
            data = await self._transport.request(
                "GET",
                path,
                params=options.params(),
                headers=self._list_headers or None,
                about=self._about_all,
                reader=reader,
            )
            if reader is None:
                return self._codec.decode_list(data, path, leave_out=leave_out)
            return self._codec.checked(reader.finish(), path, leave_out=leave_out)

    async def pages(
        self, namespace: str = "", options: ListOptions = _EVERYTHING, **more: Unpack[ListParams]
    ) -> AsyncIterator[ObjectList[T]]:
        """
        All of them, page by page; every page shows the state of the first one's resource version.

        :param options: its `limit` is the size of a page, 500 unless said
        :raises Expired: if the server forgot that state before the last page: list anew
        :raises EndlessList: if a page refers to itself
        """
        options = _with(options, more)
        options = replace(options, limit=options.limit or PAGE_SIZE)
        while True:
            page = await self.list(namespace, options)
            yield page
            if not page.continue_token:
                return
            if page.continue_token == options.continue_token:
                raise EndlessList("a page refers to itself as the next one")
            # The token stands for the version; the server takes only one of them.
            options = replace(
                options, continue_token=page.continue_token, resource_version="", resource_version_match=""
            )

    def watch(
        self,
        namespace: str = "",
        options: ListOptions = _EVERYTHING,
        *,
        idle_timeout: float | None = DEFAULT_IDLE_TIMEOUT,
        leave_out: bool = False,
        **more: Unpack[ListParams],
    ) -> WatchStream[T]:
        """
        Changes since ``options.resource_version``, in batches; see :class:`WatchStream`.

        :param leave_out: go on after an object that does not fit the type; an
            :class:`~kinformer.client.types.Undecodable` is in its event's place. By default the watch ends with an
            error that names it

        ::

            async with pods.watch(options=ListOptions(resource_version=listed.resource_version)) as events:
                async for batch in events:
                    for event in batch:
                        print(event.type, event.object.metadata.name)
        """
        options = _with(options, more)
        path = self.path(namespace)

        async def open_(options: ListOptions, retries: int | None) -> BodyStream:
            more = {} if retries is None else {"retries": retries}
            return await self._transport.stream(
                path, params=options.params(watch=True), headers=self._headers or None, about=self._about_all, **more
            )

        opener = Opener(open_, self._transport.probe, self._transport.clock, f"{self._transport.endpoint.server}{path}")
        return WatchStream(opener, self._codec, options, idle_timeout=idle_timeout, leave_out=leave_out)

    def follow(
        self, namespace: str = "", options: ListOptions = _EVERYTHING, **more: Unpack[ListParams]
    ) -> AsyncIterator[Change[T]]:
        """
        Each object that is there, and then its changes, for as long as one asks::

            async for change in pods.follow("default", label_selector="app=web"):
                print(change.type, change.object.metadata.name)

        It goes on through watches that end or break, servers that are away, and history that is forgotten (410). What
        was missed meanwhile is told as one change for each object. All objects are kept in memory; who needs them in a
        cache, or shares them, takes an informer.

        :raises ApiError: when the server refuses to list or watch; what passes by itself is tried again
        :raises DecodeError: if an object does not fit the type
        """
        from kinformer.client.follow import follow

        return follow(self, namespace, _with(options, more), self._transport.clock)

    async def until(self, name: str, condition: Callable[[T | None], bool], namespace: str = "") -> T | None:
        """
        Wait until something is true of one object, and return the object as it is then (client-go's ``UntilWithSync``).

        A limit of time is anyio's::

            with anyio.fail_after(60):
                await pods.until("web-0", lambda pod: pod is not None and pod.status.phase == "Running", "default")

        :param condition: is given the object as it is, None while there is none: once at first, and after each change
        :return: None if it was true of there being none
        :raises ApiError: when the server refuses to list or watch; what passes by itself is tried again
        """
        from kinformer.client.follow import until

        return await until(self, name, namespace, condition, self._transport.clock)

    # Writing

    async def create(self, obj: Any, namespace: str = "", **options: Unpack[WriteOptions]) -> T:
        """
        :param namespace: the object's own if left out
        :raises AlreadyExists: if there is one of that name
        :raises Invalid: if it is not valid
        """
        path = self.path(namespace or self._namespace_of(obj), creating=True)
        return self._written(await self._send("POST", path, "", self._codec.encode(obj), options), path)

    async def update(self, obj: Any, **options: Unpack[WriteOptions]) -> T:
        """
        Replace what is there.

        :raises Conflict: if it has changed since `obj` was read
        """
        name, path = self._path_of(obj)
        return self._written(await self._send("PUT", path, name, self._codec.encode(obj), options), path)

    async def update_status(self, obj: Any, **options: Unpack[WriteOptions]) -> T:
        """
        Replace the status; the server leaves all else as it is.

        :raises Conflict: if the object has changed since `obj` was read
        """
        name, path = self._path_of(obj)
        body = self._codec.encode(obj)
        return self._written(await self._send("PUT", f"{path}/status", name, body, options), path)

    async def patch(
        self,
        name: str,
        body: Any,
        namespace: str = "",
        *,
        patch_type: PatchType | None = None,
        subresource: str = "",
        **options: Unpack[WriteOptions],
    ) -> T:
        """
        Change a part of what is there.

        :param body: a mapping, or a list of operations for :attr:`PatchType.JSON`
        :param patch_type: None: a strategic merge patch for what is built in, a merge patch for custom resources,
            which take no strategic ones
        :raises NotFound: if there is none of that name; only :attr:`PatchType.APPLY` makes it then
        :raises UnsupportedMediaType: if the resource takes no patch of that type
        :raises ValueError: for a strategic merge patch of a custom resource whose type declares it: nothing is sent
        """
        if patch_type is None:
            patch_type = PatchType.STRATEGIC if self._strategic else PatchType.MERGE
        elif patch_type is PatchType.STRATEGIC and not self._strategic and hasattr(self.type, "__resource__"):
            raise ValueError(
                f"{self.gvr.group_resource} is a custom resource, which takes no strategic merge patch: "
                "leave patch_type out, or give PatchType.MERGE"
            )
        path = self.path(namespace, name, subresource)
        data = body if isinstance(body, bytes) else encode(body)
        headers = {"Content-Type": patch_type.value, **self._headers}
        try:
            answer = await self._send("PATCH", path, name, data, options, headers)
        except UnsupportedMediaType as error:
            if patch_type is not PatchType.STRATEGIC:
                raise
            raise UnsupportedMediaType(
                msgspec.structs.replace(
                    error.status,
                    message=f"{error.message}: {self.gvr.group_resource} take no strategic merge patch, as custom "
                    "resources do not; patch with patch_type=PatchType.MERGE",
                ),
                error.url,
            ) from None
        return self._written(answer, path)

    async def apply(
        self, obj: Any, *, field_manager: str, force: bool = False, subresource: str = "", dry_run: bool = False
    ) -> T:
        """
        Server-side apply: have these fields so, make the object if there is none.

        :raises Conflict: if others manage some of the fields and `force` is not set
        """
        name, path = self._path_of(obj)
        if subresource:
            path = f"{path}/{quote(subresource)}"
        options = WriteOptions(field_manager=field_manager, force=force, dry_run=dry_run)
        headers = {"Content-Type": PatchType.APPLY.value, **self._headers}
        return self._written(await self._send("PATCH", path, name, self._codec.encode(obj), options, headers), path)

    async def delete(self, name: str, namespace: str = "", options: DeleteOptions | None = None) -> T | Status:
        """
        :return: the object as it is while it waits for its end (finalizers, grace), or a Status when it is gone
        :raises NotFound: if there is none of that name
        :raises Conflict: if a precondition does not hold
        """
        path = self.path(namespace, name)
        left = self._codec.decode_deleted(await self._send("DELETE", path, name, _delete_body(options)), path)
        tell_of_write(self.gvr, left)
        return left

    async def delete_collection(
        self,
        namespace: str = "",
        options: DeleteOptions | None = None,
        select: ListOptions = _EVERYTHING,
        **more: Unpack[ListParams],
    ) -> None:
        """
        Delete all that `select` selects, everything in the namespace by default.

        :raises ValueError: if it has a shard selector: a server that does not know it would delete everything
        """
        select = _with(select, more)
        if select.shard_selector:
            raise ValueError("a collection is not deleted by shard_selector: who does not know it would delete it all")
        path = self.path(namespace)
        await self._transport.request(
            "DELETE", path, params=select.params(), body=_delete_body(options), about=self._about_all
        )

    # Subresources

    def subresource(self, name: str, type_: type[S]) -> Subresource[S]:
        """Another face of the same objects, as `type_`: ``pods.subresource("ephemeralcontainers", V1Pod)``."""
        return Subresource(self, name, type_)

    async def get_scale(self, name: str, namespace: str = "") -> V1Scale:
        return await self._scale().get(name, namespace)

    async def update_scale(
        self, name: str, scale: Any, namespace: str = "", **options: Unpack[WriteOptions]
    ) -> V1Scale:
        return await self._scale().update(name, scale, namespace, **options)

    async def patch_scale(
        self,
        name: str,
        body: Any,
        namespace: str = "",
        *,
        patch_type: PatchType = PatchType.MERGE,
        **options: Unpack[WriteOptions],
    ) -> V1Scale:
        return await self._scale().patch(name, body, namespace, patch_type=patch_type, **options)

    def _scale(self) -> Subresource[V1Scale]:
        from kinformer.models import V1Scale

        return Subresource(self, "scale", V1Scale, api_version="autoscaling/v1", kind="Scale")

    async def bind(self, name: str, node: str, namespace: str, **options: Unpack[WriteOptions]) -> None:
        """
        Put a pod on a node.

        :raises Conflict: if it is on one already
        """
        body = {"metadata": {"name": name, "namespace": namespace}, "target": {"kind": "Node", "name": node}}
        binding = Subresource(self, "binding", bytes, api_version="v1", kind="Binding")
        await binding.create(name, body, namespace, **options)

    async def evict(self, name: str, namespace: str, options: DeleteOptions | None = None) -> None:
        """
        Ask for a pod to go, which a disruption budget may refuse.

        :raises TooManyRequests: if a budget stands against it
        """
        body: dict[str, Any] = {"metadata": {"name": name, "namespace": namespace}}
        if options is not None and (said := options.body()) is not None:
            body["deleteOptions"] = said
        eviction = Subresource(self, "eviction", bytes, api_version="policy/v1", kind="Eviction")
        await eviction.create(name, body, namespace)

    # How all of them speak

    def path(
        self, namespace: str = "", name: str | None = None, subresource: str = "", *, creating: bool = False
    ) -> str:
        """
        Where in the server's URL something is.

        :raises ValueError: if a name is none, or a namespace is needed and missing
        """
        path = self._prefix
        if namespace:
            if self.namespaced is False:
                raise ValueError(f"{self.gvr.group_resource} belong to no namespace, but {namespace!r} was given")
            path += f"/namespaces/{_segment(namespace, 'namespace')}"
        elif self.namespaced and (creating or name is not None):
            raise ValueError(f"{self.gvr.group_resource} belong to a namespace: an empty one may not be set")
        path += f"/{self.gvr.resource}"
        if name is not None:
            path += f"/{_segment(name, 'name')}"
        return f"{path}/{quote(subresource)}" if subresource else path

    async def _send(
        self,
        method: str,
        path: str,
        name: str,
        body: bytes | None = None,
        options: WriteOptions | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> bytes:
        if options:
            params = write_params(options)
        about = About(self.gvr.group_resource, name)
        return await self._transport.request(
            method, path, params=params, body=body, headers=headers or self._headers or None, about=about
        )

    def _written(self, answer: bytes, path: str) -> T:
        """What the server made of a write."""
        written = self._codec.decode(answer, path)
        tell_of_write(self.gvr, written)
        return written

    def _namespace_of(self, obj: Any) -> str:
        if self.namespaced is False or isinstance(obj, bytes):
            return ""
        return _meta(obj, "namespace")

    def _path_of(self, obj: Any) -> tuple[str, str]:
        name = _meta(obj, "name")
        return name, self.path(self._namespace_of(obj), name)


class Subresource(Generic[S]):
    """
    One subresource of one kind, as one type.

    :param api_version: what a body is if it does not say; nothing is filled in by default
    """

    def __init__(self, parent: Resource[Any], name: str, type_: type[S], *, api_version: str = "", kind: str = ""):
        self._parent = parent
        self._name = name
        self._codec: ObjectCodec[S] = ObjectCodec(type_, api_version, kind)

    async def get(self, name: str, namespace: str = "") -> S:
        return await self._do("GET", name, namespace, None, {})

    async def create(self, name: str, obj: Any, namespace: str = "", **options: Unpack[WriteOptions]) -> S:
        return await self._do("POST", name, namespace, self._codec.encode(obj), options)

    async def update(self, name: str, obj: Any, namespace: str = "", **options: Unpack[WriteOptions]) -> S:
        """
        :raises Conflict: if it has changed since `obj` was read
        """
        return await self._do("PUT", name, namespace, self._codec.encode(obj), options)

    async def patch(
        self,
        name: str,
        body: Any,
        namespace: str = "",
        *,
        patch_type: PatchType = PatchType.MERGE,
        **options: Unpack[WriteOptions],
    ) -> S:
        data = body if isinstance(body, bytes) else encode(body)
        return await self._do("PATCH", name, namespace, data, options, {"Content-Type": patch_type.value})

    async def _do(
        self,
        method: str,
        name: str,
        namespace: str,
        body: bytes | None,
        options: WriteOptions,
        headers: Mapping[str, str] | None = None,
    ) -> S:
        path = self._parent.path(namespace, name, self._name)
        return self._codec.decode(await self._parent._send(method, path, name, body, options, headers), path)


@cache
def _builtin_gvrs() -> frozenset[GroupVersionResource]:
    return frozenset(info.gvr for info in builtin_resources().values())


def _with(options: ListOptions, more: ListParams) -> ListOptions:
    return replace(options, **more) if more else options


def _meta(obj: Any, field: str) -> str:
    """A field of an object's metadata, whatever it is made of; kubernetes_asyncio's own models included."""
    try:
        accessor = accessor_of(obj)
    except TypeError:
        return getattr(getattr(obj, "metadata", None), field, None) or ""
    return accessor.field(obj, field) or ""


def _delete_body(options: DeleteOptions | None) -> bytes | None:
    body = options.body() if options is not None else None
    return encode(body) if body is not None else None


def _segment(name: str, what: str) -> str:
    """A name as a part of a path, by the rules that the API has for such names."""
    if not name:
        raise ValueError(f"an empty {what} names nothing")
    if _PLAIN_NAME(name) and name not in (".", ".."):
        return name
    if name in (".", "..") or "/" in name or "%" in name:
        raise ValueError(f"{name!r} cannot be a {what}: it may not be '.' or '..', nor contain '/' or '%'")
    return quote(name, safe="")
