"""The logger that every module of kinformer uses: structlog's, with what may never be logged taken out.

structlog's default renderer prints the local variables of every frame of a traceback, among which are tokens and the
data of Secrets. So a traceback is made into text here, without variables, and goes out under structlog's key ``stack``,
which each of its renderers prints as it is. Nothing is passed on as ``exc_info``.

structlog is imported with the first event: importing it takes longer than importing :mod:`kinformer.client` does, and
each module has a logger.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kinformer.logs.escaping import escaped, without_control

__all__ = ("Logger", "get_logger", "silenced", "traceback_text")

#: Characters of a traceback that are kept; one through a recursion, or with a huge message, has no end.
_LONGEST = 20_000


class Logger:
    """
    Logs events with key-value pairs, as structlog is configured at that time.

    :param values: go out with every event
    """

    __slots__ = ("_name", "_structlogs", "_values")

    def __init__(self, name: str, **values: Any) -> None:
        self._name = name
        self._values = values
        self._structlogs: Any = None

    def bind(self, **values: Any) -> Logger:
        """A logger with these values in every event, besides those that this one has."""
        bound = object.__new__(Logger)
        bound._name = self._name
        bound._structlogs = self._structlogs
        bound._values = {**self._values, **values}
        return bound

    def debug(self, event: str, **values: Any) -> None:
        self._log().debug(event, **self._safe(values))

    def info(self, event: str, **values: Any) -> None:
        self._log().info(event, **self._safe(values))

    def warning(self, event: str, **values: Any) -> None:
        self._log().warning(event, **self._safe(values))

    def error(self, event: str, **values: Any) -> None:
        self._log().error(event, **self._safe(values))

    def exception(self, event: str, **values: Any) -> None:
        """:meth:`error`, with the traceback of the exception that is being handled."""
        self._log().error(event, **self._safe(values), stack=traceback_text())

    def _log(self) -> Any:
        """structlog's own logger, which asks for its configuration anew with each event."""
        if self._structlogs is None:
            import structlog

            self._structlogs = structlog.get_logger(self._name)
        return self._structlogs

    def _safe(self, values: dict[str, Any]) -> dict[str, Any]:
        return {
            name: without_control(value, lines=name == "stack") for name, value in {**self._values, **values}.items()
        }


def get_logger(name: str, **values: Any) -> Logger:
    """
    A module's logger.

    :param name: the module's ``__name__``
    :param values: go out with every event
    """
    return Logger(name, **values)


@contextmanager
def silenced() -> Iterator[None]:
    """Log nothing of this library while the block runs, and take no time for it."""
    names = ("debug", "info", "warning", "error", "exception")
    before = {name: getattr(Logger, name) for name in names}
    for name in names:
        setattr(Logger, name, _say_nothing)
    try:
        yield
    finally:
        for name, method in before.items():
            setattr(Logger, name, method)


def _say_nothing(self: Logger, event: str, **values: Any) -> None:
    """Stands in for a logger's methods while :func:`silenced`."""


def traceback_text(error: BaseException | None = None) -> str:
    """
    The traceback of an exception, by default of the one that is being handled, without any frame's variables.

    Control characters in it are written out; of a very long one the middle is left out.
    """
    error = error or sys.exception()
    if error is None:
        return ""
    text = escaped("".join(traceback.format_exception(error)).rstrip("\n"), lines=True)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n[…]\n{text[-_LONGEST // 2 :]}"
    return text
