"""Lazy fields: how a field can stay the server's bytes until somebody reads it, in any thread.

Spec and status of a top-level kind are lazy, and managedFields everywhere. Decoding leaves the server's bytes in such a
field's slot; the first reading of the attribute decodes them and puts the result there. Several threads may read
at once: each may decode, but one result is kept and all of them get that one. An assignment is never undone by a reader
that had begun before it.

What is in a slot can be told by :attr:`LazyField.peek`; msgspec's own functions (``to_builtins``, ``structs.asdict``)
look there, too, and do not ask the attribute. :func:`kinformer.models.complete` decodes all that is left of an object.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from threading import RLock
from types import MemberDescriptorType
from typing import Any, Final, TypeAlias, cast

import msgspec

from kinformer.models._errors import DECODE_ERRORS, ObjectDecodeError, fault_of

__all__ = ("LazyField", "Mark", "Marked", "Marks", "fingerprint", "fingerprint_of", "marks_of", "named")

#: For fingerprints; what JSON has no form for is told apart by its text.
_encode: Final = msgspec.json.Encoder(enc_hook=str).encode

#: Makes an object of the bytes in a lazy field.
Reader: TypeAlias = Callable[[msgspec.Raw], Any]

#: For the moment in which what was decoded is put into its slot. One for all: it is held for 0.1 us.
filling: Final = RLock()

#: What stands before the kind in a model's name: ``V1``, ``CoreV1``, ``V1alpha2``.
_VERSION: Final = re.compile(r"^[A-Za-z]*?V\d+(alpha\d+|beta\d+)?(?=[A-Z])")

#: Nobody who writes objects knows it, so that nobody can make two pieces of JSON with the same fingerprint.
_SALT: Final = os.urandom(16)


def fingerprint(data: bytes | msgspec.Raw) -> int:
    """What tells one piece of JSON from another."""
    return hash(_SALT + data)


class Mark:
    """
    What is remembered of a lazy field's bytes when they have been decoded.

    :ivar bytes: the bytes' fingerprint
    :ivar encoded: the fingerprint of what they are decoded to, encoded again; None until somebody wants to know
    :ivar taken: how many later objects have taken over what was decoded
    """

    __slots__ = ("bytes", "encoded", "taken")

    def __init__(self, bytes_: int):
        self.bytes = bytes_
        self.encoded: int | None = None
        self.taken = 0


#: One for each of an object's lazy fields; None where nothing is known.
Marks: TypeAlias = tuple[Mark | None, ...]


class Marked:
    """Room for something that is no field: neither compared nor copied, shown or written."""

    __slots__ = ("_marks",)
    _marks: Marks


def marks_of(obj: Any) -> Marks | None:
    """What was remembered of this object; None if nothing was."""
    return getattr(obj, "_marks", None)


class LazyField:
    """
    A Struct's own slot, which holds the decoded value, the server's bytes of it, or None, and how it is read.

    :param slot: the Struct's member descriptor
    :param json_name: what errors call it
    :param type_of: gives the type of what the bytes are, with all that it refers to; it may be costly the first time
    :param make_reader: called once, when the first such field is read; what it gives may be used by any thread
    """

    __slots__ = ("_make_reader", "_reader", "json_name", "peek", "poke", "slot", "type_of")

    def __init__(
        self,
        slot: MemberDescriptorType,
        json_name: str,
        type_of: Callable[[], Any],
        make_reader: Callable[[], Reader],
    ):
        self.slot = slot
        #: Gives the slot of an object as it is: :class:`msgspec.Raw` where nobody has read the field yet.
        self.peek: Callable[[Any], Any] = slot.__get__
        #: Puts a value, or :class:`msgspec.Raw`, into the slot of an object that no other thread knows.
        self.poke: Callable[[Any, Any], None] = slot.__set__
        self.json_name = json_name
        self.type_of = type_of
        self._make_reader = make_reader
        self._reader: Reader | None = None

    def cover(self, struct: type, attribute: str) -> None:
        """
        Have an attribute of a Struct be this field.

        The slot gets a second name. Reading an attribute by a name that is written in the code is one step of the
        interpreter, and one step for the next Python also where a property stands before it: 0.13 µs instead of 0.33
        for a descriptor that asks the slot, for each time that somebody reads a pod's spec.
        """
        setattr(struct, f"_slot_of_{attribute}", self.slot)
        setattr(struct, attribute, property(_getter_maker(attribute)(self._fill), self._assign))

    def read(self, obj: Any) -> Any:
        """
        What reading the attribute gives: the value, which is decoded now if nobody has read it yet.

        :raises ObjectDecodeError: if it does not fit its type
        """
        value = self.peek(obj)
        return self._fill(obj, value) if type(value) is msgspec.Raw else value

    def _assign(self, obj: Any, value: Any) -> None:
        with filling:
            self.poke(obj, value)

    def look(self, obj: Any) -> Any:
        """
        What reading the attribute would give, without keeping it: for looking at many objects once.

        :raises ObjectDecodeError: if it does not fit its type
        """
        value = self.peek(obj)
        return self.decoded(obj, value) if type(value) is msgspec.Raw else value

    def decoded(self, obj: Any, raw: msgspec.Raw) -> Any:
        """
        What becomes of some bytes of this field.

        :param obj: whose bytes they are, for the error
        :raises ObjectDecodeError: if they do not fit its type
        """
        try:
            return (self._reader or self._made_reader())(raw)
        except DECODE_ERRORS as error:
            fault = fault_of(error)
        # Outside the except: what decoders raise quotes what they were given, and must not be this error's context.
        raise ObjectDecodeError(named(obj), fault.under(self.json_name))

    def _made_reader(self) -> Reader:
        # It is whole before it can be seen. Two threads may both get here, and both get a reader that is right.
        self._reader = reader = self._make_reader()
        return reader

    def _fill(self, obj: Any, raw: msgspec.Raw) -> Any:
        value = self.decoded(obj, raw)
        with filling:
            now = self.peek(obj)
            if now is not raw:  # another thread was faster, or somebody assigned something
                return self.read(obj)
            self.poke(obj, value)
        return value


@cache
def _getter_maker(attribute: str) -> Callable[[Callable[[Any, msgspec.Raw], Any]], Callable[[Any], Any]]:
    """Makes an attribute's getters, of what is to be done about bytes that nobody has read."""
    made: dict[str, Any] = {"Raw": msgspec.Raw}
    exec(
        f"""
def make(fill):
    def {attribute}(obj):
        value = obj._slot_of_{attribute}
        return fill(obj, value) if type(value) is Raw else value
    return {attribute}
""",
        made,
    )
    return cast("Callable[[Callable[[Any, msgspec.Raw], Any]], Callable[[Any], Any]]", made["make"])


def named(obj: Any) -> str:
    """An object as errors call it: its kind, namespace and name as far as it has them, ``Pod default/web``."""
    type_ = type(obj)
    meta = obj if type_.__name__ == "V1ObjectMeta" else getattr(obj, "metadata", None)
    kind = getattr(obj, "kind", None) or _VERSION.sub("", type_.__name__)
    name = getattr(meta, "name", None) or getattr(meta, "generate_name", None)
    namespace = getattr(meta, "namespace", None)
    return " ".join(filter(None, (kind, f"{namespace}/{name}" if namespace and name else name)))


def fingerprint_of(value: Any) -> int | None:
    """The fingerprint of what was decoded, as it is now; None if it cannot be encoded any more."""
    try:
        return fingerprint(_encode(value))
    except Exception:
        return None
