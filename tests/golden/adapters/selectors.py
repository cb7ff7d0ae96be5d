"""Label selectors in text and as objects, and field selectors."""

from __future__ import annotations

from typing import Any

from kinformer.meta.fields import FieldSelector, parse_field_selector
from kinformer.meta.selectors import Selector, SelectorError, label_selector_as_selector, parse_selector


def answer(case: Any) -> Any:
    selector: Selector | FieldSelector
    try:
        match case["kind"]:
            case "string":
                selector = parse_selector(case["selector"])
            case "object":
                selector = label_selector_as_selector(case["selector"])
            case "fields":
                selector = parse_field_selector(case["selector"])
            case kind:
                raise LookupError(f"unknown kind of selector {kind!r}")
    except SelectorError:
        return {"ok": False}
    matched = case["fields"] if case["kind"] == "fields" else case["labels"]
    return {"ok": True, "matches": selector.matches(matched), "canonical": str(selector)}
