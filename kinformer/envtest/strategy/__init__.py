"""What each kind does with an object on its way into the storage: defaults, fields the server sets, validation."""

from __future__ import annotations

from kinformer.envtest.strategy.base import Strategy
from kinformer.envtest.strategy.kinds import Strategies

__all__ = ("Strategies", "Strategy")
