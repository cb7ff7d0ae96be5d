"""Errors of patches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ("MalformedPatchError", "PatchError", "go_text", "refusing_depth")


class PatchError(ValueError):
    """A patch does not fit the object that it is applied to. An API server answers 422."""


class MalformedPatchError(PatchError):
    """A value is not a patch of its format, whatever the object. An API server answers 400."""


@contextmanager
def refusing_depth() -> Iterator[None]:
    """Raise an error for deeper nesting than Python allows. That is 300 levels more than any object of the API has."""
    try:
        yield
    except RecursionError:
        raise MalformedPatchError("the patch or the object is nested too deeply") from None


def go_text(value: Any) -> str:
    """A value as Go prints it, which kube-apiserver uses in the errors of patches."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{go_text(item)}' for name, item in sorted(value.items()))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)
