"""Twins: Structs without lazy fields, which msgspec decodes in one pass where everything is wanted.

A model with lazy fields is decoded part by part: msgspec goes over the bytes of a lazy field once to find its end, and
once more to decode it. The twin of such a model has the same slots, and the real types of the fields. What msgspec has
decoded as a twin then becomes an object of the model: Python lets the class be set where the slots are the same.

A pod's spec takes 7 us instead of 16, its status 3 instead of 8 (Python 3.11, pods of 5.7 KB, 2026-11-28). To make the
twin of a pod's spec takes 2 ms, so it is made only for fields that are decoded completely again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec

from kinformer.models._complete import is_lazy, leads_to_lazy
from kinformer.models._recurring import SHARERS
from kinformer.models._source import CONTAINER

__all__ = ("Twin", "can_retype", "twin_of")

#: Sets the class of an object. A Struct's own ``__setattr__`` does not let it be set.
_retype: Final[Callable[[Any, type], None]] = vars(object)["__class__"].__set__


class Twin(NamedTuple):
    """
    What msgspec decodes in place of a type with lazy fields in it.

    :param type: the type for msgspec
    :param settle: makes what was decoded, which is not None, a value of the real type; None if it is that already
    """

    type: Any
    settle: Callable[[Any], Any] | None


def twin_of(type_: str, type_of: Callable[[str], Any]) -> Twin:
    """
    The twin of a type. Call it while no other thread makes a model or a decoder.

    :param type_: in OpenAPI generator's notation: ``V1PodSpec``, ``list[V1Container]``
    :param type_of: returns the Python type of such a type
    """
    if not leads_to_lazy(type_):
        return Twin(type_of(type_), None)
    if container := CONTAINER.fullmatch(type_):
        item, settle = twin_of(container["item"] or container["value"], type_of)
        assert settle is not None  # there are lazy fields in it
        # The type is known only at run time.
        if container["item"]:
            return Twin(list[item], lambda items: [settle(each) for each in items])  # type: ignore[valid-type]
        return Twin(dict[str, item], lambda items: {key: settle(each) for key, each in items.items()})  # type: ignore[valid-type]
    return _twin_of_model(type_of(type_), type_of)


def _twin_of_model(model: Any, type_of: Callable[[str], Any]) -> Twin:
    types: dict[str, str] = model.openapi_types
    fields: list[tuple[str, Any, None]] = []
    #: What is done with the values of some fields.
    work: list[tuple[str, Callable[[Any], Any] | None, Callable[[Any], None] | None]] = []
    for attribute, type_ in types.items():
        lazy = is_lazy(attribute, type_, types)
        if lazy or leads_to_lazy(type_):
            found, settle = twin_of(type_, type_of)
            fields.append((attribute, found if found is Any else found | None, None))
            share = SHARERS.get(type_) if lazy else None
            if settle is not None or share is not None:
                work.append((attribute, settle, share))
        else:
            fields.append((attribute, model.__annotations__[attribute], None))
    name = f"{model.__name__}Twin"
    twin = msgspec.defstruct(name, fields, bases=model.__bases__, rename=model.attribute_map, gc=False)
    steps = tuple((vars(twin)[attribute].__get__, vars(twin)[attribute].__set__, *rest) for attribute, *rest in work)

    def settle_all(value: Any) -> Any:
        for peek, poke, settle, share in steps:
            if (part := peek(value)) is not None:
                if settle is not None:
                    poke(value, part := settle(part))
                if share is not None:
                    share(part)
        _retype(value, model)
        return value

    return Twin(twin, settle_all)


@cache
def can_retype() -> bool:
    """Whether an object of one Struct can become one of another that has the same slots, as in Python's own classes."""
    one, other = (msgspec.defstruct(name, [("field", int, 0)], gc=False) for name in ("One", "Other"))
    value = one(field=3)
    try:
        _retype(value, other)
    except TypeError:
        return False
    return type(value) is other and msgspec.json.encode(value) == b'{"field":3}'
