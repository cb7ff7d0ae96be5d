"""Views: the forms of objects in answers. An object is shown whole, as metadata only, or as a row of a table.

Whole objects are never decoded for an answer. The answer is made from the stored bytes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from kinformer.envtest import status
from kinformer.envtest.handlers.call import Answer, Call
from kinformer.envtest.handlers.tables import TableView
from kinformer.envtest.handlers.view import View
from kinformer.envtest.handlers.yaml_bodies import YAML
from kinformer.envtest.operations import Operations
from kinformer.envtest.registry import Resource
from kinformer.envtest.storage import Version

__all__ = ("View", "choose_view", "show")

_META_V1 = {"apiVersion": "meta.k8s.io/v1"}
_JSON = ("application/json", "*/*")
_MANAGED_FIELDS = "metadata.managedFields"


class MetadataView(View):
    """PartialObjectMetadata, for clients that need only the metadata."""

    _kind = msgspec.json.encode({"kind": "PartialObjectMetadata", **_META_V1})[:-1]

    def one(self, raw: bytes) -> bytes:
        return b'%b,"metadata":%b}' % (self._kind, _metadata(raw).metadata)

    def many(self, raws: Iterable[bytes], metadata: dict[str, Any]) -> bytes:
        head = {"kind": "PartialObjectMetadataList", **_META_V1, "metadata": metadata}
        items = b",".join([self.one(raw) for raw in raws])
        return b'%b,"items":%b}\n' % (msgspec.json.encode(head)[:-1], b"[%b]" % items if items else b"null")


class ConvertedView(View):
    """
    Objects that are stored in another version of the API.

    :param shown: converts a stored object to this version
    """

    def __init__(self, resource: Resource, shown: Callable[[dict[str, Any]], dict[str, Any]]):
        super().__init__(resource)
        self._shown = shown

    def one(self, raw: bytes) -> bytes:
        return self.resource.prefix + self._convert(raw)[1:]

    def many(self, raws: Iterable[bytes], metadata: dict[str, Any]) -> bytes:
        return super().many([self._convert(raw) for raw in raws], metadata)

    def _convert(self, raw: bytes) -> bytes:
        return msgspec.json.encode(self._shown(msgspec.json.decode(raw)))


class WithoutManagedFields(View):
    """
    Shows objects of another view without their managedFields (KEP-5958).

    :param view: a view of whole objects or of their metadata
    """

    def __init__(self, view: View):
        super().__init__(view.resource)
        self._view = view

    def one(self, raw: bytes) -> bytes:
        return self._view.one(_without_managed_fields(raw))

    def many(self, raws: Iterable[bytes], metadata: dict[str, Any]) -> bytes:
        return self._view.many([_without_managed_fields(raw) for raw in raws], metadata)


_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


@functools.lru_cache(4096)  # all watches of a kind show the same versions
def _without_managed_fields(raw: bytes) -> bytes:
    obj = _members(raw)
    metadata = _members(obj.get("metadata") or b"{}")
    if metadata.pop("managedFields", None) is None:
        return raw
    return msgspec.json.encode({**obj, "metadata": metadata})


def _whole(operations: Operations, resource: Resource) -> View:
    strategy = operations.strategy(resource)
    return ConvertedView(resource, strategy.shown) if strategy.is_converted else View(resource)


class _Metadata(msgspec.Struct, gc=False):
    metadata: msgspec.Raw


_metadata = msgspec.json.Decoder(_Metadata).decode


def choose_view(operations: Operations, call: Call) -> View:
    """
    The view for the request's Accept header.

    :raises StatusError: NotAcceptable
    """
    accept, served = call.accept, _JSON if call.verb == "watch" else (*_JSON, YAML)
    if not accept or accept in served:
        return _whole(operations, call.target.resource)
    for part in accept.split(","):
        said, _, parameters = part.strip().partition(";")
        if (type_ := said.strip()) not in served and type_ != "text/plain":
            continue
        options = dict(option.strip().partition("=")[::2] for option in parameters.split(";") if option)
        form = options.get("as", "")
        # Several fields are separated by +. The server ignores those that it cannot drop.
        drops = _MANAGED_FIELDS in options.get("drop", "").split("+")
        if form in ("PartialObjectMetadata", "PartialObjectMetadataList"):
            if call.verb != "watch" and form.endswith("List") != (call.verb in ("list", "deletecollection")):
                text = f"you requested {form}, but the requested object is {'not ' * form.endswith('List')}a list"
                raise status.not_acceptable(text)
            view: View = MetadataView(call.target.resource)
        elif form == "Table":
            return TableView(call.target.resource, call.query.get("includeObject", "Metadata"), call.time)
        elif type_ == "text/plain":
            continue
        elif form:
            raise status.not_acceptable(f"only the following media types are accepted: {status.MEDIA_TYPES}")
        else:
            view = _whole(operations, call.target.resource)
        return WithoutManagedFields(view) if drops else view
    raise status.not_acceptable()


def show(operations: Operations, call: Call, version: Version) -> Answer:
    """The answer with one object."""
    return Answer(choose_view(operations, call).one(version.raw) + b"\n")
