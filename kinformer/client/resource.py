"""Resource: the verbs of one kind of object at one server, typed.

``client.resource(V1Pod)`` gives one. For a kind without a model, ``client.resource(dict, GroupVersionResource(...))``
does. An empty namespace means the same as in the API: all namespaces for a list or a watch, and no namespace for all
other verbs. The object of a verb may be of the resource's type, a dict with the names of JSON, any other Struct or a
kubernetes_asyncio model. It may also be bytes of JSON, unless the verb needs the object's name.

Every verb raises subclasses of :exc:`ApiError` for refusals of the server, :exc:`ServerUnreachable` and
:exc:`ConnectionLost` if there is no complete response, and :exc:`DecodeError` for responses that do not fit the type.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, Unpack
from urllib.parse import quote

import msgspec

from kinformer.client.codec import ObjectCodec
from kinformer.client.errors import EndlessList, UnsupportedMediaType
from kinformer.client.follow import Change, follow, until
from kinformer.client.pod_verbs import PodVerbs
from kinformer.client.status import About, Status
from kinformer.client.subresource import SubresourceVerbs
from kinformer.client.types import (
    DeleteOptions,
    ListOptions,
    ListParams,
    ObjectList,
    PatchType,
    WriteOptions,
)
from kinformer.client.watch import DEFAULT_IDLE_TIMEOUT, Opener, WatchStream
from kinformer.client.writes import note_deletion, note_write
from kinformer.meta import GroupVersionResource
from kinformer.models import builtin_resources, encode, misfits, unknown_fields

if TYPE_CHECKING:
    from kinformer.client.heads import Wanted
    from kinformer.client.reachability import Reachability
    from kinformer.client.transport import BodyStream, Transport

__all__ = ("Resource",)

T = TypeVar("T")

#: client-go's page size.
PAGE_SIZE: Final = 500

_JSON: Final = "application/json"
_METADATA_ONLY: Final = ";as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
#: KEP-5958. API servers ignore parameters that they do not know.
_DROP_MANAGED_FIELDS: Final = ";drop=metadata.managedFields"

_EVERYTHING: Final = ListOptions()


class Resource(SubresourceVerbs, PodVerbs, Generic[T]):
    """
    One kind of object, made by :meth:`Client.resource`.

    :param namespaced: whether the objects belong to namespaces. None: unknown; then a call with a namespace treats them
        as namespaced, and a call without as not.
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
        super().__init__(transport, gvr, namespaced, _accept("", metadata_only, drop_managed_fields))
        self.type = type_
        self.kind = kind
        self._list_headers = _accept("List", metadata_only, drop_managed_fields)
        self._about_all = About(self._group_resource)
        self._codec: ObjectCodec[T] = ObjectCodec(type_, gvr.api_version, kind, lazy=transport.options.lazy)
        self._strategic = gvr in _builtin_gvrs()

    @property
    def reachability(self) -> Reachability:
        """The record of whether the server can be reached."""
        return self._transport.reachability

    @property
    def compression(self) -> bool:
        """Whether the server is asked to compress lists."""
        return self._transport.options.compression

    @property
    def accept(self) -> str:
        """The Accept header of its watches; empty for the usual one."""
        return self._headers.get("Accept", "")

    def __repr__(self) -> str:
        return f"<Resource {self.gvr.group_resource} {self.gvr.version} as {self.type.__name__}>"

    # Reading

    async def get(self, name: str, namespace: str = "", *, resource_version: str = "") -> T:
        """
        Read one object.

        :param resource_version: ``""`` for the most recent state, ``"0"`` for any state that the server has cached
        :raises NotFound: if there is no object with that name
        """
        params = {"resourceVersion": resource_version} if resource_version else None
        path = self.path_of_one(namespace, name)
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
        List the objects, or as many as `options` ask for, with one request.

        The options may also be given as arguments: ``list("default", label_selector="app=web")``.

        :param accept: called with each object while the list is still arriving. It returns whether to keep the object.
            If it also gives each object memory of its own (:func:`kinformer.models.detacher_for`), a list of any length
            takes no more memory than its objects. If the connection breaks, it is called again for all of them, as
            other objects.
        :param leave_out: leave out objects that do not fit the type, and name them in the list's `left_out`
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
        List the objects page by page. Every page has the state of the first page's resource version.

        :param options: its `limit` is the size of a page; 500 by default
        :raises Expired: if the server forgot that state before the last page; list again
        :raises EndlessList: if a page refers to itself as the next one
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
            # The token includes the version. The server accepts only one of the two.
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
        wanted: Wanted | None = None,
        **more: Unpack[ListParams],
    ) -> WatchStream[T]:
        """
        Watch changes since ``options.resource_version``, in batches; see :class:`WatchStream`.

        :param leave_out: go on after an object that does not fit the type, with an
            :class:`~kinformer.client.types.Undecodable` in its place. By default the watch ends with an error that
            names the object.
        :param wanted: which objects to decode. The server still sends the events of all
            others. They are left out; if the last event of a batch is one of them, a BOOKMARK takes its place.

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
        return WatchStream(opener, self._codec, options, idle_timeout=idle_timeout, leave_out=leave_out, wanted=wanted)

    def follow(
        self, namespace: str = "", options: ListOptions = _EVERYTHING, **more: Unpack[ListParams]
    ) -> AsyncIterator[Change[T]]:
        """
        Give each object that is there, and then every change, for as long as the loop runs::

            async for change in pods.follow("default", label_selector="app=web"):
                print(change.type, change.object.metadata.name)

        It goes on after watches that end or break, after outages of the server, and after forgotten history (410).
        Changes that were missed meanwhile come as one change for each object. All objects are kept in memory. If you
        need them in a cache, or share them between several readers, use an informer.

        :raises ApiError: if the server refuses to list or watch; errors that may pass are retried
        :raises DecodeError: if an object does not fit the type
        """
        return follow(self, namespace, _with(options, more), self._transport.clock)

    async def until(self, name: str, condition: Callable[[T | None], bool], namespace: str = "") -> T | None:
        """
        Wait until a condition holds for one object, and return that state of it (client-go's ``UntilWithSync``).

        Use anyio to limit the time::

            with anyio.fail_after(60):
                await pods.until("web-0", lambda pod: pod is not None and pod.status.phase == "Running", "default")

        :param condition: called with the object, or with None while there is none: at first, and after each change
        :return: the object; None if the condition held while there was none
        :raises ApiError: if the server refuses to list or watch; errors that may pass are retried
        """
        self._check_names(namespace, name)
        return await until(self, name, namespace, condition, self._transport.clock)

    # Writing

    async def create(self, obj: Any, namespace: str = "", **options: Unpack[WriteOptions]) -> T:
        """
        Create an object.

        :param namespace: the object's own if left out
        :return: the object as the server stored it, as for all writes here
        :raises AlreadyExists: if there is already an object with that name
        :raises Invalid: if the object is invalid
        """
        path = self.path(namespace or self._namespace_of(obj), of_object=True)
        return self._written(await self._send("POST", path, "", self._codec.encode(obj), options), path)

    async def update(self, obj: Any, **options: Unpack[WriteOptions]) -> T:
        """
        Replace an object.

        :raises NotFound: if there is no object with that name
        :raises Conflict: if the object has changed since `obj` was read
        """
        name, path = self._path_of(obj)
        return self._written(await self._send("PUT", path, name, self._codec.encode(obj), options), path)

    async def update_status(self, obj: Any, **options: Unpack[WriteOptions]) -> T:
        """
        Replace the status of an object. The server leaves all other fields as they are.

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
        Change a part of an object.

        :param body: a mapping, or a list of operations for :attr:`PatchType.JSON`
        :param patch_type: None: a strategic merge patch for built-in kinds, and a merge patch for custom resources,
            which do not support strategic ones
        :raises NotFound: if there is no object with that name; only :attr:`PatchType.APPLY` creates it in that case
        :raises UnsupportedMediaType: if the resource does not support a patch of that type
        :raises ValueError: for a strategic merge patch of a custom resource whose type declares it; nothing is sent
        """
        if patch_type is None:
            patch_type = PatchType.STRATEGIC if self._strategic else PatchType.MERGE
        elif patch_type is PatchType.STRATEGIC and not self._strategic and hasattr(self.type, "__resource__"):
            raise ValueError(
                f"{self.gvr.group_resource} is a custom resource, which takes no strategic merge patch: "
                "leave patch_type out, or give PatchType.MERGE"
            )
        path = self.path_of_one(namespace, name, subresource)
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

    async def patch_status(
        self, name: str, status: Mapping[str, Any], namespace: str = "", **options: Unpack[WriteOptions]
    ) -> T:
        """
        Change some fields of an object's status. The server leaves all other fields as they are.

        A server drops fields that it does not know, and still answers with success. So the names are checked here
        against the resource's type, if that is a model, a custom resource or another Struct. The values are, too.

        :param status: the fields with their names in JSON, as in ``{"readyReplicas": 1}``. None removes a field
        :raises TypeError: if the type has no status, its status has no such field, or a value does not fit its field;
            nothing is sent
        :raises NotFound: if there is no object with that name
        """
        # $patch and the like are directives of a strategic merge patch, not fields.
        if unknown := [path for path in unknown_fields(self.type, {"status": status}) if "$" not in path]:
            raise TypeError(f"{self.type.__qualname__} has no field {', '.join(unknown)}")
        if wrong := misfits(self.type, {"status": status}):
            raise TypeError(f"{self.type.__qualname__}: {'; '.join(map(str, wrong))}")
        return await self.patch(name, {"status": status}, namespace, subresource="status", **options)

    async def apply(
        self, obj: Any, *, field_manager: str, force: bool = False, subresource: str = "", dry_run: bool = False
    ) -> T:
        """
        Server-side apply: set these fields, and create the object if there is none.

        :param force: take over fields that others manage
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
        Delete an object.

        :return: the object while its deletion waits for finalizers or its grace period, or a Status if it is gone
        :raises NotFound: if there is no object with that name
        :raises Conflict: if a precondition does not hold
        """
        path = self.path_of_one(namespace, name)
        left = self._codec.decode_deleted(await self._send("DELETE", path, name, _delete_body(options)), path)
        if options is None or not options.dry_run:
            note_deletion(self._group_resource, namespace, name, left)
        return left

    async def delete_collection(
        self,
        namespace: str = "",
        options: DeleteOptions | None = None,
        select: ListOptions = _EVERYTHING,
        **more: Unpack[ListParams],
    ) -> None:
        """
        Delete all objects that `select` matches; by default everything in the namespace.

        :raises ValueError: if there is a shard selector: a server that does not support it would delete everything
        """
        select = _with(select, more)
        if select.shard_selector:
            raise ValueError(
                "a collection is not deleted by shard_selector: a server without support for it would delete everything"
            )
        path = self.path(namespace)
        await self._transport.request(
            "DELETE", path, params=select.params(), body=_delete_body(options), about=self._about_all
        )

    def _written(self, answer: bytes, path: str) -> T:
        """Decode the response to a write, and note the write in :mod:`kinformer.client.writes`."""
        written = self._codec.decode(answer, path)
        note_write(self._group_resource, written)
        return written


@cache
def _builtin_gvrs() -> frozenset[GroupVersionResource]:
    return frozenset(info.gvr for info in builtin_resources().values())


def _accept(suffix: str, metadata_only: bool, drop_managed_fields: bool) -> dict[str, str]:
    """The headers of requests for objects in another form than the usual one."""
    if not metadata_only and not drop_managed_fields:
        return {}
    form = _METADATA_ONLY.format(suffix) if metadata_only else ""
    return {"Accept": f"{_JSON}{form}{_DROP_MANAGED_FIELDS if drop_managed_fields else ''}"}


def _with(options: ListOptions, more: ListParams) -> ListOptions:
    return replace(options, **more) if more else options


def _delete_body(options: DeleteOptions | None) -> bytes | None:
    body = options.body() if options is not None else None
    return encode(body) if body is not None else None
