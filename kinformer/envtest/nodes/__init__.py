"""Fake nodes: what makes an API server feel like a cluster, without running anything.

See :class:`FakeNodes`; :mod:`kinformer.envtest.nodes.phases` says how a test tells a pod what to do.
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
