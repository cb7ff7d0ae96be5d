"""Client: a connection to one API server.

``async with connect(...) as client`` finds the server (see :mod:`kinformer.client.config`), holds one session to it,
and closes the session at the end. :meth:`Client.resource` gives the verbs of a kind. :meth:`Client.request` sends any
other request. Nothing is sent before the first verb. So it is the first verb that fails if the server cannot be reached
or refuses the token.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, get_origin, overload

from kinformer.arguments import want
from kinformer.blocking import running_loop
from kinformer.client.codec import decode_as
from kinformer.client.config import Endpoint, ServerParams, endpoint_from_url, load_endpoint
from kinformer.client.credentials import checked_header
from kinformer.client.discovery import ApiResource, Discovery, ServerVersion
from kinformer.client.entering import AsyncEntering
from kinformer.client.errors import ConfigError
from kinformer.client.impersonation import Impersonation
from kinformer.client.keywords import check_names
from kinformer.client.options import DEFAULT_OPTIONS, ClientOptions
from kinformer.client.reachability import Reachability
from kinformer.client.resource import Resource
from kinformer.client.status import About
from kinformer.clock import Clock, RealClock
from kinformer.meta import GroupKind, GroupVersion, GroupVersionKind, GroupVersionResource
from kinformer.meta.accessor import plain_type
from kinformer.models import ResourceInfo, builtin_resources, encode, resource_for

if TYPE_CHECKING:
    from kinformer.client.transport import Transport

__all__ = ("Client", "connect")

T = TypeVar("T")


def connect(
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    *,
    url: str | None = None,
    in_cluster: bool | None = None,
    exec_timeout: float | None = None,
    impersonate: Impersonation | None = None,
    endpoint: Endpoint | None = None,
    options: ClientOptions = DEFAULT_OPTIONS,
    clock: Clock | None = None,
    **server: Unpack[ServerParams],
) -> AbstractAsyncContextManager[Client]:
    """
    Make a client of the server at `url`, or of the one that a kubeconfig names, or of the cluster around this process.

    Without any of these it uses ``KUBECONFIG`` or ``~/.kube/config`` if there is one, else the cluster around. ::

        async with connect() as client:
            pods = await client.resource(V1Pod).list("default")

    :param context: the context of the kubeconfig; its current one if None
    :param url: the server's URL
    :param in_cluster: True: only the cluster around this process; False: never that one
    :param exec_timeout: seconds that a kubeconfig's exec plug-in may take. None: one minute, or five if it may ask the
        user at a terminal.
    :param impersonate: the user to act as; None: the one that the kubeconfig names with ``as``, or none
    :param endpoint: the server's address and credentials, instead of all of these
    :param options: how requests are sent
    :param server: with `url`: the credentials and the way to that server; see :class:`ServerParams`
    :raises ConfigError: if no server can be found, or its credentials cannot be used
    """

    @asynccontextmanager
    async def connected() -> AsyncIterator[Client]:
        # aiohttp takes 0.2 s to import. Code that only needs types of kinformer.client does not pay for it.
        from kinformer.client.transport import Transport

        running_loop()  # raises if this is not asyncio
        check_names(server, ServerParams)
        if server and (url is None or endpoint is not None):
            raise ConfigError(f"connect() has {', '.join(server)} and no url: a kubeconfig or an endpoint has its own")
        time = clock or RealClock()
        found = endpoint
        if found is None and url is not None:
            found = endpoint_from_url(url, clock=time, **server)
        elif found is None:
            found = await load_endpoint(
                kubeconfig, context, in_cluster=in_cluster, clock=time, exec_timeout=exec_timeout
            )
        if impersonate is not None:
            found = replace(found, impersonation=impersonate)
        async with Transport(found, options, clock=time) as transport:
            yield Client(transport)

    return AsyncEntering(connected())


class Client:
    """A client of one API server; made by :func:`connect`."""

    def __init__(self, transport: Transport):
        self._transport = transport
        self._resources: dict[Any, Resource[Any]] = {}
        self.discovery = Discovery(self._get)

    def __repr__(self) -> str:
        return f"<Client of {self.server}>"

    @property
    def server(self) -> str:
        """The server's URL."""
        return self._transport.endpoint.server

    @property
    def endpoint(self) -> Endpoint:
        """The server's address, and the credentials that this client has for it."""
        return self._transport.endpoint

    @property
    def certificate_authorities(self) -> bytes:
        """The CA certificates for this server, in PEM, as they were at first; empty if none are configured."""
        return self._transport.endpoint.authorities

    @property
    def clock(self) -> Clock:
        return self._transport.clock

    @property
    def reachability(self) -> Reachability:
        """The record of whether the server can be reached. All users of this client wait for the server by it."""
        return self._transport.reachability

    @property
    def options(self) -> ClientOptions:
        """How requests are sent."""
        return self._transport.options

    @property
    def is_busy(self) -> bool:
        """Whether a request of this client is under way. Watches do not count."""
        return self._transport.is_busy

    def through(self, wrap: Callable[[Transport], Any]) -> Client:
        """
        Make a client that sends all requests of this one through another transport.

        :param wrap: called with this client's transport; returns an object with the same methods: see
            :class:`~kinformer.client.WrappedTransport`
        """
        return Client(wrap(self._transport))

    def resource(
        self,
        type_: type[T],
        gvr: GroupVersionResource | tuple[str, str, str] | type[Any] | None = None,
        *,
        namespaced: bool | None = None,
        kind: str | None = None,
        metadata_only: bool = False,
        drop_managed_fields: bool = False,
    ) -> Resource[T]:
        """
        The verbs of one kind of object, with objects as `type_`: a model, a Struct of one's own, or dict.

        :param gvr: group, version and plural, or a model of the same resource; a model knows its own
        :param namespaced: whether its objects belong to namespaces. None: unknown; then a call with a namespace treats
            them as namespaced, and a call without as not.
        :param kind: the kind of bodies that do not name theirs
        :param metadata_only: ask the server to send only metadata (PartialObjectMetadata)
        :param drop_managed_fields: ask the server to leave managedFields out, which are a third of many objects. It has
            no effect on servers that do not support it (KEP-5958).
        :raises LookupError: if `gvr` is left out and the type does not know its resource
        """
        type_ = plain_type(type_)
        if not isinstance(get_origin(type_) or type_, type):  # an alias is as good as its class
            resource_for(type_)  # raises: it is a name or an object
        if isinstance(gvr, type):
            gvr = resource_for(gvr).gvr
        key = (type_, gvr, namespaced, kind, metadata_only, drop_managed_fields)
        found = self._resources.get(key)
        if found is None:
            found = self._resources[key] = self._make(
                type_, gvr, namespaced, kind, metadata_only=metadata_only, drop_managed_fields=drop_managed_fields
            )
        return found

    def _make(
        self,
        type_: type[T],
        gvr: GroupVersionResource | tuple[str, str, str] | None,
        namespaced: bool | None,
        kind: str | None,
        **options: bool,
    ) -> Resource[T]:
        known: ResourceInfo | None
        if gvr is None:
            known = resource_for(type_)
        else:
            example = "group, version and plural, as in ('example.com', 'v1', 'webapps')"
            want(gvr, isinstance(gvr, tuple) and len(gvr) == 3, "the resource", example)
            gvr = GroupVersionResource(*gvr)
            known = next((info for info in builtin_resources().values() if info.gvr == gvr), None)
        if known is not None:
            gvr = known.gvr
            kind = known.kind if kind is None else kind
            namespaced = known.namespaced if namespaced is None else namespaced
        assert gvr is not None
        return Resource(self._transport, type_, gvr, kind=kind or "", namespaced=namespaced, **options)

    async def resource_for_kind(self, kind: GroupVersionKind | GroupKind, type_: type[T]) -> Resource[T]:
        """
        The verbs of a kind, found by this server's discovery.

        :raises NoKindMatch: if the server serves no such kind
        """
        found = await self.discovery.resource_for_kind(kind)
        return self.resource(type_, found.gvr, namespaced=found.namespaced, kind=found.kind)

    async def resource_for_object(self, obj: Any) -> Resource[Any]:
        """
        The verbs for the kind of an object: by its type or, for a dict, by its ``apiVersion`` and ``kind``.

        For built-in kinds, the server is not asked.

        :param obj: a model, a custom resource, or a dict as in a manifest
        :raises LookupError: if its type is not a known model or custom resource
        :raises ValueError: if it is a dict without ``apiVersion`` or ``kind``
        :raises NoKindMatch: if the server serves no such kind
        """
        if not isinstance(obj, Mapping):
            resource_for(type(obj))
            return self.resource(type(obj))
        api_version, kind = obj.get("apiVersion"), obj.get("kind")
        if not isinstance(api_version, str) or not isinstance(kind, str) or not api_version or not kind:
            raise ValueError("the object does not say what it is: it needs an apiVersion and a kind")
        gvk = GroupVersionKind(*GroupVersion.parse(api_version), kind)
        for info in builtin_resources().values():
            if info.gvk == gvk:
                return self.resource(dict, info.gvr)
        return await self.resource_for_kind(gvk, dict)

    async def server_version(self) -> ServerVersion:
        """The server's version. This is also the cheapest test of whether it can be reached and accepts us."""
        return await self.discovery.server_version()

    async def server_resources(self, *, refresh: bool = False) -> list[ApiResource]:
        """All resources that the server serves."""
        return await self.discovery.resources(refresh=refresh)

    @overload
    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        about: About | None = None,
    ) -> bytes: ...

    @overload
    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        about: About | None = None,
        type_: type[T],
    ) -> T: ...

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        about: About | None = None,
        type_: type[Any] = bytes,
    ) -> Any:
        """
        Send any request, with the credentials, retries, errors and metrics of all requests.

        :param path: the path of the URL, with special characters escaped
        :param body: an object, or bytes to be sent as they are
        :param about: what an error is to name, if the server's answer does not; None: the path
        :param type_: the type to decode the response to
        :raises ConfigError: if a header cannot be sent
        """
        for value in (headers or {}).values():
            checked_header(value)
        data = body if body is None or isinstance(body, bytes) else encode(body)
        answer = await self._transport.request(
            method.upper(), path, params=params, body=data, headers=headers, about=about or About()
        )
        return decode_as(type_, answer, path)

    async def _get(self, path: str, accept: str | None) -> bytes:
        return await self._transport.request("GET", path, headers={"Accept": accept} if accept else None)
