"""Quantities: reading them, and arithmetic."""

from __future__ import annotations

from typing import Any

from kinformer.meta.quantity import Quantity, QuantityError

# The recorder was careful: it left a value out from here on, short of where int64 overflows.
TOLD = 2**62


def answer(case: Any) -> Any:
    if case["op"] == "parse":
        return parse(case["a"])
    a, b = Quantity.parse(case["a"]), Quantity.parse(case["b"])
    match case["op"]:
        case "add":
            return {"canonical": str(a + b)}
        case "sub":
            return {"canonical": str(a - b)}
        case "cmp":
            return {"cmp": a.cmp(b)}
        case op:
            raise ValueError(f"unknown op {op!r}")


def parse(text: str) -> Any:
    try:
        quantity = Quantity.parse(text)
    except QuantityError:
        return {"ok": False}
    told = {"value": quantity.value(), "milliValue": quantity.milli_value()}
    return {
        "ok": True,
        "canonical": str(quantity),
        "sign": quantity.sign,
        "format": quantity.format.value,
        **{name: str(value) for name, value in told.items() if abs(value) < TOLD},
    }
