"""The logger of all modules of kinformer: structlog's, without data that must not be logged.

structlog's default renderer prints the local variables of every frame of a traceback. Among them are tokens and the
data of Secrets. So a traceback is made into text here, without variables, and logged under structlog's key ``stack``,
which each of its renderers prints unchanged. ``exc_info`` is never passed on. Where one process works for many
clusters, every event has its ``cluster``.

While nobody has configured structlog, events go to the standard library's ``logging``, to a logger with the module's
name. A program that embeds kinformer then sees them where it sees its own. They never appear on its standard output.

An event that cannot be logged is lost, and nothing else: a full disk, a reader of the log that is gone, or an error of
structlog's processors must not end a leader, which would leave its Lease behind.

structlog is never imported here: its import takes longer than that of :mod:`kinformer.client`, and each module has a
logger.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kinformer.cluster import CLUSTER
from kinformer.logs.escaping import escaped, without_control

__all__ = ("Logger", "error_text", "get_logger", "silenced", "traceback_text", "typed_error_text")

#: The most characters of a traceback that are kept. A recursion or a huge message makes tracebacks without end.
_LONGEST = 20_000


class Logger:
    """
    Logs events with key-value pairs, by structlog's configuration at the time of the event.

    :param values: logged with every event
    """

    __slots__ = ("_name", "_structlogs", "_values")

    def __init__(self, name: str, **values: Any) -> None:
        self._name = name
        self._values = values
        self._structlogs: Any = None

    def bind(self, **values: Any) -> Logger:
        """Make a logger that logs these values with every event, in addition to its own."""
        bound = object.__new__(Logger)
        bound._name = self._name
        bound._structlogs = self._structlogs
        bound._values = {**self._values, **values}
        return bound

    def debug(self, event: str, **values: Any) -> None:
        if _drops_debug():  # what structlog would find out after a logger was made and all values were made safe
            return
        self._tell("debug", event, values)

    def info(self, event: str, **values: Any) -> None:
        self._tell("info", event, values)

    def warning(self, event: str, **values: Any) -> None:
        self._tell("warning", event, values)

    def error(self, event: str, **values: Any) -> None:
        self._tell("error", event, values)

    def exception(self, event: str, **values: Any) -> None:
        """:meth:`error`, with the traceback of the exception that is being handled."""
        self._tell("error", event, values, stack=traceback_text())

    def _tell(self, level: str, event: str, values: dict[str, Any], **stack: str) -> None:
        try:
            getattr(self._log(), level)(event, **self._safe(values), **stack)
        except Exception:
            _log_is_broken()

    def _log(self) -> Any:
        """structlog's own logger, which reads its configuration again for each event; or the standard library's."""
        structlog = sys.modules.get("structlog")  # if nobody has imported it, nobody has configured it
        if structlog is None or not structlog.is_configured():
            return _Standard(logging.getLogger(self._name))
        if self._structlogs is None:
            self._structlogs = structlog.get_logger(self._name)
        return self._structlogs

    def _safe(self, values: dict[str, Any]) -> dict[str, Any]:
        cluster = CLUSTER.get()
        of_it = {"cluster": cluster} if cluster else {}
        return {
            name: without_control(value, lines=name == "stack")
            for name, value in {**of_it, **self._values, **values}.items()
        }


def _log_is_broken() -> None:
    """Tell of an error of the log itself as ``logging`` does: on standard error, if that can be written."""
    if logging.raiseExceptions and sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(f"the log failed:\n{traceback_text()}\n")


def _drops_debug() -> bool:
    """Whether structlog is configured to log nothing of the level debug."""
    structlog = sys.modules.get("structlog")
    if structlog is None or not structlog.is_configured():
        return False
    is_enabled_for = getattr(structlog.get_config()["wrapper_class"], "is_enabled_for", None)
    return is_enabled_for is not None and not is_enabled_for(None, logging.DEBUG)


class _Standard:
    """Logs structlog's way through a logger of the standard library."""

    __slots__ = ("_logger",)

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def debug(self, event: str, **values: Any) -> None:
        self._at(logging.DEBUG, event, values)

    def info(self, event: str, **values: Any) -> None:
        self._at(logging.INFO, event, values)

    def warning(self, event: str, **values: Any) -> None:
        self._at(logging.WARNING, event, values)

    def error(self, event: str, **values: Any) -> None:
        self._at(logging.ERROR, event, values)

    def _at(self, level: int, event: str, values: dict[str, Any]) -> None:
        if self._logger.isEnabledFor(level):
            stack = values.pop("stack", "")
            text = " ".join((event, *(f"{name}={value!r}" for name, value in values.items())))
            self._logger.log(level, "%s", f"{text}\n{stack}" if stack else text)


def get_logger(name: str, **values: Any) -> Logger:
    """
    A module's logger.

    :param name: the module's ``__name__``
    :param values: logged with every event
    """
    return Logger(name, **values)


@contextmanager
def silenced() -> Iterator[None]:
    """Log no events of this library while the block runs, and take no time for them."""
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
    """Replaces a logger's methods during :func:`silenced`."""


def error_text(error: BaseException) -> str:
    """
    The text of an exception, or its repr if it has none. For a group, the texts of all its exceptions.

    The text of a KeyError is nothing but the key, so the type is before it. An exception of a user's code may have a
    ``__str__`` that raises. Then this is the name of its type.
    """
    if isinstance(error, BaseExceptionGroup):
        return f"{error.message}: {'; '.join(map(error_text, error.exceptions))}"
    name = type(error).__name__
    try:
        text = str(error)
        return (f"{name}: {text}" if isinstance(error, KeyError) and text else text) or repr(error)
    except Exception:
        return name


def typed_error_text(error: BaseException) -> str:
    """What :func:`error_text` returns, with the name of the exception's type before it, as a traceback ends."""
    name, text = type(error).__name__, error_text(error)
    return text if text.startswith(name) else f"{name}: {text}"


def traceback_text(error: BaseException | None = None) -> str:
    """
    The traceback of an exception, without any frame's variables. By default, of the exception that is being handled.

    Control characters are escaped. The middle of a very long traceback is left out.
    """
    error = error or sys.exception()
    if error is None:
        return ""
    text = escaped("".join(traceback.format_exception(error)).rstrip("\n"), lines=True)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n[…]\n{text[-_LONGEST // 2 :]}"
    return text
