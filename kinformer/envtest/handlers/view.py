"""Whole objects in answers. They are made from the stored bytes without decoding them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from kinformer.envtest.registry import Resource
from kinformer.envtest.storage.history import event_line

__all__ = ("View",)


class View:
    """Shows whole objects."""

    def __init__(self, resource: Resource):
        self.resource = resource

    @property
    def is_whole(self) -> bool:
        return type(self) is View

    def one(self, raw: bytes) -> bytes:
        """
        The answer with one object.

        :param raw: the object without kind and apiVersion
        """
        return self.resource.prefix + raw[1:]

    def many(self, raws: Iterable[bytes], metadata: dict[str, Any]) -> bytes:
        """The answer with a list of objects."""
        resource = self.resource
        if resource.is_custom:
            # A list of custom resources always has `continue`. It is empty on the last page.
            metadata = {"continue": "", **metadata}
            body = b",".join([resource.item_prefix + raw[1:] for raw in raws])
        else:
            body = b",".join(list(raws))
        head = {"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": metadata}
        return b'%b,"items":[%b]}\n' % (msgspec.json.encode(head)[:-1], body)

    def line(self, type_: str, raw: bytes) -> bytes:
        """The line of a watch event."""
        if self.is_whole:
            return event_line(type_, self.resource.prefix, raw)
        return b'{"type":"%b","object":%b}\n' % (type_.encode(), self.one(raw).rstrip(b"\n"))
