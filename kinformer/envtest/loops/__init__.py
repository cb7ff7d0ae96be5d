"""What a cluster does by itself, and a lone API server does not: see :class:`Loops`."""

from __future__ import annotations

from kinformer.envtest.loops.runner import LOOPS, WITHOUT_KUBELET, Loops

__all__ = ("LOOPS", "WITHOUT_KUBELET", "Loops")
