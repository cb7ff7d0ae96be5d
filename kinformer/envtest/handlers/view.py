"""Whole objects, as they are shown: put together from the bytes of the storage, without decoding them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from kinformer.envtest.registry import Resource
from kinformer.envtest.storage.history import event_line

__all__ = ("View",)


class View:
    """Whole objects."""

    def __init__(self, resource: Resource):
        self.resource = resource

    @property
    def is_whole(self) -> bool:
        return type(self) is View

    def one(self, raw: bytes) -> bytes:
        """
        An object as it is answered.

        :param raw: the object without kind and apiVersion
        """
        return self.resource.prefix + raw[1:]

    def many(self, raws: Iterable[bytes], metadata: dict[str, Any]) -> bytes:
        """A list."""
        resource = self.resource
        if resource.is_custom:
            # The list of a custom resource has `continue` even where there is nothing to continue.
            metadata = {"continue": "", **metadata}
            body = b",".join([resource.item_prefix + raw[1:] for raw in raws])
        else:
            body = b",".join(list(raws))
        head = {"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": metadata}
        return b'%b,"items":[%b]}\n' % (msgspec.json.encode(head)[:-1], body)

    def line(self, type_: str, raw: bytes) -> bytes:
        """A watch event."""
        if self.is_whole:
            return event_line(type_, self.resource.prefix, raw)
        return b'{"type":"%b","object":%b}\n' % (type_.encode(), self.one(raw).rstrip(b"\n"))
