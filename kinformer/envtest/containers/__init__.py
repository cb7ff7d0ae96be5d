"""Fake containers: a test provides the lines of logs, Python functions for commands, and servers for ports.

Nothing runs on fake nodes. Requests for the containers of pods are answered with what a test has registered at
``server.containers``, a :class:`FakeContainers`.
"""

from __future__ import annotations

from kinformer.envtest.containers.log import FakeLog
from kinformer.envtest.containers.registry import FakeContainers, FakeProcess

__all__ = ("FakeContainers", "FakeLog", "FakeProcess")
