"""Numbers that may be percentages of a total."""

from __future__ import annotations

from typing import Any

from kinformer.meta.integers import scaled_value


def answer(case: Any) -> Any:
    try:
        return {"ok": True, "result": scaled_value(case["value"], case["total"], round_up=case["roundUp"])}
    except ValueError:
        return {"ok": False}
