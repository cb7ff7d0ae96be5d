"""Subresources: parts of an object with a path and often a type of their own, such as its scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

from kinformer.client.codec import ObjectCodec
from kinformer.client.requests import Requests
from kinformer.client.types import PatchType, WriteOptions
from kinformer.models import encode

if TYPE_CHECKING:
    from kinformer.models import V1Scale

__all__ = ("Subresource", "SubresourceVerbs")

S = TypeVar("S")


class Subresource(Generic[S]):
    """
    One subresource of one kind, as one type.

    :param api_version: added to a body that has none, like `kind`; by default nothing is added
    """

    def __init__(self, parent: Requests, name: str, type_: type[S], *, api_version: str = "", kind: str = ""):
        self._parent = parent
        self._name = name
        self._codec: ObjectCodec[S] = ObjectCodec(type_, api_version, kind, lazy=parent._transport.options.lazy)

    async def get(self, name: str, namespace: str = "") -> S:
        return await self._do("GET", name, namespace, None, {})

    async def create(self, name: str, obj: Any, namespace: str = "", **options: Unpack[WriteOptions]) -> S:
        return await self._do("POST", name, namespace, self._codec.encode(obj), options)

    async def update(self, name: str, obj: Any, namespace: str = "", **options: Unpack[WriteOptions]) -> S:
        """
        Replace the subresource.

        :raises Conflict: if the object has changed since `obj` was read
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
        path = self._parent.path_of_one(namespace, name, self._name)
        return self._codec.decode(await self._parent._send(method, path, name, body, options, headers), path)


class SubresourceVerbs(Requests):
    """The part of a :class:`Resource` that is about subresources."""

    _scales: Subresource[V1Scale] | None = None

    def subresource(self, name: str, type_: type[S]) -> Subresource[S]:
        """A subresource of the same objects, as `type_`: ``pods.subresource("ephemeralcontainers", V1Pod)``."""
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
        if self._scales is None:
            from kinformer.models import V1Scale

            self._scales = Subresource(self, "scale", V1Scale, api_version="autoscaling/v1", kind="Scale")
        return self._scales
