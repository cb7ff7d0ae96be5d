"""Open Structs: typed objects that keep the fields which their type does not declare.

msgspec drops unknown fields of a Struct, and it has no hook for them. So an open Struct is no Struct itself. It holds
one with the declared fields, and a dict with the others. msgspec asks :func:`open_struct` when it decodes such an
object, and :func:`joined` when it encodes one.

The rest of the project needs top-level objects that are Structs. So a top-level class that keeps unknown fields is a
Struct. It has the field `extra` and ``__open__ = True``. It is decoded as :class:`Whole` and encoded as
:class:`Joint`.
"""

from __future__ import annotations

import copy
from abc import ABC
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar, dataclass_transform

import msgspec

from kinformer.models._errors import DECODE_ERRORS, fault_of

__all__ = ("Joint", "OpenStruct", "Whole", "is_open", "joined", "open_struct", "whole", "whole_of")

S = TypeVar("S", bound="OpenStruct")
T = TypeVar("T")


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class _OpenMeta(type):
    """The metaclass that moves the declared fields into a Struct."""

    #: The Struct of the declared fields.
    __known__: type[msgspec.Struct]

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> Any:
        structs = tuple(base.__known__ for base in bases if isinstance(base, _OpenMeta))
        own = {key: value for key, value in namespace.items() if key not in ("__slots__", "__classcell__")}
        known: Any = (
            msgspec.StructMeta(name, structs, own, kw_only=True, **config)
            if structs
            else msgspec.defstruct(name, [], **config)
        )
        if "extra" in known.__struct_fields__:
            raise TypeError(f'{name} has a field "extra", which is the dict of unknown fields: give it another name')
        left = {key: value for key, value in namespace.items() if key not in known.__struct_fields__}
        cls: Any = super().__new__(mcls, name, bases, {"__slots__": (), **left})
        cls.__known__ = known
        # So that a pickle finds it.
        known.__qualname__ = f"{cls.__qualname__}.__known__"
        return cls


class OpenStruct(metaclass=_OpenMeta):
    """
    The base of typed objects that keep unknown fields.

    It is used as a Struct is: its fields are declared in the class and set by their names. Two objects are equal if
    all fields are, also the unknown ones.
    """

    __slots__ = ("_known", "extra")

    if TYPE_CHECKING:
        #: The fields that the class does not declare, by their names in JSON, as plain values.
        extra: dict[str, Any] = msgspec.field(default_factory=dict)

        @property
        def _known(self) -> msgspec.Struct: ...

    else:

        def __init__(self, *, extra: Mapping[str, Any] | None = None, **fields: Any):
            self._known = type(self).__known__(**fields)
            self.extra = dict(extra or {})
            _check(self._known, self.extra)

    @classmethod
    def _of(cls: type[S], known: msgspec.Struct, extra: dict[str, Any]) -> S:
        made = cls.__new__(cls)
        object.__setattr__(made, "_known", known)
        made.extra = extra
        return made

    if not TYPE_CHECKING:  # else every misspelt attribute would have a type

        def __getattr__(self, name: str) -> Any:
            if name in ("_known", "extra"):  # not set yet: a copy is under way
                raise AttributeError(name)
            try:
                return getattr(self._known, name)
            except AttributeError as error:
                raise AttributeError(str(error), name=name, obj=self) from None

        def __setattr__(self, name: str, value: Any) -> None:
            if name in ("_known", "extra"):
                object.__setattr__(self, name, value)
            else:
                setattr(self._known, name, value)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self._known == other._known and self.extra == other.extra)

    __hash__ = None  # type: ignore[assignment]  # as for every Struct that can be changed

    def __repr__(self) -> str:
        fields = repr(self._known).partition("(")[2].removesuffix(")")
        shown = [fields] if fields else []
        if self.extra:
            shown.append(f"extra={self.extra!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __copy__(self: S) -> S:
        return self._of(copy.copy(self._known), dict(self.extra))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._of, (self._known, self.extra)


def _check(known: msgspec.Struct, extra: dict[str, Any]) -> None:
    """
    :raises ValueError: if an unknown field has the name of a declared one
    """
    if both := extra.keys() & _declared(type(known)):
        raise ValueError(f"{type(known).__name__}: extra has {', '.join(sorted(both))}, which the class declares")


@cache
def _declared(struct: type[msgspec.Struct]) -> frozenset[str]:
    """The names in JSON of the fields that a class declares."""
    names = zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True)
    return frozenset(name for name, attribute in names if attribute != "extra")


