"""What :mod:`kinformer.models._keeping` does for models, for dicts: what is kept of each costs little.

A :class:`~kinformer.models.LazyDict` goes in and is changed in place, before anybody else can see it. A plain dict, as
a lister-watcher of one's own may give, is left as it is: nobody knows who else has it.

Nothing is dropped, managedFields neither: a dict is all of what the server sent. What somebody has read is not taken
over by the next object: that would have to be checked against changes, which dicts invite.
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

#: Bytes of a part that takes less when it is decoded: ``null``, ``{}``, ``"Opaque"``.
_TINY: Final = 24

#: Annotations that are switches rather than documents.
_SHORT: Final = 8


def detach_dict(obj: Any) -> None:
    """Give each part that nobody has read a memory of its own."""
    if type(obj) is LazyDict:
        for key, value in _items(obj):
            if type(value) is _Raw:
                if len(value) > _TINY:
                    _poke(obj, key, value.copy())
                else:
                    obj[key]  # reading keeps what is decoded


def detach_dict_eagerly(obj: Any) -> None:
    """
    Decode everything.

    :raises ObjectDecodeError: if something cannot be decoded
    """
    if type(obj) is LazyDict:
        obj.read()


def succeed_dict(old: Any, new: Any) -> None:
    """Take over from an object that is kept what its successor has, too; detach the rest."""
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
        # Strings that recur were interned in these (see below). All else has a memory of its own already.
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
    """Have strings that recur in many objects held once: the namespace, labels' values, short annotations."""
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
