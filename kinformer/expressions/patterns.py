"""Regular expressions of users: patterns of custom resources, and searches of rules.

They are compiled by RE2, whose syntax is that of Go's own package. So they mean the same here as in a cluster, and each
search takes time in proportion to the text. Python's own module takes hours for some expressions, and blocks everything
else meanwhile. RE2 comes with the extras ``envtest`` and ``cel``.

The errors of :func:`compile_pattern` are those of Go's package.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, Final, Protocol

__all__ = ("MISSING", "BadPattern", "Pattern", "TooMuchWork", "compile_pattern", "find_all", "is_available")

#: The error for an object with a pattern if RE2 is not installed.
MISSING: Final = "patterns need the package of the extra `envtest`: pip install 'kinformer[envtest]'"

#: The most characters that one search for all matches may examine. Each match may examine the whole rest of the text.
_MOST_LOOKED_AT: Final = 50_000_000

#: RE2's error messages, and those of Go's package. In both, the wrong part of the pattern follows.
_IN_GO: Final = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid character class": "invalid character class range",
    "trailing \\": "trailing backslash at end of expression",
}


class BadPattern(ValueError):
    """A text is not a regular expression in RE2's syntax."""


class TooMuchWork(ValueError):
    """A search would examine more text than is allowed for one request."""


class Match(Protocol):
    def group(self) -> str: ...
    def start(self) -> int: ...


class Pattern(Protocol):
    """A compiled expression; all of its searches take linear time."""

    def search(self, text: str) -> Match | None: ...
    def finditer(self, text: str) -> Iterator[Match]: ...


@cache
def is_available() -> bool:
    """Whether patterns can be compiled: whether the extra ``envtest`` or ``cel`` is installed."""
    return importlib.util.find_spec("re2") is not None


@cache
def _library() -> tuple[Any, Any]:
    import re2  # type: ignore[import-untyped]  # a binding without types

    options = re2.Options()
    options.log_errors = False
    return re2, options


@lru_cache(maxsize=1024)
def compile_pattern(text: str) -> Pattern:
    """
    Compile a pattern.

    :raises BadPattern: with the message of Go's package; if RE2 is not installed, with how to install it
    """
    if not is_available():
        raise BadPattern(MISSING)
    re2, options = _library()
    try:
        compiled: Pattern = re2.compile(text, options)
    except re2.error as error:
        raise BadPattern(f"error parsing regexp: {_in_go(error)}") from None
    except UnicodeEncodeError:
        raise BadPattern("error parsing regexp: invalid UTF-8") from None
    return compiled


def find_all(pattern: Pattern, text: str, most: int = -1) -> list[str]:
    """
    All matches, or the first `most`.

    :raises TooMuchWork: if there are many in a long text, so that to find them could take far longer than to read it
    """
    found: list[str] = []
    budget = _MOST_LOOKED_AT
    if most == 0:
        return found
    for match in pattern.finditer(text):
        found.append(match.group())
        if len(found) == most:
            break
        budget -= len(text) - match.start()
        if budget < 0:
            raise TooMuchWork("operation cancelled: actual cost limit exceeded")
    return found


def _in_go(error: Exception) -> str:
    said = error.args[0] if error.args else str(error)
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    what, _, where = text.partition(": ")
    return f"{_IN_GO.get(what, what)}: `{where}`"