class Whole(ABC, Generic[T]):
    """
    The type as which msgspec decodes an open top-level object.

    msgspec does not know it, and so asks a hook for such objects. The hook returns the Struct.
    """


Whole.register(msgspec.Struct)


class Joint:
    """
    An open top-level object, as it is encoded.

    :param known: a copy without unknown fields
    """

    __slots__ = ("extra", "known")

    def __init__(self, known: msgspec.Struct, extra: dict[str, Any]):
        self.known = known
        self.extra = extra


def is_open(type_: Any) -> bool:
    """Whether a type of top-level objects keeps unknown fields."""
    return getattr(type_, "__open__", False) is True


def whole(type_: Any) -> Any:
    """The type to decode objects of a type as."""
    return Whole[type_] if is_open(type_) else type_


def whole_of(type_: Any, value: Any, decode: Callable[[Any], Any], encode: Callable[[Any], bytes]) -> Any:
    """Make an open top-level object from a decoded JSON value: see :func:`open_struct`."""
    extra = _extra_of(value, type_)
    made = _decoded({name: part for name, part in value.items() if name not in extra}, decode, encode)
    made.extra = extra
    return made


def open_struct(type_: type[S], value: Any, decode: Callable[[Any], Any], encode: Callable[[Any], bytes]) -> S:
    """
    Make an open Struct from a decoded JSON value.

    :param decode: decodes the Struct of the declared fields from JSON
    :param encode: encodes plain values
    :raises TypeError: if the value is no object
    :raises ValueError: if it does not fit the type. The text has the path from here as msgspec writes it,
        because msgspec adds the path to here
    """
    extra = _extra_of(value, type_.__known__)
    return type_._of(_decoded(value, decode, encode), extra)


def _extra_of(value: Any, struct: type[msgspec.Struct]) -> dict[str, Any]:
    """
    The fields of a decoded JSON value that a Struct does not declare.

    :raises TypeError: if the value is no object
    """
    if not isinstance(value, dict):
        raise TypeError(f"Expected `object`, got `{_JSON_TYPES.get(type(value), 'array')}`")
    names = _declared(struct)
    return {name: part for name, part in value.items() if name not in names}


def _decoded(value: Any, decode: Callable[[Any], Any], encode: Callable[[Any], bytes]) -> Any:
    try:
        # By way of JSON, because msgspec.convert() cannot make fields that stay undecoded, such as those of models.
        return decode(encode(value))
    except DECODE_ERRORS as error:
        fault = fault_of(error)
    raise ValueError(f"{fault.reason} - at `$.{fault.path}`" if fault.path else fault.reason)


_JSON_TYPES = {str: "str", int: "int", float: "float", bool: "bool", type(None): "null"}


def joined(obj: OpenStruct | Joint, encode: Callable[[Any], bytes]) -> msgspec.Raw:
    """
    The JSON of an open Struct: its declared fields, then the unknown ones.

    :raises ValueError: if an unknown field has the name of a declared one
    """
    declared = obj.known if isinstance(obj, Joint) else obj._known
    _check(declared, obj.extra)
    known = encode(declared)
    if not obj.extra:
        return msgspec.Raw(known)
    rest = encode(obj.extra)
    return msgspec.Raw(rest if known == b"{}" else known[:-1] + b"," + rest[1:])
