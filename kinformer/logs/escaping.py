r"""Control characters in what is logged: a server chooses them, and a terminal obeys them.

A message of the server may end a line and begin one that looks like ours, or hold an escape sequence that clears the
screen or sets the clipboard. They are written as Python writes them: ``\n``, ``\x1b``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

__all__ = ("escape_control_characters", "escaped")

#: C0 and C1 controls, what separates lines and paragraphs, and what turns the direction of writing around.
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
#: The same, but for line ends and tabs: a traceback has them.
_CONTROL_IN_LINES: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def escaped(text: str, *, lines: bool = False) -> str:
    """
    The text with its control characters written out.

    :param lines: leave line ends and tabs as they are
    """
    return (_CONTROL_IN_LINES if lines else _CONTROL).sub(_written_out, text)


def escape_control_characters(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """
    A structlog processor that writes out the control characters in every value of an event.

    ``exception`` and ``stack``, which are tracebacks, keep their line ends.
    """
    for name, value in event.items():
        event[name] = without_control(value, lines=name in ("exception", "stack"))
    return event


def without_control(value: Any, *, lines: bool = False) -> Any:
    """A value to log, where strings in lists and mappings are escaped as well; another object as it is."""
    if isinstance(value, str):
        return escaped(value, lines=lines)
    # Any other object is shown by its repr, which escapes by itself; only containers' strings may be shown raw.
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(without_control(item) for item in value)
    if isinstance(value, Mapping):
        return {without_control(name): without_control(item) for name, item in value.items()}
    return value


def _written_out(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]
