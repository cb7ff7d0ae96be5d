"""Numbers or percentages: ``maxUnavailable: 2`` or ``maxUnavailable: 25%``.

Models and dicts hold such a field as the int or the text of the API. :func:`scaled_value` turns it into a number. The
rule is apimachinery's GetScaledValueFromIntOrPercent, including its arithmetic in 64-bit floats.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Final

from kinformer.meta.integers import read_integer

__all__ = ("scaled_value",)

_PERCENT = re.compile(r"([+-]?[0-9]+)%", re.ASCII)

#: Longer texts are not remembered: an object of the API may have a percentage of a megabyte.
_SHORT: Final = 16


def scaled_value(value: int | str, total: int, *, round_up: bool) -> int:
    """
    Return `value` itself if it is an int, or that percentage of `total` if it is a text like ``25%``.

    :param round_up: whether a result that is not a whole number is rounded up
    :raises ValueError: if the text is not an integer followed by ``%``
    """
    if isinstance(value, int):
        return value
    percentage = (_remembered if len(value) <= _SHORT else _percentage)(value) if isinstance(value, str) else None
    if percentage is None:
        raise ValueError(f"{value!r} is neither an integer nor a percentage like '25%'")
    share = float(percentage) * float(total) / 100
    return math.ceil(share) if round_up else math.floor(share)


def _percentage(text: str) -> int | None:
    match = _PERCENT.fullmatch(text)
    return read_integer(match[1]) if match is not None else None


# The objects of a cluster have few different percentages, and each sync of a Deployment reads its own several times.
_remembered = lru_cache(maxsize=128)(_percentage)
