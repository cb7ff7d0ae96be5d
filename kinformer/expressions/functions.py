"""Functions for numbers, texts and lists: quantities, versions, named formats, regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

from kinformer.expressions.formats import fits
from kinformer.expressions.library import function, make_opaque, read_opaque
from kinformer.expressions.patterns import BadPattern, Pattern, compile_pattern, find_all
from kinformer.meta.integers import read_unsigned
from kinformer.meta.quantity import Quantity, QuantityError
from kinformer.meta.validation import (
    dns1035_label_errors,
    dns1123_label_errors,
    dns1123_subdomain_errors,
    label_key_errors,
    label_value_errors,
)

__all__ = ()

# -- lists ------------------------------------------------------------------------------------------------------------

_SORTED = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SUMMED = ("int", "uint", "double", "duration")


def _for_each(template: str, types: tuple[str, ...], run: Callable[..., Any]) -> None:
    for type_ in types:
        function(template.replace("T", type_))(run)


def _is_sorted(items: list[Any]) -> bool:
    return all(not following < item for item, following in pairwise(items))


def _smallest(items: list[Any]) -> Any:
    if not items:
        raise ValueError("min called on empty list")
    return min(items)


def _largest(items: list[Any]) -> Any:
    if not items:
        raise ValueError("max called on empty list")
    return max(items)


_for_each("[T].isSorted() -> bool", _SORTED, _is_sorted)
_for_each("[T].min() -> T", _SORTED, _smallest)
_for_each("[T].max() -> T", _SORTED, _largest)
_for_each("[T].sum() -> T", _SUMMED, lambda items: sum(items[1:], items[0]) if items else 0)


@function("[A].indexOf(A) -> int")
def _index_of(items: list[Any], wanted: Any) -> int:
    return next((index for index, item in enumerate(items) if item == wanted), -1)


@function("[A].lastIndexOf(A) -> int")
def _last_index_of(items: list[Any], wanted: Any) -> int:
    return next((index for index in reversed(range(len(items))) if items[index] == wanted), -1)


# -- regular expressions ----------------------------------------------------------------------------------------------


def _compiled(pattern: str) -> Pattern:
    try:
        return compile_pattern(pattern)
    except BadPattern as error:
        raise ValueError(f"Illegal regex: {error}") from None


@function("string.find(string) -> string")
def _find(text: str, pattern: str) -> str:
    found = _compiled(pattern).search(text)
    return found.group() if found is not None else ""


@function("string.findAll(string) -> [string]")
def _find_all(text: str, pattern: str) -> list[str]:
    return find_all(_compiled(pattern), text)


@function("string.findAll(string, int) -> [string]")
def _find_some(text: str, pattern: str, limit: int) -> list[str]:
    return find_all(_compiled(pattern), text, limit)


# -- quantities -------------------------------------------------------------------------------------------------------


def _quantity(value: Any) -> Quantity:
    return Quantity.parse(value if isinstance(value, int) else read_opaque(value, "Quantity"))


def _as_value(quantity: Quantity) -> dict[str, Any]:
    # Quantities are equal if they are the same number. So the text is in a canonical form.
    return make_opaque("Quantity", str(Quantity.sum([Quantity.of(0), quantity])))


@function("quantity(string) -> Quantity")
def _to_quantity(text: str) -> dict[str, Any]:
    try:
        return _as_value(Quantity.parse(text))
    except QuantityError as error:
        raise ValueError(str(error)) from None


@function("isQuantity(string) -> bool")
def _is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except QuantityError:
        return False
    return True


@function("Quantity.sign() -> int")
def _sign(value: Any) -> int:
    return _quantity(value).sign


@function("Quantity.asApproximateFloat() -> double")
def _as_float(value: Any) -> float:
    return float(_quantity(value))


@function("Quantity.isInteger() -> bool")
def _is_integer(value: Any) -> bool:
    quantity = _quantity(value)
    return quantity == Quantity.of(quantity.value())


@function("Quantity.asInteger() -> int")
def _as_integer(value: Any) -> int:
    if not _is_integer(value):
        raise ValueError("cannot convert value to integer")
    return _quantity(value).value()


@function("Quantity.add(Quantity) -> Quantity")
@function("Quantity.add(int) -> Quantity")
def _add(value: Any, other: Any) -> dict[str, Any]:
    return _as_value(_quantity(value) + _quantity(other))


@function("Quantity.sub(Quantity) -> Quantity")
@function("Quantity.sub(int) -> Quantity")
def _subtract(value: Any, other: Any) -> dict[str, Any]:
    return _as_value(_quantity(value) - _quantity(other))


# -- versions ---------------------------------------------------------------------------------------------------------

_NUMBER = r"(0|[1-9]\d*)"
_SEMVER = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    r"(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)


class _Version(NamedTuple):
    numbers: tuple[int, int, int]
    is_release: bool
    #: The pre-release parts. Numbers sort before words.
    stage: tuple[tuple[int, int, str], ...]


def _version(value: Any) -> _Version:
    found = _SEMVER.fullmatch(read_opaque(value, "Semver"))
    assert found is not None
    stage = tuple(
        (0, _long(part), "") if part.isdigit() else (1, 0, part) for part in (found[4] or "").split(".") if part
    )
    return _Version((_long(found[1]), _long(found[2]), _long(found[3])), not stage, stage)


def _long(digits: str) -> int:
    number = read_unsigned(digits)
    if number is None:
        raise ValueError(f"a version's number of {len(digits)} digits is out of range")
    return number


def _normal_version(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    parts = [re.sub(r"^0+(?=\d)", "", part) for part in parts]
    if len(parts) < 3:
        if any(sign in parts[-1] for sign in "+-"):
            raise ValueError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


@function("semver(string) -> Semver")
def _to_version(text: str, normalize: bool = False) -> dict[str, Any]:
    if normalize:
        text = _normal_version(text)
    if not _SEMVER.fullmatch(text):
        wrong = "Version string empty" if not text else "No Major.Minor.Patch elements found"
        raise ValueError(wrong if text.count(".") < 2 else f"Invalid version {text!r}")
    return make_opaque("Semver", text)


@function("semver(string, bool) -> Semver")
def _to_normal_version(text: str, normalize: bool) -> dict[str, Any]:
    return _to_version(text, normalize)


@function("isSemver(string) -> bool")
def _is_version(text: str) -> bool:
    return _SEMVER.fullmatch(text) is not None


@function("isSemver(string, bool) -> bool")
def _is_normal_version(text: str, normalize: bool) -> bool:
    try:
        _to_version(text, normalize)
    except ValueError:
        return False
    return True


@function("Semver.major() -> int")
def _major(value: Any) -> int:
    return _version(value).numbers[0]


@function("Semver.minor() -> int")
def _minor(value: Any) -> int:
    return _version(value).numbers[1]


@function("Semver.patch() -> int")
def _patch(value: Any) -> int:
    return _version(value).numbers[2]


# -- what quantities and versions have in common ----------------------------------------------------------------------


@function("Quantity.compareTo(Quantity) -> int")
@function("Semver.compareTo(Semver) -> int")
def _compare(value: Any, other: Any) -> int:
    if "@Semver" in value:
        first, second = _version(value), _version(other)
        return (first > second) - (first < second)
    return _quantity(value).cmp(_quantity(other))


@function("Quantity.isGreaterThan(Quantity) -> bool")
@function("Semver.isGreaterThan(Semver) -> bool")
def _is_greater(value: Any, other: Any) -> bool:
    return _compare(value, other) > 0


@function("Quantity.isLessThan(Quantity) -> bool")
@function("Semver.isLessThan(Semver) -> bool")
def _is_less(value: Any, other: Any) -> bool:
    return _compare(value, other) < 0


# -- named formats ----------------------------------------------------------------------------------------------------


def _prefix(rule: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Like the rule, for a prefix of a name. A prefix may end with a dash."""
    return lambda text: rule(f"{text[:-1]}a" if text.endswith("-") else text)


