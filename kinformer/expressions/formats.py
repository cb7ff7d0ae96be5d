"""The formats of strings in schemas and expressions, and a check for each.

The time of every check is linear in the length of the text. No pattern here can match a text in more than one way.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Callable
from datetime import date
from urllib.parse import urlsplit

from kinformer.meta.validation import dns1123_label_errors, dns1123_subdomain_errors, is_base64

__all__ = ("fits", "is_known")

_HEX = "[0-9a-f]"
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)


def _matching(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.ASCII | flags)
    return lambda text: compiled.fullmatch(text) is not None


def _parsed(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return fits


def _uuid(version: str, variant: str) -> Callable[[str], bool]:
    parts = (f"{_HEX}{{8}}", f"{_HEX}{{4}}", version + f"{_HEX}{{3}}", variant + f"{_HEX}{{3}}", f"{_HEX}{{12}}")
    return _matching("-?".join(parts), re.IGNORECASE)


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(text) and (bool(parts.scheme) or text.startswith("/"))


def _is_network(text: str) -> bool:
    return "/" in text and _parsed(ipaddress.ip_interface)(text)


_GO_DURATION = re.compile(r"[+-]?+(?:0|(?:(?:\d++(?:\.\d*+)?+|\.\d++)(?:ns|us|µs|μs|ms|s|m|h))++)", re.ASCII)
_AMOUNT = re.compile(r"(\d++)\s*+([A-Za-zµ]++)?+", re.ASCII)
_UNITS = frozenset(("ns", "us", "µs", "ms", "s", "m", "h", "d", "w", "wk", "hr"))
#: A unit may be any word that begins with one of these: nanos, minutes.
_UNIT_BEGINNINGS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")


def _is_duration(text: str) -> bool:
    """A duration as Go writes it, or a text that contains a number and a unit, like ``3 days``."""
    if _GO_DURATION.fullmatch(text) is not None:
        return True
    fits = False
    for amount, unit in _AMOUNT.findall(text):
        if not unit:
            continue
        if len(amount.lstrip("0")) > 18:
            return False  # Go has no such number
        unit = unit.lower()
        fits = fits or unit in _UNITS or unit.startswith(_UNIT_BEGINNINGS)
    return fits


def _is_hostname(text: str) -> bool:
    """A single label with at most one hyphen, in second place, or several labels of which the last has letters only."""
    if len(text.encode("utf-8", "surrogatepass")) > 255:
        return False
    *labels, last = text.split(".")
    if any(len(label.encode("utf-8", "surrogatepass")) > 63 for label in (*labels, last)):
        return False
    if not labels:
        first, rest = last[:1], last[1:]
        return _is_wordlike(first) and (not rest or rest == "-" or _is_wordlike(rest.removeprefix("-")))
    if not (len(last) >= 2 and last.isalpha()):
        return False
    return all(_is_wordlike(one.replace("-", "")) and not (one[0] == "-" or one[-1] == "-") for one in labels)


def _is_wordlike(text: str) -> bool:
    """Whether a text has only letters, digits and symbols, and at least one character."""
    return bool(text) and all(
        (char.isascii() and char.isalnum()) or unicodedata.category(char)[0] in "LS" for char in text
    )


_FORMATS: dict[str, Callable[[str], bool]] = {
    "byte": is_base64,
    "cidr": _is_network,
    "date": _parsed(date.fromisoformat),
    "datetime": lambda text: _TIME.fullmatch(text) is not None,
    "duration": _is_duration,
    "email": _matching(r"(?:[^<>]*<)?[^@\s<>]+@[^@\s<>]+>?"),
    "hexcolor": _matching(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _is_hostname,
    "ipv4": _parsed(ipaddress.IPv4Address),
    "ipv6": _parsed(ipaddress.IPv6Address),
    "k8slongname": lambda text: not dns1123_subdomain_errors(text),
    "k8sshortname": lambda text: not dns1123_label_errors(text),
    "mac": _matching(r"(?:[0-9a-fA-F]{2}[:-]){5}(?:[0-9a-fA-F]{2}[:-]{1}[0-9a-fA-F]{2}[:-])?[0-9a-fA-F]{2}"),
    "rgbcolor": _matching(r"rgb\(\s*\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3}\s*\)"),
    "ssn": _matching(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "uri": _is_uri,
    "uuid": _uuid(_HEX, _HEX),
    "uuid3": _uuid("3", _HEX),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
}
#: Formats that accept every text here.
_TAKEN = frozenset({"bsonobjectid", "creditcard", "isbn", "isbn10", "isbn13", "password"})


def _normal(form: str) -> str:
    return form.replace("-", "")


def is_known(form: str, type_: str) -> bool:
    """Whether a format is known for values of a type."""
    match type_:
        case "" | "string":
            return _normal(form) in _FORMATS or _normal(form) in _TAKEN
        case "integer":
            return form in ("int32", "int64")
        case "number":
            return form in ("float", "double")
    return False


def fits(text: str, form: str) -> bool:
    """Whether a text has a format. If the format is unknown, every text has it."""
    check = _FORMATS.get(_normal(form))
    return check is None or check(text)
