"""Reading a few fields of a spec or status without decoding all of it.

An object keeps its spec and status as the server's bytes until they are first read. The first read of ``pod.spec``
decodes the whole spec, and the object keeps the result. That is right for code that reads many fields or reads them
often. It costs several times the work and memory for code that needs each pod's node once. :func:`partly` makes a
reader for such code: it returns the spec if it is already decoded, and otherwise a Struct with only the fields that
are needed, under the same names. The object is not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import msgspec

from kinformer.models import Model

__all__ = ("partly",)


def partly(model: type[Model], attribute: str, fields: type[Any]) -> Callable[[Any], Any]:
    """
    Make a function that reads an attribute of a model's objects.

    The value that it returns must not be changed or kept, because it may belong to the object. The function raises
    msgspec.ValidationError if the bytes do not fit `fields`.

    :param fields: a Struct with the fields that are needed, under the model's names for them; other fields are skipped
    """
    lazy = model.__lazy_fields__.get(attribute)
    if lazy is None:
        return attrgetter(attribute)
    peek, decode, raw = lazy.peek, msgspec.json.Decoder(fields).decode, msgspec.Raw

    def read(obj: Any) -> Any:
        value = peek(obj)
        return decode(value) if type(value) is raw else value

    return read
