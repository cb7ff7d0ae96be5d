"""Logging: how kinformer logs, and a configuration that programs may use.

The library logs structlog events through :func:`get_logger`. They go where structlog's configuration says. Configure it
with :func:`configure_logging`, as the command ``kinformer`` does, or in your own way. Until structlog is configured,
events go to the standard library's ``logging``. In every configuration, tracebacks of this library's events have no
local variables, and their values have no control characters.
"""

from __future__ import annotations

from kinformer.logs.escaping import escape_control_characters, escaped
from kinformer.logs.logger import Logger, error_text, get_logger, silenced, traceback_text, typed_error_text
from kinformer.logs.setup import configure_logging, leave_rich_out

__all__ = (
    "Logger",
    "configure_logging",
    "error_text",
    "escape_control_characters",
    "escaped",
    "get_logger",
    "leave_rich_out",
    "silenced",
    "traceback_text",
    "typed_error_text",
)
