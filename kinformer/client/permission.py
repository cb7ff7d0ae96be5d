"""Permission: a last question, asked for each request when its connection is there and nothing was sent yet.

A request waits on its way: for a turn, for a limiter, for credentials, for a connection, for a server that asked it to
come again later. Whoever may write for a limited time only has to ask at the end of all that, not before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ("ask_permission", "with_permission")

_permission: ContextVar[Callable[[], object] | None] = ContextVar("kinformer_permission", default=None)


@contextmanager
def with_permission(permission: Callable[[], object]) -> Iterator[None]:
    """
    Ask for each request in this context.

    :param permission: raises if it may not be sent; the request raises the same
    """
    token = _permission.set(permission)
    try:
        yield
    finally:
        _permission.reset(token)


def ask_permission() -> None:
    """Raise if the request that is to be sent now may not be."""
    permission = _permission.get()
    if permission is not None:
        permission()
