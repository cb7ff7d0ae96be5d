"""Strategies: what each kind does with an object before it is stored. They set defaults and the server's own fields,
and validate.
"""

from __future__ import annotations

from kinformer.envtest.strategy.base import Strategy
from kinformer.envtest.strategy.core import SYSTEM_CLASSES
from kinformer.envtest.strategy.services import ServiceAddresses

__all__ = ("SYSTEM_CLASSES", "ServiceAddresses", "Strategy")
