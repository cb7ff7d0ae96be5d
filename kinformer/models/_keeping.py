"""What to do with decoded objects that are kept for long, as a cache keeps them, so that each costs little.

A decoded object goes in and is changed in place: fields that nobody has read get bytes of their own instead of a piece
of a whole list, strings that recur are held once, and what is the same as in the object that was there before is taken
over from it, decoded where that one was. For what is no model of a top-level kind nothing is done.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from kinformer.models._base import LazyField, Model, fingerprints_of, note_fingerprints

__all__ = ("detacher_for", "interner_for", "successor_for")

T = TypeVar("T")

#: Annotations that are switches rather than documents.
_SHORT = 8

#: Nobody who writes objects knows it, so that nobody can make two pieces of JSON with the same fingerprint.
_SALT = os.urandom(16)


def detacher_for(type_: type[T], *, keep_managed_fields: bool = False, eager: bool = False) -> Callable[[T], None]:
    """
    What to call on each decoded object of a type before it is kept for long.

    Fields that nobody has read are pieces of the bytes that the object came in: of one line of a watch, of a list of
    thousands. The returned function gives each such piece a memory of its own, and drops managedFields (which are
    often half of an object) unless they are to be kept. For what is no model of a top-level kind it does nothing.

    :param eager: decode these fields now, instead
    """
    return _detacher_for(cast("Any", type_), keep_managed_fields, eager)


def interner_for(type_: type[T]) -> Callable[[T], None]:
    """
    What to call on objects of a type of which many are kept, so that strings that recur are held once.

    These are labels' values, short annotations, namespaces, and what owners are: 0.8 KiB of a pod's 6. It takes some
    2 us; for what replaces an object that is kept already, :func:`successor_for` does the same for less.
    """
    return _intern if _has_object_meta(type_) else _keep


def successor_for(type_: type[T], *, keep_managed_fields: bool = False, eager: bool = False) -> Callable[[T, T], None]:
    """
    What to call with an object that is kept and a decoded one that takes its place: :func:`detacher_for`, for less.

    What has not changed is taken over from the old object: labels, annotations, owners, the bytes of spec and status
    that nobody has read. Most of an object never changes, so most of it is neither copied nor let go. Neither object
    may be changed afterwards. For what is no model of a top-level kind it does nothing.

    Where the old object's spec has been decoded (somebody reads it), its successor's bytes get a fingerprint before
    they are decoded, too; the next object that comes with the same bytes takes over what became of them, and is not
    decoded again. So a field that is always read is decoded when it changes, and costs 0.5 us/KB when it does not.
    The bytes themselves are not kept beside what they were decoded to: that would be a third of a pod's memory.
    """
    return _successor_for(cast("Any", type_), keep_managed_fields, eager)


def _has_object_meta(type_: type[Any]) -> bool:
    return issubclass(type_, Model) and type_.openapi_types.get("metadata") == "V1ObjectMeta"


@cache
def _detacher_for(type_: type[Any], keep_managed_fields: bool, eager: bool) -> Callable[[Any], None]:
    if not _has_object_meta(type_):
        return _keep
    fields: tuple[LazyField, ...] = tuple(type_.__lazy_fields__.values())
    # Called for every event: what a LazyField would do for itself is written out.
    slots = tuple((field.peek, field.poke) for field in fields)
    raw = msgspec.Raw

    def detach_eagerly(obj: Any) -> None:
        for field in fields:
            field.__get__(obj)
        meta = obj.metadata
        if meta is not None:
            managed = type(meta).__lazy_fields__["managed_fields"]
            if keep_managed_fields:
                managed.__get__(meta)
            else:
                managed.poke(meta, None)

    def detach(obj: Any) -> None:
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


@cache
def _successor_for(type_: type[Any], keep_managed_fields: bool, eager: bool) -> Callable[[Any, Any], None]:
    if not _has_object_meta(type_):
        return _share_nothing
    fields: tuple[LazyField, ...] = tuple(type_.__lazy_fields__.values())
    slots = tuple((field.peek, field.poke) for field in fields)
    raw = msgspec.Raw
    managed: LazyField | None = None

    def succeed(old: Any, new: Any) -> None:
        nonlocal managed
        read = False
        for peek, poke in slots:
            now = peek(new)
            if type(now) is raw:
                was = peek(old)
                if type(was) is raw:
                    poke(new, was if was == now else now.copy())
                else:
                    read = True
        if read:
            _succeed_decoded(fields, old, new)
        after = new.metadata
        if after is None:
            return
        before = old.metadata
        if managed is None:  # with the first object: the type of its metadata is the same for all
            managed = type(after).__lazy_fields__["managed_fields"]
        if not keep_managed_fields:
            managed.poke(after, None)
        elif before is not None:
            _succeed_decoded((managed,), before, after)
        if before is None:
            return
        if after.labels == before.labels:
            after.labels = before.labels
        if after.annotations == before.annotations:
            after.annotations = before.annotations
        if after.owner_references == before.owner_references:
            after.owner_references = before.owner_references

    def succeed_eagerly(old: Any, new: Any) -> None:
        succeed(old, new)
        detach(new)

    detach = detacher_for(type_, keep_managed_fields=keep_managed_fields, eager=eager)
    return succeed_eagerly if eager else succeed


def _succeed_decoded(fields: tuple[LazyField, ...], old: Any, new: Any) -> None:
    """What remains to be done where fields of `old` may have been read."""
    known = fingerprints_of(old) or (None,) * len(fields)
    noted: list[int | None] = []
    for field, known_one in zip(fields, known, strict=True):
        was, now = field.peek(old), field.peek(new)
        fingerprint = None
        if type(now) is msgspec.Raw and now is not was:
            if was is None or type(was) is msgspec.Raw:
                field.poke(new, was if was == now else now.copy())
            else:
                fingerprint = hash(_SALT + now)
                field.poke(new, was if fingerprint == known_one else now.copy())
        noted.append(fingerprint)
    note_fingerprints(new, tuple(noted))


def _intern(obj: Any) -> None:
    meta = obj.metadata
    if meta is None:
        return
    intern = sys.intern
    if meta.namespace is not None:
        meta.namespace = intern(meta.namespace)
    if meta.generate_name is not None:
        meta.generate_name = intern(meta.generate_name)
    if labels := meta.labels:
        for key in labels:
            labels[key] = intern(labels[key])
    if annotations := meta.annotations:
        for key, value in annotations.items():
            if len(value) <= _SHORT:
                annotations[key] = intern(value)
    for owner in meta.owner_references or ():
        if owner.api_version is not None:
            owner.api_version = intern(owner.api_version)
        if owner.kind is not None:
            owner.kind = intern(owner.kind)
        if owner.uid is not None:
            owner.uid = intern(owner.uid)
        if owner.name is not None:
            owner.name = intern(owner.name)


def _keep(_: Any) -> None:
    """There is nothing in the object that this is about."""


def _share_nothing(_: Any, __: Any) -> None:
    """There is nothing in the objects that this is about."""
