"""Containers that a test gives: the lines of a log, a Python function in place of a command, something behind a port.

Nothing runs on fake nodes. What clients ask of a pod's containers is answered by what a test has registered at
``server.containers``, a :class:`FakeContainers`.
"""

from __future__ import annotations

from kinformer.envtest.containers.log import FakeLog
from kinformer.envtest.containers.process import FakeProcess
from kinformer.envtest.containers.registry import FakeContainers

__all__ = ("FakeContainers", "FakeLog", "FakeProcess")
