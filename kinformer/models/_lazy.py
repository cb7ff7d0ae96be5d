"""Lazy fields: a field keeps the server's bytes until it is first read, in any thread.

Spec and status of a top-level kind are lazy, and managedFields everywhere. Decoding stores the server's bytes in the
slot of such a field. The first read of the attribute decodes them, and stores the result in the slot. Several threads
may read at once. Each may decode, but one result is stored, and all of them get that one. An assignment is never
overwritten by a reader that started before it.

:attr:`LazyField.peek` reads the slot itself. So do msgspec's own functions (``to_builtins``, ``structs.asdict``), which
bypass the attribute. :func:`kinformer.models.complete` decodes all remaining lazy fields of an object.

Instructions of an event, counted by callgrind as in ``python -m benchmarks.guard`` (Python 3.11): 109,256 if only
metadata is read, and 138,003 if spec and status are, too. With all fields decoded at once: 153,702 (2026-11-28).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from threading import RLock
from types import MemberDescriptorType
from typing import Any, ClassVar, Final, TypeAlias

import msgspec

from kinformer.models._compressed import SHORTEST, Dictionary, dictionaries, dictionary_of
from kinformer.models._errors import DECODE_ERRORS, ObjectDecodeError, fault_of
from kinformer.models._packed import json_of, unpacked

__all__ = ("Described", "LazyField", "Mark", "Marked", "Marks", "filling", "marks_of", "named", "source_of")

#: Decodes the bytes in a lazy field.
Reader: TypeAlias = Callable[[msgspec.Raw | bytes], Any]

#: Held while a decoded value is stored in its slot. There is one for all objects: it is held for 0.1 us.
filling: Final = RLock()

#: How often a field is decoded completely part by part, before a reader is made that does it in one pass.
_OFTEN: Final = 20

#: The part before the kind in a model's name: ``V1``, ``CoreV1``, ``V1alpha2``.
_VERSION: Final = re.compile(r"^[A-Za-z]*?V\d+(alpha\d+|beta\d+)?(?=[A-Z])")


class Mark:
    """
    What is remembered of a lazy field's bytes after they were decoded.

    :ivar bytes: the bytes' fingerprint; None while the decoded value has its :func:`source_of`
    :ivar encoded: the fingerprint of the decoded value, encoded again; None until it is needed
    :ivar taken: the number of later objects that have taken over the decoded value
    """

    __slots__ = ("bytes", "encoded", "taken")

    def __init__(self, bytes_: int | None):
        self.bytes = bytes_
        self.encoded: int | None = None
        self.taken = 0


#: One mark for each lazy field of an object; None where nothing is known.
Marks: TypeAlias = tuple[Mark | None, ...]


class Marked:
    """Slots that are not fields: they are not compared, copied, shown or encoded."""

    __slots__ = ("_marks", "_source")
    _marks: Marks
    _source: msgspec.Raw | None


def marks_of(obj: Any) -> Marks | None:
    """The marks of an object; None if it has none."""
    return getattr(obj, "_marks", None)


def source_of(value: Any) -> msgspec.Raw | None:
    """
    The bytes that a pod's decoded spec or status came from, as long as none of its own lazy fields was read.

    Until then, these fields refer to the bytes, so keeping them takes no memory. None for all other values.
    """
    return getattr(value, "_source", None)


class LazyField:
    """
    A Struct's own slot, which holds the decoded value, the server's bytes of it, or None, and how it is read.

    :param slot: the Struct's member descriptor, which this descriptor replaces
    :param json_name: the field's name in errors
    :param type_of: returns the type of the field, with all types that it refers to; the first call may take long
    :param make_reader: called once, when such a field is first read; any thread may use its result
    :param make_reader_of_all: the same for a reader that leaves no field in the value lazy; None if there is none
    """

    __slots__ = (
        "_below",
        "_make_reader",
        "_make_reader_of_all",
        "_read_all",
        "_reader",
        "_times",
        "json_name",
        "peek",
        "poke",
        "slot",
        "type_of",
    )

    def __init__(
        self,
        slot: MemberDescriptorType,
        json_name: str,
        type_of: Callable[[], Any],
        make_reader: Callable[[], Reader],
        make_reader_of_all: Callable[[], Reader | None],
    ):
        self.slot = slot
        #: Reads the slot of an object as it is: :class:`msgspec.Raw` if the field was not read yet.
        self.peek: Callable[[Any], Any] = slot.__get__
        #: Stores a value, or :class:`msgspec.Raw`, in the slot of an object that no other thread has.
        self.poke: Callable[[Any, Any], None] = slot.__set__
        self.json_name = json_name
        self.type_of = type_of
        self._make_reader = make_reader
        self._make_reader_of_all = make_reader_of_all
        self._reader: Reader | None = None
        self._read_all: Reader | None = None
        #: How often such a field was decoded completely, but part by part. Threads may lose a count.
        self._times = 0
        #: How the lazy fields of a decoded value are read and stored.
        self._below: tuple[tuple[Callable[[Any], Any], Callable[[Any, Any], None]], ...] = ()

    def cover(self, struct: type, attribute: str) -> None:
        """Make this field an attribute of a Struct: a property takes the place of the slot."""
        setattr(struct, attribute, property(_getter(self), self._assign))

    def read(self, obj: Any) -> Any:
        """
        The value of the attribute. It is decoded now if it was not read before.

        :raises ObjectDecodeError: if it does not fit its type
        """
        value = self.peek(obj)
        return self._fill(obj, value) if type(value) is msgspec.Raw else value

    def read_all(self, obj: Any) -> bool:
        """
        Decode the field if it was not read before, if possible with all lazy fields in it.

        :return: True if everything in the value is decoded. False if that has yet to be looked at
        :raises ObjectDecodeError: if it does not fit its type. If False is returned, lazy fields in it may not fit
        """
        value = self.peek(obj)
        if type(value) is not msgspec.Raw:
            return False
        read = self._read_all
        if read is None:
            self._times += 1
            if self._times == _OFTEN:
                self._read_all = self._make_reader_of_all()
            self._fill(obj, value)
            return False
        with suppress(*DECODE_ERRORS):
            whole = read(json_of(value) if dictionaries else value)
            return self._store(obj, value, whole) is whole
        # Outside the block, for the reason that :meth:`decoded` has. Part by part, the place of the error is found.
        self._fill(obj, value)
        return False

    def _assign(self, obj: Any, value: Any) -> None:
        with filling:
            self.poke(obj, value)

    def look(self, obj: Any) -> Any:
        """
        The value that a read of the attribute would give, without storing it. Use it to examine many objects once.

        :raises ObjectDecodeError: if it does not fit its type
        """
        value = self.peek(obj)
        return self.decoded(obj, value) if type(value) is msgspec.Raw else value

    def decoded(self, obj: Any, raw: msgspec.Raw) -> Any:
        """
        Decode bytes of this field.

        :param obj: the object, for the error
        :raises ObjectDecodeError: if they do not fit the field's type
        """
        try:
            # The form is looked at only where a part may be compressed: most bytes are JSON.
            return (self._reader or self._made_reader())(json_of(raw) if dictionaries else raw)
        except DECODE_ERRORS as error:
            fault = fault_of(error)
        if (json := unpacked(raw)) is not None:
            return self.decoded(obj, json)
        # Outside the except, because decoders' errors quote their input and must not be the context of this one.
        raise ObjectDecodeError(named(obj), fault.under(self.json_name))

    def detached(self, obj: Any, raw: msgspec.Raw) -> Any:
        """
        The same as :meth:`decoded`. The lazy fields of the value get bytes of their own, so that `raw` can be freed.

        :raises ObjectDecodeError: if they do not fit the field's type
        """
        value = self.decoded(obj, raw)
        if value is not None and self._below:
            for peek, poke in self._below:
                part = peek(value)
                if type(part) is msgspec.Raw:
                    poke(value, part.copy())
            value._source = None
        return value

    def _made_reader(self) -> Reader:
        # The reader is complete before it is published. Two threads may both get here; both readers are right.
        below: dict[str, LazyField] = getattr(self.type_of(), "__lazy_fields__", {})
        self._below = tuple((field.peek, field.poke) for field in below.values())
        self._reader = reader = self._make_reader()
        return reader

    def _fill(self, obj: Any, raw: msgspec.Raw) -> Any:
        value = self.decoded(obj, raw)
        if dictionaries and (dictionary := dictionary_of(raw)) is not None:
            _compress_parts(value, dictionary)
        return self._store(obj, raw, value)

    def _store(self, obj: Any, raw: msgspec.Raw, value: Any) -> Any:
        """Store what the bytes were decoded to, and return what is stored in the end."""
        with filling:
            now = self.peek(obj)
            if now is not raw:  # another thread was faster, or a value was assigned
                return self.read(obj)
            self.poke(obj, value)
        obj._source = None
        return value


class Described(msgspec.Struct, gc=False):
    """The base of every model. Its class attributes describe the fields to those who walk through objects."""

    #: The types, and the names in JSON, by attribute name, as in kubernetes_asyncio's models.
    openapi_types: ClassVar[dict[str, str]] = {}
    attribute_map: ClassVar[dict[str, str]] = {}
    #: The lazy fields by attribute name.
    __lazy_fields__: ClassVar[dict[str, LazyField]] = {}


# With each model, msgspec compiles and evaluates the annotations of its bases: 0.1 ms. None of these is a field's.
for _base in (Marked, Described):
    _base.__annotations__ = {}


def _getter(field: LazyField) -> Callable[[Any], Any]:
    """
    The getter of an attribute. It decodes bytes that were not read yet.

    A closure over both calls. A getter whose source has the slot's name, made by ``exec``, would save 1.3 % of the
    instructions of an event that reads spec and status (callgrind, Python 3.11, 2026-11-23).
    """
    peek, fill, raw = field.peek, field._fill, msgspec.Raw

    def get(obj: Any) -> Any:
        value = peek(obj)
        return fill(obj, value) if type(value) is raw else value

    return get


def _compress_parts(value: Any, dictionary: Dictionary) -> None:
    """
    Compress the unread parts of a value that was compressed itself, before anybody can see it.

    They refer to the bytes of the whole value. If they did so for long, a value that was read would take its expanded
    bytes and the decoded parts.
    """
    lazy: dict[str, LazyField] = getattr(type(value), "__lazy_fields__", {})
    for field in lazy.values():
        part = field.peek(value)
        if type(part) is msgspec.Raw:
            field.poke(value, part.copy() if len(part) < SHORTEST else dictionary.compress(part, marked=False))


def named(obj: Any) -> str:
    """The object's name in errors: its kind, namespace and name as far as it has them, ``Pod default/web``."""
    type_ = type(obj)
    meta = obj if type_.__name__ == "V1ObjectMeta" else getattr(obj, "metadata", None)
    kind = getattr(obj, "kind", None) or _VERSION.sub("", type_.__name__)
    name = getattr(meta, "name", None) or getattr(meta, "generate_name", None)
    namespace = getattr(meta, "namespace", None)
    return " ".join(filter(None, (kind, f"{namespace}/{name}" if namespace and name else name)))
