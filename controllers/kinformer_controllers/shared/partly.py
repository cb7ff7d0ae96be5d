"""Partly: reading a few fields of a spec or status that is still the server's bytes, without decoding the rest.

The first ``pod.spec`` builds all of a spec, and the object keeps it: right for who reads much of it or reads it often,
and several times the work and the memory for who wants to know each pod's node once. What is made here gives the
attribute itself where it has been decoded already, and otherwise a Struct with the few fields that it names, by the
same attribute names. The object stays as it was.
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

    What it gives is not to be changed or kept: it may be the object's own. It raises msgspec.ValidationError for bytes
    that do not fit `fields`.

    :param fields: a Struct with those that are wanted, under the names that the model's type has for them; the rest is
        skipped
    """
    lazy = model.__lazy_fields__.get(attribute)
    if lazy is None:
        return attrgetter(attribute)
    peek, decode, raw = lazy.peek, msgspec.json.Decoder(fields).decode, msgspec.Raw

    def read(obj: Any) -> Any:
        value = peek(obj)
        return decode(value) if type(value) is raw else value

    return read
