"""What patches raise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ("MalformedPatchError", "PatchError", "go_text", "refusing_depth")


class PatchError(ValueError):
    """A patch does not fit the object it is for: an API server answers 422."""


class MalformedPatchError(PatchError):
    """What was sent is no patch of its kind, whatever the object: an API server answers 400."""


@contextmanager
def refusing_depth() -> Iterator[None]:
    """Objects nested more deeply than Python follows are some 300 levels past any that the API has: an attack."""
    try:
        yield
    except RecursionError:
        raise MalformedPatchError("the patch or the object is nested too deeply") from None


def go_text(value: Any) -> str:
    """A value as Go prints it, and so kube-apiserver in the errors of patches."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{go_text(item)}' for name, item in sorted(value.items()))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)
