r"""Escaping of control characters in logs. A server could send them, and a terminal would obey them.

A message from the server may end a line and begin one that looks like ours. It may hold an escape sequence that clears
the screen or sets the clipboard. Control characters are written as in Python source: ``\n``, ``\x1b``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

__all__ = ("escape_control_characters", "escaped")

#: C0 and C1 controls, separators of lines and paragraphs, and characters that change the direction of text.
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
#: The same without line ends and tabs, which a traceback has.
_CONTROL_IN_LINES: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def escaped(text: str, *, lines: bool = False) -> str:
    """
    Replace the control characters of a text by escape sequences.

    :param lines: leave line ends and tabs as they are
    """
    return (_CONTROL_IN_LINES if lines else _CONTROL).sub(_written_out, text)


def escape_control_characters(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """
    A structlog processor that escapes the control characters in every value of an event.

    ``exception`` and ``stack``, which are tracebacks, keep their line ends.
    """
    for name, value in event.items():
        event[name] = without_control(value, lines=name in ("exception", "stack"))
    return event


def without_control(value: Any, *, lines: bool = False) -> Any:
    """Escape a value for the log, including strings in lists and mappings. Other objects are returned as they are."""
    if isinstance(value, str):
        return escaped(value, lines=lines)
    # Any other object is shown by its repr, which escapes by itself. Only strings in containers may be shown raw.
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(without_control(item) for item in value)
    if isinstance(value, Mapping):
        return {without_control(name): without_control(item) for name, item in value.items()}
    return value


def _written_out(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]
