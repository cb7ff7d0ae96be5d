"""Arithmetic on resource lists: amounts by the name of a resource, as quotas, limits and requests hold them.

What is in one list only is taken as the operation says, never as an error; results are new dicts. The semantics are
those of the API server's quota package.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from kinformer.meta.quantity import ZERO, Format, Quantity

__all__ = (
    "Amounts",
    "ResourceList",
    "add",
    "difference",
    "dump",
    "equals",
    "exceeding",
    "intersection",
    "is_negative",
    "is_zero",
    "less_than_or_equal",
    "load",
    "mask",
    "maximum",
    "remove_zeros",
    "subtract",
    "subtract_non_negative",
    "total",
)

#: A resource list that is only read.
Amounts: TypeAlias = Mapping[str, Quantity]

#: A resource list of one's own.
ResourceList: TypeAlias = dict[str, Quantity]


def load(texts: Mapping[str, str | int | float] | None) -> ResourceList:
    """
    The amounts of a resource list as an object holds it; None is an empty one.

    :raises QuantityError: if one of them is no quantity
    """
    parse = Quantity.parse
    return {name: parse(text) for name, text in texts.items()} if texts else {}


def dump(amounts: Amounts) -> dict[str, str]:
    """A resource list as an object holds it, in canonical texts."""
    return {name: str(amount) for name, amount in amounts.items()}


def add(a: Amounts, b: Amounts) -> ResourceList:
    """``a + b`` of each resource; what one of them lacks counts as nothing."""
    result = dict(a)
    for name, amount in b.items():
        result[name] = result[name] + amount if name in result else amount
    return result


def total(lists: Iterable[Amounts]) -> ResourceList:
    """
    All lists, as adding them one by one gives it.

    For the many lists of a recount: an amount's sum is kept as a plain integer, where :func:`add` copies a dict a step.
    """
    nanos: dict[str, int] = {}
    formats: dict[str, Format] = {}
    for amounts in lists:
        for name, amount in amounts.items():
            so_far = nanos.get(name, 0)
            if not so_far:
                formats[name] = amount.format
            nanos[name] = so_far + amount.nano
    return {name: Quantity(nano, formats[name]) for name, nano in nanos.items()}


def subtract(a: Amounts, b: Amounts) -> ResourceList:
    """``a - b`` of each resource; what `a` lacks becomes negative."""
    result = dict(a)
    for name, amount in b.items():
        result[name] = result[name] - amount if name in result else -amount
    return result


def subtract_non_negative(a: Amounts, b: Amounts) -> ResourceList:
    """``a - b`` of each resource, where that is above zero, and else zero; what `a` lacks is zero."""
    result = dict.fromkeys(b, ZERO)
    for name, amount in a.items():
        rest = amount - b[name] if name in b else amount
        result[name] = rest if rest.nano > 0 else ZERO
    return result


def maximum(a: Amounts, b: Amounts) -> ResourceList:
    """The greater amount of each resource."""
    result = dict(a)
    for name, amount in b.items():
        if name not in result or result[name] <= amount:
            result[name] = amount
    return result


def mask(amounts: Amounts, names: Collection[str]) -> ResourceList:
    """Only the resources of those names."""
    return {name: amount for name, amount in amounts.items() if name in names}


def remove_zeros(amounts: Amounts) -> ResourceList:
    """Only the resources there is some of."""
    return {name: amount for name, amount in amounts.items() if amount}


def equals(a: Amounts, b: Amounts) -> bool:
    """Whether both have the same resources in the same amounts, however written."""
    return dict(a) == dict(b)


def less_than_or_equal(a: Amounts, b: Amounts) -> bool:
    """Whether `a` has no more than `b` of any resource that both have; others do not count."""
    return not any(name in a and a[name] > amount for name, amount in b.items())


def exceeding(a: Amounts, b: Amounts) -> list[str]:
    """The names of what `a` has more of than `b`, of the resources that both have, sorted."""
    return sorted(name for name, amount in b.items() if name in a and a[name] > amount)


def is_zero(amounts: Amounts) -> bool:
    """Whether there is nothing of anything."""
    return not any(amounts.values())


def is_negative(amounts: Amounts) -> list[str]:
    """The names of what is below zero, sorted."""
    return sorted(name for name, amount in amounts.items() if amount.nano < 0)


def intersection(a: Iterable[str], b: Iterable[str]) -> list[str]:
    """The names in both, once each, sorted."""
    return sorted(set(a).intersection(b))


def difference(a: Iterable[str], b: Iterable[str]) -> list[str]:
    """The names in `a` alone, once each, sorted."""
    return sorted(set(a).difference(b))
