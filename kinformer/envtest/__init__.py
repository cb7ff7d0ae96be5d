"""A Kubernetes API server in this process, for tests and demonstrations: see :class:`ApiServer`."""

from __future__ import annotations

from kinformer.envtest.server import ApiServer, ServerError

__all__ = ("ApiServer", "ServerError")
