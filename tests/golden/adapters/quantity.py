"""Quantities: reading them, and arithmetic."""

from __future__ import annotations

from typing import Any

from kinformer.meta.quantity import Quantity, QuantityError

# The recorder left the values out where the canonical text means this many or more. Not the amount itself: of 1000E and
# beyond the text has lost its suffix.
UNTOLD = 2**62


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
    shown = Quantity.parse(str(quantity)).nano
    told = {"value": (quantity.value(), shown // 10**9), "milliValue": (quantity.milli_value(), shown // 10**6)}
    return {
        "ok": True,
        "canonical": str(quantity),
        "sign": quantity.sign,
        "format": quantity.format.value,
        **{name: str(value) for name, (value, about) in told.items() if abs(about) < UNTOLD},
    }
