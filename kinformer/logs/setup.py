"""Configuration of the log for commands: to standard error, one event a line, for people or as JSON.

A program of your own may log in the same way::

    from kinformer.logs import configure_logging

    configure_logging(logging_format="json")
"""

from __future__ import annotations

import logging
import sys
from typing import Any, Literal, TextIO

from kinformer.logs.escaping import escape_control_characters

__all__ = ("LogFormat", "configure_logging", "leave_rich_out")

LogFormat = Literal["text", "json"]

#: The verbosity from which on details are logged, by klog's convention.
_DETAILS = 4


def leave_rich_out() -> None:
    """
    Import structlog without rich. structlog imports rich if it is installed, which takes longer than structlog itself.

    This is for a process that configures its log with :func:`configure_logging`, which uses nothing of rich. If
    structlog has been imported already, nothing changes. Other code can import rich before and after.
    """
    if "structlog" in sys.modules or "rich" in sys.modules:
        return
    # Python's import system treats a module that is None as missing.
    sys.modules["rich"] = None  # type: ignore[assignment]  # typeshed does not know of None here
    try:
        import structlog  # noqa: F401 - imported for its effect on sys.modules
    finally:
        del sys.modules["rich"]


def configure_logging(
    verbosity: int = 0, logging_format: LogFormat = "text", *, quiet: bool = False, file: TextIO | None = None
) -> None:
    """
    Configure structlog once, for the whole process.

    Tracebacks show no variables. Control characters are escaped, so that no server can add lines to the log.

    :param verbosity: klog's level: 0 for what every operator wants to see, 4 and above for details
    :param logging_format: ``text`` for a person, ``json`` for a machine
    :param quiet: log nothing unless there is a verbosity: for programs that show their progress themselves
    :param file: the file to write to; standard error if None
    """
    import structlog  # with the first event, or here: see kinformer.logs.logger

    file = file or sys.stderr
    level = logging.DEBUG if verbosity >= _DETAILS else logging.CRITICAL if quiet and not verbosity else logging.INFO
    rendering: list[Any]
    if logging_format == "json":
        # structlog's default shows every frame's variables, among which may be tokens and the data of Secrets.
        tracebacks = structlog.processors.ExceptionRenderer(
            structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        )
        rendering = [tracebacks, structlog.processors.JSONRenderer()]
    else:
        rendering = [
            # Made into text first, so that the exception's message is escaped too.
            structlog.processors.format_exc_info,
            escape_control_characters,
            structlog.dev.ConsoleRenderer(colors=file.isatty(), exception_formatter=structlog.dev.plain_traceback),
        ]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *rendering,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(file),
        cache_logger_on_first_use=False,
    )
