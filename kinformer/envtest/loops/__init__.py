"""Loops: the work that a cluster does and an API server alone does not; see :class:`Loops`."""

from __future__ import annotations

from kinformer.envtest.loops.runner import LOOPS, WITHOUT_KUBELET, Loops

__all__ = ("LOOPS", "WITHOUT_KUBELET", "Loops")
