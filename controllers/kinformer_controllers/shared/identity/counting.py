"""Counting the syncs of a publisher, by the HTTP status code of their errors, as kube-controller-manager does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Counter, Histogram

from kinformer.client.errors import ApiError
from kinformer.clock import Clock

__all__ = ("counted",)


@contextmanager
def counted(clock: Clock, syncs: Counter, seconds: Histogram) -> Iterator[None]:
    """
    Count one sync and its duration. The label ``code`` is 200 without an error, and 500 for an error without a code.

    :param syncs: has the label ``code``
    :param seconds: has the label ``code``
    """
    began, code = clock.monotonic(), 500
    try:
        yield
        code = 200
    except ApiError as error:
        code = error.status.code or 500
        raise
    finally:
        syncs.labels(code=str(code)).inc()
        seconds.labels(code=str(code)).observe(clock.monotonic() - began)
