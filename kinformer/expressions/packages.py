"""The two packages of the extra ``cel``. They are imported when they are first needed."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

__all__ = ("MISSING", "is_available", "load_cel", "load_protobuf")

#: The error for an object with an expression, if the packages are not installed.
MISSING = "expressions need the packages of the extra `cel`: pip install 'kinformer[cel]'"


def is_available() -> bool:
    """Whether the extra ``cel`` is installed, so that expressions can be compiled."""
    return all(_has_module(name) for name in ("cel_expr_python", "google.protobuf"))


@cache
def _has_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def load_cel() -> Any:
    from cel_expr_python import cel  # type: ignore[import-untyped]  # its stubs are not marked as such

    return cel


def load_protobuf(name: str) -> Any:
    """Import one of protobuf's own modules, for example ``timestamp_pb2``."""
    return importlib.import_module(f"google.protobuf.{name}")
