"""Permission: a last check of each request, made when its connection is ready and nothing has been sent yet.

A request may wait at several points: for its turn, a rate limiter, credentials, a connection, or a server that asked
it to come again later. A caller that may write only for a limited time must check that after all these waits, not
before. Leader election does.
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
    Check each request that is sent in this context.

    :param permission: called before each request is sent; if it raises, the request is not sent and raises the same
    """
    token = _permission.set(permission)
    try:
        yield
    finally:
        _permission.reset(token)


def ask_permission() -> None:
    """Call the context's check, which raises if the present request may not be sent."""
    permission = _permission.get()
    if permission is not None:
        permission()
