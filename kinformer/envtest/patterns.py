"""Regular expressions that users write: patterns of custom resources, and what rules search for.

They are compiled by RE2, the library whose syntax Go's own package has, so that they mean here what they mean in a
cluster, and so that each search takes time in proportion to the text. Python's own module takes hours for some, and
lets nothing else run meanwhile. RE2 comes with the extras ``envtest`` and ``cel``.

:func:`compile_pattern` says of a pattern that is not taken what Go's package would say of it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, Final, Protocol

__all__ = ("MISSING", "BadPattern", "Pattern", "TooMuchWork", "compile_pattern", "find_all", "is_available")

#: What is said of an object with a pattern in it where nothing can compile it.
MISSING: Final = "patterns need the package of the extra `envtest`: pip install 'kinformer[envtest]'"

#: How many characters one search for all matches may look at: each match may look at all that comes after it.
_MOST_LOOKED_AT: Final = 50_000_000

#: What RE2 says, and how Go's package says the same. In both, the part that is meant comes after it.
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
    """A text that is no regular expression of RE2's syntax."""


class TooMuchWork(ValueError):
    """A search would look at more than a request may cost."""


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
    :raises BadPattern: with what Go's package says; where RE2 is not installed, with how to install it
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
    Every match, or the first `most`.

    :raises TooMuchWork: if they are many in a long text, so that finding them might take far longer than reading it
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
