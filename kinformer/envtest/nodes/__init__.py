"""Fake nodes: make an API server behave like a cluster, although no containers run.

See :class:`FakeNodes`. :mod:`kinformer.envtest.nodes.phases` says how a test controls what a pod does.
"""

from __future__ import annotations

from kinformer.envtest.nodes.agent import FakeNodes
from kinformer.envtest.nodes.phases import (
    EXIT_CODE,
    PENDING_SECONDS,
    READY_AFTER_SECONDS,
    RUN_SECONDS,
    PodScriptError,
)

__all__ = ("EXIT_CODE", "PENDING_SECONDS", "READY_AFTER_SECONDS", "RUN_SECONDS", "FakeNodes", "PodScriptError")
