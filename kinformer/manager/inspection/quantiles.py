"""Quantiles: the median and the 99th percentile of measured times."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ("quantile",)


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """
    The value that is greater than this share of the others; None if there are no values.

    :param ordered: the values, in order of size
    :param share: such as 0.5 for the median
    """
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else None
