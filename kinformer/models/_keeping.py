"""Keeping: makes decoded objects small that are kept for long, as in a cache.

These functions change a decoded object in place, before any other code can see it. Fields that were not read yet get
their own bytes, instead of a part of a whole list. Strings that recur are stored once. Parts that are equal to those of
the stored object are taken over from it, in decoded form if that was decoded.

Instructions of an event, counted by callgrind as in ``python -m benchmarks.guard`` (Python 3.11; the first row on
2026-11-28, the others on 2026-11-23, when the second figure of the first row was 176,470):

==========================================  ==================  ===========================
what                                        metadata is read    spec and status are, too
==========================================  ==================  ===========================
as it is                                    109,256             138,003
nothing is taken over from a stored object  122,927 (+12 %)     233,379 (+69 %)
decoded parts are not taken over            the same            230,858 (+67 %)
==========================================  ==================  ===========================

Writing out the loop over spec and status would save 3.2 % and 1.7 %. That is less than the 5 % that such code has to
save, so the loop stays a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar, cast

import msgspec

from kinformer.meta import accessor_for
from kinformer.models._base import Model
from kinformer.models._build import slots_can_be_covered
from kinformer.models._complete import complete, completed
from kinformer.models._compressed import holds
from kinformer.models._errors import ObjectDecodeError
from kinformer.models._fingerprints import fingerprint, fingerprint_of
from kinformer.models._keeping_dicts import (
    detach_dict,
    detach_dict_eagerly,
    intern_dict,
    succeed_dict,
    succeed_dict_eagerly,
)
from kinformer.models._lazy import LazyField, Mark, filling, marks_of, source_of
from kinformer.models._packed import unpacked
from kinformer.recurring import make_room, once

__all__ = ("OnChanged", "detacher_for", "has_object_meta", "interner_for", "own_parts_for", "successor_for")

T = TypeVar("T")

#: Called with an object and the JSON name of a field, if the field was changed although the object is shared.
OnChanged: TypeAlias = Callable[[Any, str], None]

#: A decoded part is checked for changes each time it was taken over this often. A check reads all of the part, which is
#: not in the processor's cache. For a pod that is read it takes 14 us, more than half of the time of an event.
_CHECKED_EACH = 16

#: The length up to which annotations are shared: longer ones are documents rather than switches.
_SHORT = 8


def detacher_for(
    type_: type[T], *, keep_managed_fields: bool = False, eager: bool = False, early: Collection[str] = ()
) -> Callable[[T], None]:
    """
    Make the function to call on each decoded object of a type that is to be kept for long.

    Fields that were not read yet refer to the bytes that the object came in: a line of a watch, or a list of thousands.
    The function gives each such field its own bytes, and drops managedFields (which are often half of an object) unless
    they are to be kept. For other types it does nothing.

    :param eager: decode these fields now instead. The function then raises :exc:`ObjectDecodeError` for an object that
        does not fit its type
    :param early: the attributes to decode now, as far as the type has them. Heavy parts in them stay bytes, and so
        does a value that does not fit its type
    """
    return _detacher_for(cast("Any", type_), keep_managed_fields, eager, tuple(early))


def interner_for(type_: type[T]) -> Callable[[T], None]:
    """
    Make the function to call on objects of a type of which many are kept, so that recurring strings are stored once.

    These are label values, short annotations, namespaces, and owners: 0.8 KiB of a pod's 6. It takes some 2 us. For an
    object that replaces a stored one, :func:`successor_for` does the same for less.
    """
    if type_ is dict:
        return cast("Callable[[T], None]", intern_dict)
    return _intern if has_object_meta(type_) else _keep


def successor_for(
    type_: type[T],
    *,
    keep_managed_fields: bool = False,
    eager: bool = False,
    compressed: bool = False,
    on_changed: OnChanged | None = None,
) -> Callable[[T, T], None]:
    """
    Make the function to call with a stored object and a decoded one that replaces it: a cheaper :func:`detacher_for`.

    Parts that have not changed are taken over from the old object: labels, annotations, owners, and the undecoded bytes
    of spec and status. Most of an object never changes, so most of it is neither copied nor freed. Neither object may
    be changed afterwards. For types other than models of top-level kinds it does nothing.

    If the old object's spec has been decoded, because it is read, and the new object has the same bytes, it takes over
    the decoded result, and is not decoded again. So a field that is always read is decoded only when it changes.
    Otherwise it costs 0.5 us/KB. While a decoded spec has its bytes (:func:`~kinformer.models._lazy.source_of`), these
    are compared. Bytes are not kept just for that, because they would take a third of a pod's memory. Without them, the
    new object's bytes get a fingerprint, and the next object with the same bytes takes over what became of these.

    Each sixteenth time, a part that is taken over is checked for changes. It is encoded, and must give the same as the
    new bytes after decoding and encoding. If it does not, the new object is decoded from its own bytes. So a change
    that was made to a shared object does not stay for ever.

    :param compressed: whether parts of stored objects may be compressed. A part with the same JSON is taken over then,
        too. To see whether it has takes 0.25 us/KB
    :param on_changed: called if such a change was found, with the object that was changed
    """
    return _successor_for(cast("Any", type_), keep_managed_fields, eager, compressed, on_changed)


def own_parts_for(type_: type[Model]) -> Callable[[Any], None]:
    """
    Make the function that gives an object bytes of its own, like :func:`detacher_for`, while others may have it.

    Binaries are unpacked, and compressed parts stay compressed. A part that another thread reads at the same time keeps
    what that thread has stored.
    """
    fields = _lazy_fields(type_)

    def own(obj: Any) -> None:
        for field in fields:
            _own(field, obj)
        if (meta := obj.metadata) is not None:
            _own(type(meta).__lazy_fields__["managed_fields"], meta)

    return own


def _own(field: LazyField, obj: Any) -> None:
    value = field.peek(obj)
    if type(value) is msgspec.Raw:
        made = unpacked(value) or value.copy()
        with filling:
            if field.peek(obj) is value:
                field.poke(obj, made)


def has_object_meta(type_: type[Any]) -> bool:
    """Whether objects of a type have a model's metadata: models of top-level kinds, and some users' Structs."""
    if issubclass(type_, Model):
        return type_.openapi_types.get("metadata") == "V1ObjectMeta"
    if not issubclass(type_, msgspec.Struct) or "metadata" not in type_.__struct_fields__:
        return False
    try:
        declared = accessor_for(type_).declared_meta
    except TypeError:
        return False
    return declared is not None and issubclass(declared, Model) and declared.__name__ == "V1ObjectMeta"


def _lazy_fields(type_: type[Any]) -> tuple[LazyField, ...]:
    return tuple(type_.__lazy_fields__.values()) if issubclass(type_, Model) else ()


def _eager_decoder_for(type_: type[Any], keep_managed_fields: bool) -> Callable[[Any], None]:
    """Make the function that decodes all fields but those that a stored object has handed over: these are decoded."""
    fields = _lazy_fields(type_)
    raw = msgspec.Raw

    def decode(obj: Any) -> None:
        is_complete = True
        for field in fields:
            if type(field.peek(obj)) is raw:
                is_complete &= field.read_all(obj)
        if keep_managed_fields and (meta := obj.metadata) is not None:
            managed = type(meta).__lazy_fields__["managed_fields"]
            if type(managed.peek(meta)) is raw:
                is_complete &= managed.read_all(meta)
        if not is_complete:
            complete(obj)

    return decode if fields else complete


@cache
def _detacher_for(
    type_: type[Any], keep_managed_fields: bool, eager: bool, early: tuple[str, ...]
) -> Callable[[Any], None]:
    if type_ is dict:
        return detach_dict_eagerly if eager else detach_dict
    if not has_object_meta(type_) or not slots_can_be_covered():
        return _keep
    fields = _lazy_fields(type_)
    # Called for every event, so the work of a LazyField is written out.
    slots = tuple((field.peek, field.poke) for field in fields)
    read_by_all = tuple(type_.__lazy_fields__[name] for name in early if name in type_.__lazy_fields__)
    raw = msgspec.Raw

    def detach_eagerly(obj: Any) -> None:
        meta = obj.metadata
        if meta is not None and not keep_managed_fields:
            type(meta).__lazy_fields__["managed_fields"].poke(meta, None)
        decode(obj)

    decode = _eager_decoder_for(type_, keep_managed_fields)

    def detach(obj: Any) -> None:
        for field in read_by_all:
            value = field.peek(obj)
            if type(value) is raw:
                with suppress(ObjectDecodeError):  # whoever reads it gets the error
                    field.poke(obj, field.detached(obj, value))
        for peek, poke in slots:
            value = peek(obj)
            if type(value) is raw:
                poke(obj, value.copy())
        meta = obj.metadata
        if meta is None:
            return
        managed = type(meta).__lazy_fields__["managed_fields"]
        if not keep_managed_fields:
            managed.poke(meta, None)
        elif type(value := managed.peek(meta)) is raw:
            managed.poke(meta, value.copy())

    return detach_eagerly if eager else detach


def _successor_for(
    type_: type[Any], keep_managed_fields: bool, eager: bool, compressed: bool, on_changed: OnChanged | None
) -> Callable[[Any, Any], None]:
    if type_ is dict:
        return succeed_dict_eagerly if eager else succeed_dict
    if not has_object_meta(type_) or not slots_can_be_covered():
        return _share_nothing
    fields = _lazy_fields(type_)
    slots = tuple((field.peek, field.poke) for field in fields)
    raw = msgspec.Raw
    managed: LazyField | None = None

    def succeed_unread(old: Any, new: Any) -> bool:
        read = False
        for peek, poke in slots:
            now = peek(new)
            if type(now) is raw:
                was = peek(old)
                if type(was) is raw:
                    poke(new, was if was == now or (compressed and holds(was, now)) else own(now))
                else:
                    read = True
        return read

    def succeed(old: Any, new: Any) -> None:
        nonlocal managed
        if succeed_unread(old, new):
            _succeed_decoded(fields, old, new, own, compressed, on_changed)
        after = new.metadata
        if after is None:
            return
        before = old.metadata
        if managed is None:  # at the first object: all have the same type of metadata
            managed = type(after).__lazy_fields__["managed_fields"]
        if not keep_managed_fields:
            managed.poke(after, None)
        elif before is not None:
            _succeed_decoded((managed,), before, after, own, compressed, on_changed)
        if before is None:
            return
        if after.labels == (labels := before.labels):
            after.labels = labels
        if after.annotations == (annotations := before.annotations):
            after.annotations = annotations
        if after.owner_references == (owners := before.owner_references):
            after.owner_references = owners

    def succeed_eagerly(old: Any, new: Any) -> None:
        succeed(old, new)
        decode(new)

    #: Gives a part its own bytes. A part that is decoded at once needs none.
    own = _as_it_is if eager else _copied
    decode = _eager_decoder_for(type_, keep_managed_fields)
    return succeed_eagerly if eager else succeed


def _succeed_decoded(
    fields: tuple[LazyField, ...],
    old: Any,
    new: Any,
    own: Callable[[msgspec.Raw], msgspec.Raw],
    compressed: bool,
    on_changed: OnChanged | None,
) -> None:
    """Do the same for fields of `old` that may have been read."""
    raw = msgspec.Raw
    known = marks_of(old)
    marks: list[Mark | None] = []
    for number, field in enumerate(fields):
        mark = None
        now = field.peek(new)
        if type(now) is raw:
            was = field.peek(old)
            if was is None or type(was) is raw:
                if now is not was:
                    same = was == now or (compressed and was is not None and holds(was, now))
                    field.poke(new, was if same else own(now))
            else:
                source = source_of(was)
                bytes_ = fingerprint(now) if source is None else None
                mark = None if known is None else known[number]
                same = source == now if source is not None else mark is not None and mark.bytes == bytes_
                if not same or mark is None or mark.bytes != bytes_:
                    mark = Mark(bytes_)
                if same:
                    mark.taken += 1
                    if not mark.taken % _CHECKED_EACH and not _is_unchanged(mark, field, was, old, now, on_changed):
                        same, mark = False, Mark(bytes_)
                field.poke(new, was if same else own(now))
        marks.append(mark)
    new._marks = tuple(marks)


def _is_unchanged(
    mark: Mark, field: LazyField, was: Any, obj: Any, now: msgspec.Raw, on_changed: OnChanged | None
) -> bool:
    """
    Whether a decoded part is still what its bytes say.

    :param was: the decoded part of `obj`
    :param now: the bytes
    """
    if mark.encoded is None:
        # Computed once for these bytes, and not when they are first decoded: most are not taken over so often.
        mark.encoded = fingerprint_of(complete(field.decoded(obj, now)))
    if mark.encoded is None:  # it cannot be encoded, so it is decoded again
        return False
    found = None
    # Undecoded bytes within it may differ from the same part after decoding and encoding.
    with suppress(ObjectDecodeError):
        found = fingerprint_of(completed(was))
    if found == mark.encoded:
        return True
    if on_changed is not None:
        on_changed(obj, field.json_name)
    return False


def _intern(obj: Any) -> None:
    meta = obj.metadata
    if meta is None:
        return
    make_room()
    if meta.namespace is not None:
        meta.namespace = once(meta.namespace, meta.namespace)
    if meta.generate_name is not None:
        meta.generate_name = once(meta.generate_name, meta.generate_name)
    if labels := meta.labels:
        for key, value in labels.items():
            labels[key] = once(value, value)
    if annotations := meta.annotations:
        for key, value in annotations.items():
            if len(value) <= _SHORT:
                annotations[key] = once(value, value)
    for owner in meta.owner_references or ():
        if owner.api_version is not None:
            owner.api_version = once(owner.api_version, owner.api_version)
        if owner.kind is not None:
            owner.kind = once(owner.kind, owner.kind)
        if owner.uid is not None:
            owner.uid = once(owner.uid, owner.uid)
        if owner.name is not None:
            owner.name = once(owner.name, owner.name)


_copied: Final = msgspec.Raw.copy


def _as_it_is(part: msgspec.Raw) -> msgspec.Raw:
    return part


def _keep(_: Any) -> None:
    """Do nothing: objects of this type have no such parts."""


def _share_nothing(_: Any, __: Any) -> None:
    """Do nothing: objects of this type share no parts."""
