"""How the commands log: to standard error, one event a line, for a person or as JSON."""

from __future__ import annotations

import logging
import sys
from typing import Any, Final

import structlog

__all__ = ("configure_logging",)

#: From this on, klog's convention has what only matters to somebody who is looking for something.
_DETAILS = 4

# structlog's own choice shows every frame's variables, among which may be tokens and the data of Secrets.
_TRACEBACKS: Final = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
)


def configure_logging(verbosity: int, logging_format: str, *, quiet: bool = False) -> None:
    """
    Say once how everything in this process logs.

    :param verbosity: klog's level: 0 for what every operator wants to see, 4 and above for details
    :param logging_format: ``text`` or ``json``
    :param quiet: without a verbosity, nothing: the command shows by itself what goes on
    """
    level = logging.DEBUG if verbosity >= _DETAILS else logging.CRITICAL if quiet and not verbosity else logging.INFO
    renderer: Any
    if logging_format == "json":
        renderer, tracebacks = structlog.processors.JSONRenderer(), [_TRACEBACKS]
    else:
        renderer, tracebacks = _console(), []
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *tracebacks,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def _console() -> structlog.dev.ConsoleRenderer:
    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback)
