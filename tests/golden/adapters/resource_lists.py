"""Arithmetic on resource lists."""

from __future__ import annotations

from typing import Any

from kinformer.meta import resourcelist
from kinformer.meta.resourcelist import dump, load

LISTS = {
    "add": resourcelist.add,
    "subtract": resourcelist.subtract,
    "subtract_non_negative": resourcelist.subtract_non_negative,
    "max": resourcelist.maximum,
}
NAMES = {"intersection": resourcelist.intersection, "difference": resourcelist.difference}


def answer(case: Any) -> Any:
    a, b, op = load(case["a"]), load(case.get("b")), case["op"]
    if op in LISTS:
        return {"result": dump(LISTS[op](a, b))}
    if op in NAMES:
        return {"result": NAMES[op](a, b)}
    match op:
        case "mask":
            return {"result": dump(resourcelist.mask(a, b))}
        case "remove_zeros":
            return {"result": dump(resourcelist.remove_zeros(a))}
        case "equals":
            return {"result": resourcelist.equals(a, b)}
        case "is_zero":
            return {"result": resourcelist.is_zero(a)}
        case "is_negative":
            return {"result": resourcelist.is_negative(a)}
        case "less_than_or_equal":
            return {"result": resourcelist.less_than_or_equal(a, b), "exceeded": resourcelist.exceeding(a, b)}
        case _:
            raise LookupError(f"unknown op {op!r}")
