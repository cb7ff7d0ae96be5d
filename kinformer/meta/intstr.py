"""Numbers or percentages: ``maxUnavailable: 2`` or ``maxUnavailable: 25%``.

Models and dicts hold such a field as the int or the text of the API. :func:`scaled_value` turns it into a number. The
rule is apimachinery's GetScaledValueFromIntOrPercent, including its arithmetic in 64-bit floats.
"""

from __future__ import annotations

import math
import re

from kinformer.meta.integers import read_integer

__all__ = ("scaled_value",)

_PERCENT = re.compile(r"([+-]?[0-9]+)%", re.ASCII)


def scaled_value(value: int | str, total: int, *, round_up: bool) -> int:
    """
    Return `value` itself if it is an int, or that percentage of `total` if it is a text like ``25%``.

    :param round_up: whether a result that is not a whole number is rounded up
    :raises ValueError: if the text is not an integer followed by ``%``
    """
    if isinstance(value, int):
        return value
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if match is None or (percentage := read_integer(match[1])) is None:
        raise ValueError(f"{value!r} is neither an integer nor a percentage like '25%'")
    share = float(percentage) * float(total) / 100
    return math.ceil(share) if round_up else math.floor(share)
