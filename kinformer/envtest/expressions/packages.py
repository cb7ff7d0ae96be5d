"""The two packages of the extra ``cel``, imported when they are first needed."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

__all__ = ("MISSING", "is_available", "load_cel", "load_protobuf")

#: What is said of an object with an expression in it where nobody can read it.
MISSING = "expressions need the packages of the extra `cel`: pip install 'kinformer[cel]'"


def is_available() -> bool:
    """Whether expressions can be compiled: whether the extra ``cel`` is installed."""
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
    """One of protobuf's own modules: ``timestamp_pb2``."""
    return importlib.import_module(f"google.protobuf.{name}")
