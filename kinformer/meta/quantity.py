"""Quantities: the exact numbers of resources (``500m``, ``1Gi``, ``12e6``), as apimachinery's resource.Quantity.

A quantity remembers which of three notations it was written in, and is printed in the canonical form of that notation.
It is a value: immutable, hashable, and compared by its amount alone (``1000m == 1``). ``+ - *`` are exact at any size.
An amount finer than a nano is rounded away from zero when it is parsed. An amount in binary notation is capped at
2**63-1. Some texts are printed as they were written (``+5``, ``00012``), as in Kubernetes.

An amount is stored as one integer of nanos. So adding two amounts is fast, and a recount of quotas does it hundreds of
thousands of times. The same texts occur often, so parsing is mostly a look-up in a cache.

One thing differs from Go. There, digits and exponents may be as long as memory allows. Here, more than a thousand
digits are an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import Final

import msgspec
from msgspec.structs import force_setattr

__all__ = ("MAX_VALUE", "ZERO", "Format", "Quantity", "QuantityError", "canonical_quantity")

_NANO: Final = 10**9

#: The greatest result of Kubernetes' ``Value()``, at which an amount in binary notation is capped.
MAX_VALUE: Final = 2**63 - 1

# The most digits of an amount. Adding longer ones would take very long, so they may be an attack.
_LONGEST: Final = 1000

_PATTERN: Final = re.compile(r"([+-]?)(0*+)([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[-+]?+[0-9]*+)")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")

_FORMAT_WRONG: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_NUMERIC_WRONG: Final = "unable to parse numeric part of quantity"
_SUFFIX_WRONG: Final = "unable to parse quantity's suffix"


class Format(Enum):
    """How a quantity is written."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


_DECIMAL_SI: Final = Format.DECIMAL_SI
_BINARY_SI: Final = Format.BINARY_SI

_BINARY_EXPONENTS: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIXES: Final = {0: "", **{exponent: suffix for suffix, exponent in _BINARY_EXPONENTS.items()}}
_DECIMAL_EXPONENTS: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_DECIMAL_SUFFIXES: Final = {exponent: suffix for suffix, exponent in _DECIMAL_EXPONENTS.items()}


class QuantityError(ValueError):
    """
    A text is not a quantity.

    :ivar text: the text
    :ivar reason: what is wrong with it, in Kubernetes' own words
    """

    def __init__(self, text: object, reason: str) -> None:
        super().__init__(text, reason)
        self.text = text
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.text!r} is not a quantity: {self.reason}"


