"""Requests: what all verbs of one kind share, which is the paths of its objects and the way to send one request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote

from kinformer.arguments import want_text
from kinformer.client.codec import check_object
from kinformer.client.status import About
from kinformer.client.types import WriteOptions, write_params
from kinformer.meta import GroupVersionResource, accessor_of

if TYPE_CHECKING:
    from kinformer.client.transport import Transport

__all__ = ("Requests",)

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9._:-]+").fullmatch


class Requests:
    """
    Requests about the objects of one kind.

    :param namespaced: whether the objects belong to namespaces. None: unknown; then a call with a namespace treats them
        as namespaced, and a call without as not.
    :param headers: sent with each request that has no others
    """

    def __init__(
        self, transport: Transport, gvr: GroupVersionResource, namespaced: bool | None, headers: Mapping[str, str]
    ) -> None:
        self.gvr = gvr
        self.namespaced = namespaced
        self._transport = transport
        self._headers = headers
        self._group_resource = gvr.group_resource
        self._prefix = f"/apis/{gvr.group}/{gvr.version}" if gvr.group else f"/api/{gvr.version}"

    def path(
        self, namespace: str = "", name: str | None = None, subresource: str = "", *, of_object: bool = False
    ) -> str:
        """
        The path of the URL of these objects, or of one object or its subresource.

        :param of_object: whether the namespace is that of an object that is to be written, so it must have one
        :raises ValueError: if a name is invalid, or a namespace is needed and missing
        """
        path = self._prefix
        if not isinstance(namespace, str) or not isinstance(name, (str, NoneType)):
            self._check_names(namespace, "" if name is None else name)
        if namespace:
            if self.namespaced is False:
                raise ValueError(f"{self.gvr.group_resource} belong to no namespace, but {namespace!r} was given")
            path += f"/namespaces/{_segment(namespace, 'namespace')}"
        elif self.namespaced and (of_object or name is not None):
            own, _, alone = (name or "").rpartition("/")
            example = f"{alone!r}, {own!r}" if own else f"{name!r}, 'default'"
            remedy = "metadata.namespace of the object" if of_object else f"a name and a namespace, as in {example}"
            raise ValueError(
                f"{self.gvr.group_resource} belong to a namespace: an empty one may not be set; want {remedy}"
            )
        path += f"/{self.gvr.resource}"
        if name is not None:
            path += f"/{_segment(name, 'name')}"
        return f"{path}/{quote(subresource)}" if subresource else path

    def path_of_one(self, namespace: str, name: str, subresource: str = "") -> str:
        """
        The path of one object, or of its subresource.

        :raises TypeError: if the name is None. :meth:`path` has the path of all objects then, so a deletion of one
            object would delete them all.
        """
        if name is None:
            self._check_names(namespace, name)
        return self.path(namespace, name, subresource)

    def _check_names(self, namespace: object, name: object) -> None:
        kind = self.gvr.group_resource
        want_text(name, f"the name of {kind}", "a text: the arguments are (name, …, namespace)")
        want_text(namespace, f"the namespace of {kind}", "a text: the arguments are (name, …, namespace)")

    def _namespace_of(self, obj: Any) -> str:
        if self.namespaced is False or isinstance(obj, bytes):
            return ""
        return _meta(obj, "namespace")

    def _path_of(self, obj: Any) -> tuple[str, str]:
        name = _meta(obj, "name")
        return name, self.path(self._namespace_of(obj), name, of_object=True)

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
        about = About(self._group_resource, name)
        return await self._transport.request(
            method, path, params=params, body=body, headers=headers or self._headers or None, about=about
        )


def _meta(obj: Any, field: Literal["name", "namespace"]) -> str:
    """A field of an object's metadata, for all types of objects, including kubernetes_asyncio's own models."""
    try:
        accessor = accessor_of(obj)
    except TypeError:
        check_object(obj)
        return getattr(getattr(obj, "metadata", None), field, None) or ""
    return accessor.name(obj) if field == "name" else accessor.namespace(obj)


@lru_cache(maxsize=4096)
def _segment(name: str, what: str) -> str:
    """A name as a segment of a path, by the API's rules for such names."""
    if not name:
        raise ValueError(f"the {what} is empty: want metadata.name of the object, or the argument to be set")
    if _PLAIN_NAME(name) and name not in (".", ".."):
        return name
    if name in (".", "..") or "/" in name or "%" in name:
        raise ValueError(f"{name!r} cannot be a {what}: it may not be '.' or '..', nor contain '/' or '%'")
    return quote(name, safe="")
