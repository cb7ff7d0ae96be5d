"""Strategies: finds the strategy for each resource of one server, built in or custom.

``kinds.yaml`` names the strategy and the checks of each built-in kind. A kind without a strategy of its own has a plain
one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from kinformer.clock import Clock
from kinformer.envtest import strategy
from kinformer.envtest.custom import CustomStrategy, Definitions, DefinitionStrategy
from kinformer.envtest.operations import timestamp
from kinformer.envtest.registry import Registry, Resource
from kinformer.envtest.storage import Storage
from kinformer.envtest.strategy import core, devices
from kinformer.envtest.strategy.autoscaling import AutoscalerStrategy, OldAutoscalerStrategy
from kinformer.envtest.strategy.base import Strategy
from kinformer.envtest.strategy.declared import kinds
from kinformer.envtest.strategy.fields import Fields
from kinformer.envtest.strategy.services import ServiceAddresses, ServiceStrategy

__all__ = ("Strategies",)


def _part(name: str) -> Any:
    """What ``kinds.yaml`` names: a part of a module of strategies."""
    module, _, part = name.partition(".")
    return getattr(import_module(f"{strategy.__name__}.{module}"), part)


class Strategies:
    """
    Makes strategies, with the parts of other objects that some of them need.

    :param coordinated: whether Leases keep the fields of coordinated leader election
    """

    def __init__(self, storage: Storage, registry: Registry, clock: Clock, *, coordinated: bool = False):
        self._storage = storage
        self._addresses = ServiceAddresses(storage)
        self.definitions = Definitions(storage, registry, clock)

        def now() -> str:
            return timestamp(clock.now())

        #: Strategies that need more than their resource.
        self._made: dict[tuple[str, str], Callable[[Resource], Strategy]] = {
            ("autoscaling", "horizontalpodautoscalers"): lambda resource: (
                OldAutoscalerStrategy(resource) if resource.version == "v1" else AutoscalerStrategy(resource)
            ),
            ("", "services"): partial(ServiceStrategy, addresses=self._addresses),
            ("apiextensions.k8s.io", "customresourcedefinitions"): partial(
                DefinitionStrategy, definitions=self.definitions
            ),
            ("coordination.k8s.io", "leases"): partial(core.LeaseStrategy, coordinated=coordinated),
            ("resource.k8s.io", "resourceslices"): partial(devices.SliceStrategy, now=now),
            ("resource.k8s.io", "devicetaintrules"): partial(devices.TaintRuleStrategy, now=now),
        }

    def load(self) -> None:
        """Note the objects of a storage that was loaded from a file."""
        self._addresses.load(self._storage)
        self.definitions.load()

    def __call__(self, resource: Resource) -> Strategy:
        if resource.is_custom:
            return CustomStrategy(resource)
        if (make := self._made.get((resource.group, resource.plural))) is not None:
            return make(resource)
        declared = kinds().get(str(resource.group_resource)) or {}
        checks = _part(name) if (name := declared.get("checks")) else None
        if name := declared.get("spec"):
            checks = Fields(spec=_part(name))
        own: Strategy = _part(declared.get("strategy", "base.Strategy"))(resource, checks)
        return own
