"""How kinformer logs, and how a process that uses it may set its log up.

The library logs structlog events through :func:`get_logger`. structlog prints everything until it is configured, by
:func:`configure_logging` as the command ``kinformer`` does it or in your own way. Whatever it is configured to, an
event of this library has no local variables in its traceback and no control characters in its values.
"""

from __future__ import annotations

from kinformer.logs.escaping import escape_control_characters, escaped
from kinformer.logs.logger import Logger, get_logger, silenced, traceback_text
from kinformer.logs.setup import configure_logging, leave_rich_out

__all__ = (
    "Logger",
    "configure_logging",
    "escape_control_characters",
    "escaped",
    "get_logger",
    "leave_rich_out",
    "silenced",
    "traceback_text",
)
