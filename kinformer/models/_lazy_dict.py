"""LazyDict: an object without a model, as a dict whose parts are decoded when they are first read.

Lists and watches of ``dict`` give these. A LazyDict is made from the JSON of one object. Its kind and its metadata are
decoded at once, because informers read those of each object. Other parts (spec, status) are :class:`msgspec.Raw` in the
dict's own storage. So are the lists in its metadata: managedFields, owner references, finalizers. The first read of
such a part decodes it and stores the result.

*Why a subclass of dict, and not a Mapping.* Code for custom resources uses ``isinstance(obj, dict)`` (patches, schema
validators, also our own code). It passes objects to :mod:`json`, to ``msgspec.json.encode``, to ``{**obj}`` and ``obj |
{}``. A Mapping fails with each of these; a subclass of dict works. The danger is C code that reads a dict's storage and
bypasses its methods. For such code, undecoded parts are in the storage under their keys. So the length, the keys and
their order are right. msgspec writes the bytes as they came. Any other encoder fails with an error at a
:class:`msgspec.Raw`, and leaves nothing out. ``__iter__`` is defined here because only that makes CPython's own
``dict(obj)``, ``{**obj}`` and ``update(obj)`` call the methods.

*Where it differs from a dict.* Some code accepts only a plain dict: ``type(obj) is dict``, PyYAML's safe dumper,
orjson, :func:`msgspec.convert`. Pass ``copy.deepcopy(obj)`` to it, which has plain dicts at all levels. A pickle gives
plain dicts, too. A shallow copy (``copy()``, ``dict(obj)``, ``|``) is a plain dict that shares its values with the
original, as for any dict. Well-formed JSON may still have parts that cannot be decoded: a number out of range, or text
that is not UTF-8. The first read of such a part raises :exc:`~kinformer.models.ObjectDecodeError`.
The keys of an object without other fields are in the order of a custom resource's (``apiVersion``, ``kind``,
``metadata``, ``spec``, ``status``), whatever their order in its JSON.

Several threads may read at once. Each may decode, but one result is stored, and all get that one. An assignment or
deletion is never overwritten by a reader that started before it.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

import msgspec

from kinformer.models._errors import DECODE_ERRORS, ObjectDecodeError, fault_of
from kinformer.models._lazy import filling

__all__ = ("KnownParts", "LazyDict", "Parts", "lazy_dict", "lazy_dict_of_known")

#: The fields of a JSON object by name, each as its bytes.
Parts: TypeAlias = dict[str, msgspec.Raw]

#: Metadata in one pass over its bytes. Lists, above all managedFields, are only divided into their items.
_Meta: TypeAlias = dict[str, str | int | float | bool | dict[str, Any] | list[msgspec.Raw] | None]

_Raw: Final = msgspec.Raw
_ABSENT: Final = object()

# Direct access to the storage. These are called with an object; as its methods they would be the ones below.
_peek: Final = dict.__getitem__
_peek_or: Final = dict.get
_poke: Final = dict.__setitem__
_peek_items: Final = dict.items

_decode: Final[Callable[[Any], Any]] = msgspec.json.Decoder().decode
_decode_meta: Final = msgspec.json.Decoder(_Meta).decode


class KnownParts(msgspec.Struct, rename={"api_version": "apiVersion"}, forbid_unknown_fields=True, gc=False):
    """
    The fields that custom resources have, for decoding an object and its metadata in one pass.

    An object that has any other field does not fit: no decoder of a Struct keeps what it does not know. Decode it as
    :data:`Parts`.
    """

    api_version: str = cast("str", msgspec.UNSET)
    kind: str = cast("str", msgspec.UNSET)
    metadata: _Meta = cast("_Meta", msgspec.UNSET)
    spec: msgspec.Raw = cast("msgspec.Raw", msgspec.UNSET)
    status: msgspec.Raw = cast("msgspec.Raw", msgspec.UNSET)


class LazyDict(dict[str, Any]):
    """A dict with the names of JSON whose values may not be decoded yet; see the module's docstring."""

    __slots__ = ()

    # --- reading

    def __getitem__(self, key: str) -> Any:
        value = _peek(self, key)
        return self._read(key, value) if type(value) is _Raw else value

    def get(self, key: str, default: Any = None) -> Any:
        value = _peek_or(self, key, _ABSENT)
        if value is _ABSENT:
            return default
        return self._read(key, value) if type(value) is _Raw else value

    def __iter__(self) -> Any:
        # See the module's docstring: because of this method, dict(obj) does not read the storage directly.
        return super().__iter__()

    def items(self) -> Any:
        self._read_all()
        return super().items()

    def values(self) -> Any:
        self._read_all()
        return super().values()

    def read(self) -> None:
        """
        Decode all parts that were not read yet, also in the metadata.

        :raises ObjectDecodeError: if a part cannot be decoded
        """
        for value in self.values():
            if type(value) is LazyDict:
                value.read()

    def look(self, key: str, default: Any = None) -> Any:
        """
        The value that a read would give, without storing it. Use it to examine many objects once.

        :raises ObjectDecodeError: if it cannot be decoded
        """
        value = _peek_or(self, key, default)
        return self._decoded(key, value) if type(value) is _Raw else value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, dict):
            return NotImplemented
        if len(self) != len(other):
            return False
        peek_other = _peek_or if isinstance(other, LazyDict) else type(other).get
        for key, mine in list(_peek_items(self)):
            theirs = peek_other(other, key, _ABSENT)
            if theirs is _ABSENT:
                return False
            # Equal bytes have the same meaning; different bytes may have it, too.
            if mine is theirs or mine == theirs:
                continue
            raw_mine, raw_theirs = type(mine) is _Raw, type(theirs) is _Raw
            if not (raw_mine or raw_theirs):
                return False
            try:
                if raw_mine:
                    mine = self._decoded(key, mine)
                if raw_theirs:
                    theirs = cast("LazyDict", other)._decoded(key, theirs)
            except ObjectDecodeError:
                return False
            if mine != theirs:
                return False
        return True

    def __ne__(self, other: object) -> bool:
        # dict has its own method, which would be used otherwise.
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = None  # as for every dict

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{key!r}: {self._shown(key)}' for key in list(self))}}}"

    # --- copies: plain dicts

    def copy(self) -> dict[str, Any]:
        return dict(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        memo[id(self)] = copied = {}
        for key, value in list(_peek_items(self)):
            copied[key] = self._decoded(key, value) if type(value) is _Raw else copy.deepcopy(value, memo)
        return copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (), None, None, iter(self.copy().items())

    def twin(self) -> LazyDict:
        """A deep copy that is as lazy as this one: decoded parts are copied, and bytes are shared."""
        made = LazyDict()
        for key, value in list(_peek_items(self)):
            if type(value) is not _Raw:
                value = value.twin() if type(value) is LazyDict else copy.deepcopy(value)
            _poke(made, key, value)
        return made

    def __or__(self, other: Any) -> Any:
        return {**self, **other} if isinstance(other, dict) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return {**other, **self} if isinstance(other, dict) else NotImplemented

    # --- changes: not while a reader stores a decoded value

    def __setitem__(self, key: str, value: Any) -> None:
        with filling:
            _poke(self, key, value)

    def __delitem__(self, key: str) -> None:
        with filling:
            super().__delitem__(key)

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def setdefault(self, key: str, default: Any = None) -> Any:
        with filling:
            super().setdefault(key, default)
        return self[key]

    def update(self, *args: Any, **kwargs: Any) -> None:
        changes: dict[str, Any] = dict(*args, **kwargs)  # before the lock: a generator may run any code
        with filling:
            super().update(changes)

    def clear(self) -> None:
        with filling:
            super().clear()

    def pop(self, key: str, *default: Any) -> Any:
        if key in self:
            self[key]  # if it does not decode, the error comes before anything has changed
        with filling:
            return super().pop(key, *default)

    def popitem(self) -> tuple[str, Any]:
        for key in reversed(self):
            return key, self.pop(key)
        return super().popitem()  # raises the error of an empty dict

    # --- decoding

    def _read(self, key: str, raw: msgspec.Raw) -> Any:
        value = self._decoded(key, raw)
        with filling:
            if _peek_or(self, key) is raw:
                _poke(self, key, value)
                return value
        # Another thread was faster, and all must get its result; or the value was changed.
        return self.get(key, value)

    def _read_all(self) -> None:
        for key, value in list(_peek_items(self)):
            if type(value) is _Raw:
                self._read(key, value)

    def _decoded(self, key: str, raw: msgspec.Raw) -> Any:
        try:
            return _decode(raw)
        except DECODE_ERRORS as error:
            fault = fault_of(error)
        # Outside the except, because decoders' errors quote their input and must not be the context of this one.
        raise ObjectDecodeError(_named(self), fault.under(key))

    def _shown(self, key: str) -> str:
        try:
            return repr(self.look(key))
        except ObjectDecodeError:
            return "<does not decode>"


def lazy_dict(parts: Parts) -> LazyDict:
    """
    Make an object from its fields, as a decoder of :data:`Parts` gives them.

    :raises ValueError: if its kind or its metadata cannot be decoded
    """
    obj = LazyDict(parts)
    for name in ("apiVersion", "kind"):
        if (raw := parts.get(name)) is not None:
            value = _decode(raw)
            _poke(obj, name, sys.intern(value) if type(value) is str else value)
    if (raw := parts.get("metadata")) is not None:
        _poke(obj, "metadata", _metadata(raw))
    return obj


def lazy_dict_of_known(parts: KnownParts) -> LazyDict:
    """Make an object of its fields, as a decoder of :class:`KnownParts` gives them."""
    unset: Any = msgspec.UNSET
    found: dict[str, Any] = {}
    if (api_version := parts.api_version) is not unset:
        found["apiVersion"] = sys.intern(api_version)
    if (kind := parts.kind) is not unset:
        found["kind"] = sys.intern(kind)
    if (metadata := parts.metadata) is not unset:
        found["metadata"] = _lazy_metadata(metadata)
    if (spec := parts.spec) is not unset:
        found["spec"] = spec
    if (status := parts.status) is not unset:
        found["status"] = status
    return LazyDict(found)


def _metadata(raw: msgspec.Raw) -> Any:
    try:
        found = _decode_meta(raw)
    except msgspec.ValidationError:  # it is not an object; an API server never sends that, other servers may
        return _decode(raw)
    return _lazy_metadata(found)


def _lazy_metadata(found: dict[str, Any]) -> LazyDict:
    for name, value in found.items():
        if type(value) is list and value:
            # Its items refer to the bytes of the response. Joined, they get memory of their own.
            found[name] = _Raw(b"[%b]" % b",".join(value))
    return LazyDict(found)


def _named(obj: LazyDict) -> str:
    """The object's name in errors, ``Widget default/web``; for a part of an object, as much as it has."""
    meta = _peek_or(obj, "metadata")
    meta = meta if isinstance(meta, dict) else obj
    kind, namespace, name = (_text(one) for one in (_peek_or(obj, "kind"), meta.get("namespace"), meta.get("name")))
    return " ".join(filter(None, (kind, f"{namespace}/{name}" if namespace and name else name))) or "an object"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
