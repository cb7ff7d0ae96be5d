"""LazyDict: an object without a model, as a dict whose parts stay the server's bytes until somebody reads them.

Lists and watches of ``dict`` give these; what flows in is the JSON of one object. Its kind and its metadata are decoded
at once, for that is what informers read of each. Whatever else it has (spec, status) is :class:`msgspec.Raw` in the
dict's own storage, and so are the lists in its metadata: managedFields, owner references, finalizers. The first reading
of such a part decodes it and keeps the result.

*Why a subclass of dict, and not a Mapping.* Users of custom resources ask ``isinstance(obj, dict)`` (patches, schema
validators, our own code too), hand objects to :mod:`json`, to ``msgspec.json.encode``, to ``{**obj}`` and ``obj | {}``.
A Mapping fails at each of these, a subclass of dict passes. Its danger is C code that reads a dict's storage past its
methods. Hence the parts that nobody has read are in the storage, under their keys: the length, the keys and their order
are right for such code, msgspec writes the bytes as they came, and any other encoder fails loudly at a
:class:`msgspec.Raw` rather than leave something out. ``__iter__`` is defined here because that alone makes
CPython's own ``dict(obj)``, ``{**obj}`` and ``update(obj)`` ask the methods.

*Where the difference shows.* Code that wants a dict and nothing else: ``type(obj) is dict``, PyYAML's safe dumper,
orjson, :func:`msgspec.convert`. Give it ``copy.deepcopy(obj)``: that is plain dicts through and through, and so is
what comes out of a pickle. A shallow copy (``copy()``, ``dict(obj)``, ``|``) is a plain dict, too, and shares its
values with the original, as a dict's does. JSON that was well formed may still hold what cannot be decoded, a number
out of range or text that is not UTF-8: reading such a part raises :exc:`~kinformer.models.ObjectDecodeError`.

Several threads may read at once: each may decode, one result is kept, and all get that one. What somebody assigns or
deletes is never undone by a reader that had begun before.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

import msgspec

from kinformer.models._errors import DECODE_ERRORS, ObjectDecodeError, fault_of
from kinformer.models._lazy import filling

__all__ = ("LazyDict", "Parts", "lazy_dict")

#: The fields of a JSON object by name, each as its bytes.
Parts: TypeAlias = dict[str, msgspec.Raw]

_Raw: Final = msgspec.Raw
_ABSENT: Final = object()

# The storage as it is. Called with an object rather than on it: on it they would be the methods below.
_peek: Final = dict.__getitem__
_peek_or: Final = dict.get
_poke: Final = dict.__setitem__
_peek_items: Final = dict.items

_decode: Final[Callable[[Any], Any]] = msgspec.json.Decoder().decode
#: Metadata in one pass over its bytes: lists, managedFields above all, are only cut into their items.
_decode_meta: Final = msgspec.json.Decoder(
    dict[str, str | int | float | bool | dict[str, Any] | list[msgspec.Raw] | None]
).decode


class LazyDict(dict[str, Any]):
    """A dict with JSON's names whose values may not be decoded yet; see the module for what it promises."""

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
        # See the module's docstring: this is what keeps dict(obj) out of the storage.
        return super().__iter__()

    def items(self) -> Any:
        self._read_all()
        return super().items()

    def values(self) -> Any:
        self._read_all()
        return super().values()

    def read(self) -> None:
        """
        Decode whatever nobody has read, here and in the metadata.

        :raises ObjectDecodeError: if something cannot be decoded
        """
        for value in self.values():
            if type(value) is LazyDict:
                value.read()

    def look(self, key: str, default: Any = None) -> Any:
        """
        What reading would give, without keeping it: for looking at many objects once.

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
            # The same bytes mean the same; different bytes may still.
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
        # dict has one of its own, which would be asked otherwise.
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = None  # as for every dict

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{key!r}: {self._shown(key)}' for key in list(self))}}}"

    # --- what is made of it: plain dicts

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
        """A deep copy that is as lazy as this one: what is decoded is copied, bytes are shared."""
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

    # --- changing it: not while a reader puts what it has decoded into its place

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
        changes: dict[str, Any] = dict(*args, **kwargs)  # first: it may be a generator, which runs anything
        with filling:
            super().update(changes)

    def clear(self) -> None:
        with filling:
            super().clear()

    def pop(self, key: str, *default: Any) -> Any:
        if key in self:
            self[key]  # an error of decoding is one before anything has changed
        with filling:
            return super().pop(key, *default)

    def popitem(self) -> tuple[str, Any]:
        for key in reversed(self):
            return key, self.pop(key)
        return super().popitem()  # raises what an empty dict raises

    # --- bytes to values

    def _read(self, key: str, raw: msgspec.Raw) -> Any:
        value = self._decoded(key, raw)
        with filling:
            if _peek_or(self, key) is raw:
                _poke(self, key, value)
                return value
        # Another thread was faster, and all are to get what that one got; or somebody has changed it.
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
        # Outside the except: what decoders raise quotes what they were given, and must not be this error's context.
        raise ObjectDecodeError(_named(self), fault.under(key))

    def _shown(self, key: str) -> str:
        try:
            return repr(self.look(key))
        except ObjectDecodeError:
            return "<does not decode>"


def lazy_dict(parts: Parts) -> LazyDict:
    """
    Make an object of its fields, as a decoder of :data:`Parts` gives them.

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


def _metadata(raw: msgspec.Raw) -> Any:
    try:
        found: dict[str, Any] = _decode_meta(raw)
    except msgspec.ValidationError:  # it is no object: the API server sends no such thing, others may
        return _decode(raw)
    for name, value in found.items():
        if type(value) is list and value:
            # Its items are pieces of somebody's bytes; together they get a memory of their own.
            found[name] = _Raw(b"[%b]" % b",".join(value))
    return LazyDict(found)


def _named(obj: LazyDict) -> str:
    """An object as errors call it, ``Widget default/web``; of what is only a part, what that is."""
    meta = _peek_or(obj, "metadata")
    meta = meta if isinstance(meta, dict) else obj
    kind, namespace, name = (_text(one) for one in (_peek_or(obj, "kind"), meta.get("namespace"), meta.get("name")))
    return " ".join(filter(None, (kind, f"{namespace}/{name}" if namespace and name else name))) or "an object"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
