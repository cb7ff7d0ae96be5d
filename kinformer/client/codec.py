"""Codecs: encode objects of one type as bodies of requests, and decode responses as objects.

One codec is made for each type at each resource, so that a request has nothing left to look up. It takes care of
``apiVersion`` and ``kind``. A body that lacks them gets the resource's own. The items of a list get them too, because
an API server sends items without them. (Items of a frozen Struct, or of one without these fields, stay as they came.)

Single objects are decoded completely. In lists and watches, fields that have not been read may refer to the bytes of
the response, and so keep all of it in memory. Code that keeps objects for long must call
:func:`kinformer.models.detacher_for` on them first. This holds for models and for dicts, which are
:class:`kinformer.models.LazyDict` in this case.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

import msgspec
from msgspec.structs import fields

from kinformer.arguments import want
from kinformer.client.errors import ApiError, DecodeError, error_from_status
from kinformer.client.list_reader import ListReader
from kinformer.client.status import Status, decode_status
from kinformer.client.types import BOOKMARK, ObjectList, PartialMeta, PartialObject, Undecodable, WatchEvent
from kinformer.client.undecodable import decode_each, decode_event, split_items, split_list
from kinformer.meta.reading import attribute_of, read
from kinformer.models import (
    DECODE_ERRORS,
    KnownParts,
    Parts,
    decode,
    decoder_for,
    encode,
    fault_of,
    lazy_dict,
    lazy_dict_of_known,
    resource_for,
    whole,
)

if TYPE_CHECKING:
    from kinformer.client.pieces import Piece

__all__ = ("ObjectCodec", "PartialMeta", "PartialObject", "check_object", "decode_as")

T = TypeVar("T")


class _ShardInfo(msgspec.Struct):
    selector: str = ""


class _ListMeta(msgspec.Struct, rename={"resource_version": "resourceVersion", "continue_token": "continue"}):
    resource_version: str = ""
    continue_token: str = ""
    remaining: int | None = msgspec.field(name="remainingItemCount", default=None)
    shard: _ShardInfo | None = msgspec.field(name="shardInfo", default=None)


class _List(msgspec.Struct, Generic[T]):
    kind: str = ""
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[T] | None = None  # Go encodes an empty list as null


class _TypeMeta(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""


#: What every Status has in it, however it is written. Looking for it takes nothing beside decoding.
_STATUS: Final = b'"Status"'

_type_meta = msgspec.json.Decoder(_TypeMeta)
_list_meta = msgspec.json.Decoder(_ListMeta)


def decode_as(type_: type[T], data: bytes, url: str = "", *, lazy: bool = False) -> T:
    """
    Decode a response.

    :param lazy: leave its lazy fields undecoded
    :raises DecodeError: if it does not fit the type
    """
    if type_ is bytes:
        return data  # type: ignore[return-value]  # T is bytes here
    try:
        return decode(type_, data, lazy=lazy)
    except msgspec.MsgspecError as error:
        where = f" from {url}" if url else ""
        raise DecodeError(f"the answer{where} is not a {type_.__name__}: {error}") from None


class ObjectCodec(Generic[T]):
    """
    Encodes and decodes objects of one type at one resource.

    :param api_version: the objects' apiVersion, ``""`` if it is not known
    :param lazy: whether single objects keep lazy fields, as those of lists do
    """

    def __init__(self, type_: type[T], api_version: str, kind: str, *, lazy: bool = False):
        self.type = type_
        self._decode = partial(decode_as, type_, lazy=lazy)
        self.api_version = api_version
        self.kind = kind
        #: Dicts are decoded as their parts, and made from these in a second step. None for all other types.
        self._make: Callable[[Any], T] | None = cast("Any", lazy_dict) if type_ is dict else None
        read: Any = whole(type_) if self._make is None else Parts
        self._list = decoder_for(_List[read])
        self._items = decoder_for(list[read])
        self._event = decoder_for(WatchEvent[read])
        #: Whether dicts are decoded as :class:`KnownParts` first, in one pass. An object that has other fields ends it.
        self._known = self._make is not None
        self._known_items = decoder_for(list[KnownParts])
        self._known_event = decoder_for(WatchEvent[KnownParts])
        self._called = kind or type_.__name__
        decode_one: Callable[[Any], Any] = decoder_for(read).decode
        make = self._make
        self._decode_one: Callable[[Any], T] = decode_one if make is None else lambda data: make(decode_one(data))
        self._complete = _completer(type_, api_version, kind)

    def encode(self, obj: Any) -> bytes:
        """
        Encode the body of a request. `obj` may be of this type, a dict, another Struct or a kubernetes_asyncio model.

        Bytes are sent as they are: they must be JSON.
        """
        if isinstance(obj, bytes):
            return obj
        if not isinstance(obj, msgspec.Struct):
            check_object(obj)
        data = encode(obj)
        if isinstance(obj, msgspec.Struct):
            said = (read(obj, "apiVersion"), read(obj, "kind"))
            fill, head = _fill_for_struct(type(obj), *said, self.api_version, self.kind)
        else:
            fill, head = _fill_for(_reader(obj), _left_out(obj), self.api_version, self.kind)
        if not fill:
            return data
        if head:
            # The usual case: the object says neither. Then nothing has to be encoded twice.
            rest = data[1:]
            return head + (rest if rest == b"}" else b"," + rest)
        whole = msgspec.json.decode(data)
        return encode({**fill, **{name: value for name, value in whole.items() if name not in fill}})

    def decode(self, data: bytes, url: str = "") -> T:
        """
        Decode one object.

        :raises DecodeError: if it does not fit the type
        :raises ApiError: if it is the Status of a refusal, although the server answered with success
        """
        if _STATUS in data and _is_status(data) and (status := decode_status(data)).status == "Failure":
            raise error_from_status(status, url)
        return self._decode(data, url)

    def decode_deleted(self, data: bytes, url: str = "") -> T | Status:
        """
        Decode the response to a deletion: the object while it still exists, or a Status.

        :raises DecodeError: if it is neither
        :raises ApiError: if it is the Status of a refusal, although the server answered with success
        """
        try:
            if _type_meta.decode(data).kind == "Status" and (status := decode_status(data)).status != "Failure":
                return status
        except RecursionError:  # a deeply nested object; decode() reports more about it
            pass
        except DECODE_ERRORS as error:
            raise DecodeError(f"the answer from {url} is not an object: {fault_of(error)}") from None
        return self.decode(data, url)

    def decode_list(self, data: bytes, url: str = "", *, leave_out: bool = False) -> ObjectList[T]:
        """
        Decode a list.

        :param leave_out: leave out objects that do not fit the type, and name them in the list's `left_out`
        :raises DecodeError: if it is no list, or an object does not fit the type and is not to be left out
        :raises ApiError: if it is a Status, although the server answered with success
        """
        with self.reading_list(url):
            return self.checked(self._list_of(data), url, leave_out=leave_out)

    def checked(self, found: ObjectList[T], url: str, *, leave_out: bool) -> ObjectList[T]:
        """
        Return the list if nothing was left out of it, or everything left out has a name and may be left out.

        :raises DecodeError: otherwise
        """
        # Items without a name cannot be reported: then it is no list of objects.
        wrong = [one for one in found.left_out if not (leave_out and one.metadata.name)]
        if not wrong:
            return found
        first, *more = wrong
        others = f" (and {len(more)} more)" if more else ""
        raise DecodeError(f"the answer from {url} is not a list of {self.type.__name__}: {first.error}{others}")

    def list_reader(self, accept: Callable[[T], bool]) -> ListReader[T]:
        """
        Make a reader that decodes a list as it arrives. Use it within :meth:`reading_list`, which explains its errors.

        :param accept: called with each object; objects for which it returns False are left out
        """
        return ListReader(self._items_of, self._list_of, accept)

    @contextmanager
    def reading_list(self, url: str) -> Iterator[None]:
        """
        Raise errors of decoding a list in this ``with`` as a DecodeError that names the URL.

        :raises DecodeError: if what is decoded is no list
        """
        try:
            yield
        except DECODE_ERRORS as error:
            text = f"the answer from {url} is not a list of {self.type.__name__}: {fault_of(error)}"
            raise DecodeError(text) from None

    def _list_of(self, data: bytes) -> ObjectList[T]:
        left_out: list[Undecodable] = []
        try:
            found: _List[Any] = self._list.decode(data)
            if found.kind == "Status":  # without items, it would be an empty list
                raise error_from_status(decode_status(data))
            meta, items = found.metadata, self._made(found.items or [])
        except ApiError:
            raise
        except Exception as error:
            if type(error) is msgspec.DecodeError:  # it is not JSON, so the error is not in one object
                raise
            raw_meta, raw_items = split_list(data)
            meta = _list_meta.decode(raw_meta)
            items, left_out = decode_each(raw_items, self._decode_one, self._called)
        if self._complete is not None:
            self._complete(items)
        shard = meta.shard.selector if meta.shard is not None else ""
        return ObjectList(items, meta.resource_version, meta.continue_token, meta.remaining, left_out, shard)

    def _made(self, items: list[Any]) -> list[T]:
        """The objects of these decoded items."""
        return items if self._make is None else [self._make(item) for item in items]

    def _items_in(self, data: bytes) -> list[T]:
        if self._known:
            with suppress(msgspec.ValidationError):
                return cast("list[T]", [lazy_dict_of_known(item) for item in self._known_items.decode(data)])
            items = self._made(self._items.decode(data))
            self._known = False  # what does not fit either raises before this
            return items
        return self._made(self._items.decode(data))

    def _dict_events_in(self, lines: Piece) -> list[WatchEvent[T]]:
        assert self._make is not None
        if self._known:
            # 7.9 µs an event of 5.7 KB instead of 9.7: the bytes of the metadata are gone through once, not twice.
            with suppress(msgspec.ValidationError):
                return _with_objects(self._known_event.decode_lines(lines), lazy_dict_of_known)
            events = _with_objects(self._event.decode_lines(lines), self._make)
            self._known = False
            return events
        return _with_objects(self._event.decode_lines(lines), self._make)

    def _items_of(self, data: bytes) -> tuple[list[T], list[Undecodable]]:
        left_out: list[Undecodable] = []
        try:
            items = self._items_in(data)
        except Exception as error:
            if type(error) is msgspec.DecodeError:
                raise
            items, left_out = decode_each(split_items(data), self._decode_one, self._called)
        if self._complete is not None:
            self._complete(items)
        return items, left_out

    def decode_events(
        self, pieces: Iterable[Piece], *, leave_out: bool = False, passed: str = ""
    ) -> tuple[list[WatchEvent[T]], Status | DecodeError | None]:
        """
        Decode lines of a watch: the events, and what came after them if that is not an event.

        That is the Status of an ERROR event, or an error for a line that is no event. Later lines are not read.

        :param pieces: each of them one or more whole lines
        :param leave_out: if an event's object does not fit the type, put an :class:`Undecodable` in its place
        :param passed: the version of an unwanted event after these. A bookmark with this version takes its place
        """
        events: list[WatchEvent[T]] = []
        events_in = self._event.decode_lines if self._make is None else self._dict_events_in
        for piece in pieces:
            try:
                events += events_in(piece)
            except Exception:  # a user's hooks may raise anything
                more, failure = self._decode_one_by_one(bytes(piece), leave_out)
                events += more
                if failure is not None:
                    return events, failure
        if passed:
            mark = PartialObject(PartialMeta(resource_version=passed), self.api_version, self.kind)
            events.append(WatchEvent(BOOKMARK, cast("T", mark)))
        return events, None

    def _decode_one_by_one(
        self, lines: bytes, leave_out: bool
    ) -> tuple[list[WatchEvent[T]], Status | DecodeError | None]:
        """Decode line by line: for pieces with an ERROR, with a bookmark without required fields, or that fail."""
        events: list[WatchEvent[T]] = []
        for line in lines.splitlines():
            if not line.strip():
                continue
            try:
                event = self._event.decode(line)
                events.append(event if self._make is None else _with_objects([event], self._make)[0])
                continue
            except Exception:
                found: Any = decode_event(line, self._decode_one, self._called)
            if not isinstance(found, WatchEvent):
                return events, found
            if isinstance(found.object, Undecodable) and not leave_out:
                text = f"unable to decode an event from the watch stream: {found.object.error}"
                return events, DecodeError(text)
            events.append(found)
        return events, None


def _is_status(data: bytes) -> bool:
    try:
        return _type_meta.decode(data).kind == "Status"
    except (RecursionError, *DECODE_ERRORS):
        return False  # decoding it as an object says more


def _with_objects(events: list[Any], make: Callable[[Any], Any]) -> list[Any]:
    for event in events:
        event.object = make(event.object)
    return events


_ABSENT: Final = object()

#: The attributes of kubernetes_asyncio's own models, whose names differ from those of the API.
_ATTRIBUTES: Final = {"apiVersion": "api_version", "kind": "kind"}


def _fill_for(
    value_of: Callable[[str], Any], left_out: Collection[str], api_version: str, kind: str
) -> tuple[dict[str, str], bytes]:
    """
    The apiVersion and kind to add to a body: those that the object has by its type's defaults and does not write, and
    the resource's.

    :return: these, and the beginning of the body with them; empty if the object's JSON has one of them, if only empty
    """
    is_known = bool(kind and api_version)
    own = {"apiVersion": api_version if is_known else "", "kind": kind if is_known else ""}
    said = {name: value_of(name) for name in own}
    fill = {
        name: own[name] if value is _ABSENT or not value else value
        for name, value in said.items()
        if value is _ABSENT or not value or name in left_out
    }
    fill = {name: value for name, value in fill.items() if value}
    is_unsaid = all(said[name] is _ABSENT or name in left_out for name in fill)
    return fill, encode(fill)[:-1] if is_unsaid else b""


@lru_cache(maxsize=1024)
def _fill_for_struct(
    type_: type[msgspec.Struct], said_version: str | None, said_kind: str | None, api_version: str, kind: str
) -> tuple[dict[str, str], bytes]:
    with suppress(LookupError):  # it is a Struct of the user, which is of no kind
        want(type_, resource_for(type_).kind == kind or not kind, "the type of the object", f"that of a {kind}")
    said = {"apiVersion": said_version, "kind": said_kind}
    defaults = _defaults(type_) if type_.__struct_config__.omit_defaults else {}
    left_out = [name for name, value in said.items() if name in defaults and value == defaults[name]]
    has = {name: value for name, value in said.items() if attribute_of(type_, name) is not None}
    return _fill_for(lambda name: has.get(name, _ABSENT), left_out, api_version, kind)


def check_object(obj: Any) -> None:
    """
    Check that this can be the body of a request.

    :raises TypeError: if it is a text or None, a class, a coroutine that nobody has awaited, or the like
    """
    is_object = isinstance(obj, (Mapping, msgspec.Struct)) or hasattr(obj, "metadata") or hasattr(obj, "to_dict")
    want(obj, is_object and not isinstance(obj, type), "the object", "a model such as V1Pod(…), or a dict")


def _reader(obj: Any) -> Callable[[str], Any]:
    """A function that reads apiVersion or kind of what is no Struct. It gives ``_ABSENT`` if there is no such field."""
    if isinstance(obj, Mapping):
        return lambda json_name: obj.get(json_name, _ABSENT)
    return lambda json_name: getattr(obj, _ATTRIBUTES[json_name], _ABSENT)


def _left_out(obj: Any) -> Collection[str]:
    """The names of apiVersion and kind, if an object that is no Struct has them but leaves them out of its JSON."""
    if isinstance(obj, Mapping):
        return ()
    return [name for name, attribute in _ATTRIBUTES.items() if getattr(obj, attribute, None) is None]


@cache
def _defaults(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The defaults of a Struct's apiVersion and kind, by their names in JSON."""
    return {field.encode_name: field.default for field in fields(struct) if field.encode_name in _ATTRIBUTES}


def _completer(type_: type[Any], api_version: str, kind: str) -> Callable[[list[Any]], None] | None:
    """A function that sets apiVersion and kind of a list's items; None if they cannot have them."""
    if not kind or not api_version:
        return None
    if issubclass(type_, dict):

        def complete_dicts(items: list[Any]) -> None:
            for item in items:
                item.setdefault("apiVersion", api_version)
                item.setdefault("kind", kind)

        return complete_dicts
    if not issubclass(type_, msgspec.Struct) or type_.__struct_config__.frozen:
        return None
    version_field, kind_field = attribute_of(type_, "apiVersion"), attribute_of(type_, "kind")
    if (version_field, kind_field) == ("api_version", "kind"):

        def complete(items: list[Any]) -> None:
            for item in items:
                item.api_version = api_version
                item.kind = kind

        return complete
    wanted = [(name, value) for name, value in ((version_field, api_version), (kind_field, kind)) if name]

    def complete_others(items: list[Any]) -> None:
        for item in items:
            for name, value in wanted:
                setattr(item, name, value)

    return complete_others if wanted else None
