"""The API's error texts for invalid fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import msgspec

from kinformer.envtest.status import Cause
from kinformer.meta.quantity import Quantity
from kinformer.meta.validation import quoted

__all__ = (
    "NEGATIVE",
    "duplicate",
    "forbidden",
    "immutable",
    "invalid",
    "not_found",
    "not_supported",
    "required",
    "shown_float",
    "too_long",
    "too_many",
)

NEGATIVE = "must be greater than or equal to 0"


def _said(value: Any) -> str:
    """A value as errors show it."""
    if isinstance(value, Quantity | str):
        return quoted(str(value))
    if isinstance(value, float):
        return shown_float(value)
    return msgspec.json.encode(value).decode()


def shown_float(value: float) -> str:
    """A floating point number as Go prints it."""
    number = Decimal(repr(value)).normalize()
    exponent = number.adjusted()
    if -4 <= exponent < 6:
        return f"{number:f}"
    sign, digits, _ = number.as_tuple()
    whole, *rest = (str(digit) for digit in digits)
    return f"{'-' * sign}{whole}{'.' * bool(rest)}{''.join(rest)}e{exponent:+03d}"


def required(field: str, detail: str = "") -> Cause:
    return Cause(field, "FieldValueRequired", "Required value" + (f": {detail}" if detail else ""))


def invalid(field: str, value: Any, detail: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f"Invalid value: {_said(value)}" + (f": {detail}" if detail else ""))


def not_supported(field: str, value: Any, supported: Iterable[str]) -> Cause:
    listed = ", ".join(f'"{one}"' for one in supported)
    return Cause(field, "FieldValueNotSupported", f"Unsupported value: {_said(value)}: supported values: {listed}")


def duplicate(field: str, value: Any) -> Cause:
    return Cause(field, "FieldValueDuplicate", f"Duplicate value: {_said(value)}")


def not_found(field: str, value: Any) -> Cause:
    return Cause(field, "FieldValueNotFound", f"Not found: {_said(value)}")


def forbidden(field: str, detail: str) -> Cause:
    return Cause(field, "FieldValueForbidden", f"Forbidden: {detail}")


def too_long(field: str, limit: int) -> Cause:
    return Cause(field, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes")


def too_many(field: str, count: int, most: int) -> Cause:
    return Cause(field, "FieldValueTooMany", f"Too many: {count}: must have at most {most} items")


def immutable(new: Any, old: Any, field: str, detail: str = "field is immutable") -> Iterator[Cause]:
    if new != old:
        yield invalid(field, new, detail)
