"""Keeping of dicts: the same as :mod:`kinformer.models._keeping`, for dicts.

These functions change a :class:`~kinformer.models.LazyDict` in place, before any other code can see it. A plain dict,
as a user's own lister-watcher may give, is not changed, because other code may have it.

Nothing is dropped, not even managedFields: a dict has everything that the server sent. A part that was read is not
taken over by the next object. It would have to be checked for changes, and dicts are easily changed.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import msgspec

from kinformer.models._lazy_dict import LazyDict
from kinformer.recurring import make_room, once

__all__ = ("detach_dict", "detach_dict_eagerly", "intern_dict", "succeed_dict", "succeed_dict_eagerly")

_Raw: Final = msgspec.Raw
_peek_or: Final = dict.get
_poke: Final = dict.__setitem__
_items: Final = dict.items

#: Bytes: a part up to this size takes less memory when it is decoded: ``null``, ``{}``, ``"Opaque"``.
_TINY: Final = 24

#: The length up to which annotations are shared: longer ones are documents rather than switches.
_SHORT: Final = 8


def detach_dict(obj: Any) -> None:
    """Give each part that was not read yet its own bytes."""
    if type(obj) is LazyDict:
        for key, value in _items(obj):
            if type(value) is _Raw:
                if len(value) > _TINY:
                    _poke(obj, key, value.copy())
                else:
                    obj[key]  # reading stores the decoded value


def detach_dict_eagerly(obj: Any) -> None:
    """
    Decode everything.

    :raises ObjectDecodeError: if something cannot be decoded
    """
    if type(obj) is LazyDict:
        obj.read()


def succeed_dict(old: Any, new: Any) -> None:
    """Take over parts that are equal in the stored object, and give all other parts their own bytes."""
    if type(new) is not LazyDict or type(old) is not LazyDict:
        detach_dict(new)
        return
    for key, value in _items(new):
        if type(value) is _Raw:
            was = _peek_or(old, key)
            if type(was) is _Raw and was == value:
                _poke(new, key, was)
            elif len(value) > _TINY:
                _poke(new, key, value.copy())
            else:
                new[key]
    before, after = _peek_or(old, "metadata"), _peek_or(new, "metadata")
    if type(before) is LazyDict and type(after) is LazyDict:
        # Recurring strings in these parts are already shared (see below). All other parts have their own memory.
        if (labels := _peek_or(after, "labels")) and labels == (was := _peek_or(before, "labels")):
            _poke(after, "labels", was)
        if (annotations := _peek_or(after, "annotations")) and annotations == (was := _peek_or(before, "annotations")):
            _poke(after, "annotations", was)


def succeed_dict_eagerly(_: Any, new: Any) -> None:
    """
    Decode everything.

    :raises ObjectDecodeError: if something cannot be decoded
    """
    detach_dict_eagerly(new)


def intern_dict(obj: Any) -> None:
    """Share strings that occur in many objects: the namespace, label values, short annotations."""
    if type(obj) is not LazyDict or type(meta := _peek_or(obj, "metadata")) is not LazyDict:
        return
    make_room()
    for name in ("namespace", "generateName"):
        if type(value := _peek_or(meta, name)) is str:
            _poke(meta, name, once(value, value))
    for name, longest in (("labels", sys.maxsize), ("annotations", _SHORT)):
        if type(texts := _peek_or(meta, name)) is dict:
            for key, value in texts.items():
                if type(value) is str and len(value) <= longest:
                    texts[key] = once(value, value)