def _of_schemas(form: str, complaint: str) -> Callable[[str], list[str]]:
    """A format that schemas have, too."""
    return lambda text: [] if fits(text, form) else [complaint.format(text)]


_FORMATS: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": dns1123_label_errors,
    "dns1123Subdomain": dns1123_subdomain_errors,
    "dns1035Label": dns1035_label_errors,
    "qualifiedName": label_key_errors,
    "dns1123LabelPrefix": _prefix(dns1123_label_errors),
    "dns1123SubdomainPrefix": _prefix(dns1123_subdomain_errors),
    "dns1035LabelPrefix": _prefix(dns1035_label_errors),
    "labelValue": label_value_errors,
    "uri": _of_schemas("uri", 'parse "{}": invalid URI for request'),
    "uuid": _of_schemas("uuid", "does not match the UUID format"),
    "byte": _of_schemas("byte", "invalid base64"),
    "date": _of_schemas("date", "invalid date"),
    "datetime": _of_schemas("datetime", "invalid datetime"),
}


def _named(name: str) -> Callable[[], dict[str, Any]]:
    return lambda: make_opaque("NamedFormat", name)


for _name in _FORMATS:
    function(f"format.{_name}() -> NamedFormat")(_named(_name))


# A Python function cannot return CEL's optional values. So these functions return a map with a list of one item or
# none. The methods of optional values are declared for such maps below.
@function("format.named(string) -> ?NamedFormat")
def _format_named(name: str) -> dict[str, Any]:
    return {"@optional": [make_opaque("NamedFormat", name)] if name in _FORMATS else []}


@function("NamedFormat.validate(string) -> ?[string]")
def _validate(value: Any, text: str) -> dict[str, Any]:
    wrong = _FORMATS[read_opaque(value, "NamedFormat")](text)
    return {"@optional": [wrong] if wrong else []}


@function("map.hasValue() -> bool", checked=False)
def _has_value(value: dict[str, Any]) -> bool:
    return bool(read_opaque(value, "optional"))


@function("map.value() -> dyn", checked=False)
def _value(value: dict[str, Any]) -> Any:
    held = read_opaque(value, "optional")
    if not held:
        raise ValueError("optional.none() dereference")
    return held[0]