class Quantity(msgspec.Struct, frozen=True, eq=False, gc=False, repr_omit_defaults=True):
    """
    An exact amount and its notation; made by :meth:`parse`, :meth:`of` and arithmetic.

    :param nano: the amount in nanos
    :param format: the notation to print it in
    """

    nano: int
    format: Format = Format.DECIMAL_SI
    # The text; empty until it is first needed. No other attribute changes, and users cannot notice this change.
    _text: str = ""

    def __post_init__(self) -> None:
        if type(self.nano) is not int:
            raise TypeError(f"Quantity({self.nano!r}): want Quantity.parse({self.nano!r})")

    @staticmethod
    def parse(text: str | int | float) -> Quantity:
        """
        Parse a quantity. Numbers are accepted as YAML gives them (``cpu: 1``, ``cpu: 0.5``).

        :raises QuantityError: (a ValueError) if it is not a quantity
        """
        return _parse(text)

    @classmethod
    def of(cls, value: int, format: Format = Format.DECIMAL_SI) -> Quantity:  # noqa: A002 - what it is called in Go too
        """Make a quantity of `value` whole units."""
        return cls(value * _NANO, format)

    @classmethod
    def of_milli(cls, value: int, format: Format = Format.DECIMAL_SI) -> Quantity:  # noqa: A002 - as above
        """Make a quantity of `value` thousandths of a unit."""
        return cls(value * 10**6, format)

    @staticmethod
    def sum(quantities: Iterable[Quantity]) -> Quantity:
        """The sum of quantities. It equals adding them one by one, but makes only one object."""
        total = 0
        notation = _DECIMAL_SI
        for quantity in quantities:
            if not total:
                notation = quantity.format
            total += quantity.nano
        return Quantity(total, notation)

    @property
    def sign(self) -> int:
        """-1 if the amount is negative, 0 if it is zero, 1 if it is positive."""
        return (self.nano > 0) - (self.nano < 0)

    def value(self) -> int:
        """The number of whole units, rounded as in :meth:`scaled_value`."""
        return self.scaled_value(0)

    def milli_value(self) -> int:
        """The number of thousandths, rounded as in :meth:`scaled_value`."""
        return self.scaled_value(-3)

    def scaled_value(self, scale: int) -> int:
        """
        The number of ``10**scale`` units, rounded away from zero; `scale` is -9 or more.

        A number that does not fit into 64 bits is returned as Kubernetes does it, which has no useful meaning: 0 if the
        amount has few digits (``1000E``), else the lowest 64 bits. :meth:`rounded_up` is exact at any size.
        """
        number = self._in_units_of(scale)
        return number if -MAX_VALUE <= number <= MAX_VALUE else _overflown(self.nano, number)

    def rounded_up(self, scale: int) -> Quantity:
        """The same amount as a multiple of ``10**scale``, rounded away from zero."""
        rounded = self._in_units_of(scale) * 10 ** (scale + 9)
        return self if rounded == self.nano else Quantity(rounded, self.format)

    def _in_units_of(self, scale: int) -> int:
        unit: int = 10 ** (scale + 9)
        return -(-self.nano // unit) if self.nano >= 0 else self.nano // unit

    def cmp(self, other: Quantity) -> int:
        """-1 if this is less than `other`, 0 if they are equal, 1 if this is greater."""
        return (self.nano > other.nano) - (self.nano < other.nano)

    def __add__(self, other: Quantity) -> Quantity:
        if not isinstance(other, Quantity):
            return NotImplemented
        return Quantity(self.nano + other.nano, self.format if self.nano else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        if not isinstance(other, Quantity):
            return NotImplemented
        return Quantity(self.nano - other.nano, self.format if self.nano else other.format)

    def __mul__(self, factor: int) -> Quantity:
        if not isinstance(factor, int):
            return NotImplemented
        return Quantity(self.nano * factor, self.format)

    __rmul__ = __mul__

    def __neg__(self) -> Quantity:
        return Quantity(-self.nano, self.format)

    def __abs__(self) -> Quantity:
        return self if self.nano >= 0 else -self

    def __bool__(self) -> bool:
        """Whether it is not zero."""
        return self.nano != 0

    def __float__(self) -> float:
        return self.nano / _NANO

    def __eq__(self, other: object) -> bool:
        return self.nano == other.nano if isinstance(other, Quantity) else NotImplemented

    # A Struct has a `!=` of its own, which does not ask `__eq__`.
    __ne__ = object.__ne__

    def __lt__(self, other: Quantity) -> bool:
        return self.nano < other.nano if isinstance(other, Quantity) else NotImplemented

    def __le__(self, other: Quantity) -> bool:
        return self.nano <= other.nano if isinstance(other, Quantity) else NotImplemented

    def __gt__(self, other: Quantity) -> bool:
        return self.nano > other.nano if isinstance(other, Quantity) else NotImplemented

    def __ge__(self, other: Quantity) -> bool:
        return self.nano >= other.nano if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.nano)

    def __str__(self) -> str:
        """Its canonical text."""
        text = self._text
        if not text:
            text = _format(self.nano, self.format)
            force_setattr(self, "_text", text)
        return text

    def __repr__(self) -> str:
        return f"Quantity.parse({str(self)!r})"

    def __copy__(self) -> Quantity:
        return self

    def __deepcopy__(self, memo: object) -> Quantity:
        return self


def canonical_quantity(text: str | int | float) -> str:
    """
    The text of a quantity as an API server stores it: ``1.5Gi`` is stored as ``1536Mi``.

    :raises QuantityError: if it is not a quantity
    """
    return str(_parse(text.strip() if isinstance(text, str) else text))


# 2**14 texts take 5 MB at most, and the pods of a cluster have far fewer. It is typed, because 1 equals True.
@lru_cache(maxsize=2**14, typed=True)
def _parse(text: str | int | float) -> Quantity:
    if not isinstance(text, str):
        if isinstance(text, bool) or not isinstance(text, int | float):
            raise QuantityError(text, _FORMAT_WRONG)
        text = str(text)
    match = _PATTERN.fullmatch(text)
    if match is None or not text:
        raise QuantityError(text, _FORMAT_WRONG)
    sign, zeros, whole, fraction, suffix = match.groups(default="")
    notation, exponent = _interpret(text, suffix)
    if max(len(whole) + len(fraction), exponent) > _LONGEST:
        raise QuantityError(text, f"more than {_LONGEST} digits")

    # Kubernetes parses short texts in 64 bits. Only these may lack digits ("m" is 0, but "Ei" is an error), and only
    # these are printed as they were written if that is nearly canonical.
    digits = (whole or "0") + fraction
    if notation is _BINARY_SI:
        short = not fraction and len(digits) + exponent * 3 // 10 < 15
        as_is = int(digits[-3:]) % 8 != 0 if short else False
        scaled, scale = int(digits) << exponent, 9 - len(fraction)
    else:
        short = len(digits) <= 18 and exponent - len(fraction) >= -9
        as_is = short and (exponent - len(fraction)) % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
        scaled, scale = int(digits), 9 + exponent - len(fraction)
    if not short and not (zeros or whole or fraction):
        raise QuantityError(text, _NUMERIC_WRONG)

    if scale >= 0:
        nano = scaled * 10**scale
    else:
        nano = -(-scaled // 10 ** min(-scale, 2 * _LONGEST))
    if notation is _BINARY_SI:
        nano = min(nano, MAX_VALUE * _NANO)
        if 0 < nano < _NANO:
            notation = _DECIMAL_SI
    return Quantity(-nano if sign == "-" else nano, notation, text if as_is else "")


def _interpret(text: str, suffix: str) -> tuple[Format, int]:
    """The notation of a suffix, and its exponent: of 2 for the binary notation, else of 10."""
    if (exponent := _DECIMAL_EXPONENTS.get(suffix)) is not None:
        return _DECIMAL_SI, exponent
    if (exponent := _BINARY_EXPONENTS.get(suffix)) is not None:
        return _BINARY_SI, exponent
    match = _EXPONENT.fullmatch(suffix)
    if match is None:
        raise QuantityError(text, _SUFFIX_WRONG)
    if len(match[1]) > 10:
        raise QuantityError(text, f"more than {_LONGEST} digits")
    return Format.DECIMAL_EXPONENT, int(match[1])


def _overflown(nano: int, number: int) -> int:
    """The number that Kubernetes returns for an amount of more than 64 bits."""
    digits = abs(nano)
    while not digits % 10:
        digits //= 10
    if digits < 10**18:
        # Kubernetes stores it as 64 bits and an exponent, and returns 0 if the number does not fit into 64 bits.
        return 0
    low = abs(number) & (2**64 - 1)
    wrapped = low - 2**64 if low > MAX_VALUE else low
    return -wrapped if number < 0 else wrapped


def _format(nano: int, notation: Format) -> str:
    if not nano:
        return "0"
    if notation is _BINARY_SI and abs(nano) >= 1024 * _NANO:
        whole, rest = divmod(nano, _NANO)
        if not rest:
            exponent = 0
            while not whole & 1023:
                whole >>= 10
                exponent += 10
            # From 2**70 on, Kubernetes has no suffix and leaves it out. So does this code, also below.
            return f"{whole}{_BINARY_SUFFIXES.get(exponent, '')}"
    exponent = -9
    while True:
        quotient, rest = divmod(nano, 1000)
        if rest:
            break
        nano = quotient
        exponent += 3
    if notation is Format.DECIMAL_EXPONENT:
        return f"{nano}e{exponent}" if exponent else str(nano)
    return f"{nano}{_DECIMAL_SUFFIXES.get(exponent, '')}"


ZERO: Final = _parse("0")
