"""Strategies: finds the strategy for each resource of one server, built in or custom."""

from __future__ import annotations

from kinformer.clock import Clock
from kinformer.envtest.custom import CustomStrategy, Definitions, DefinitionStrategy
from kinformer.envtest.operations import timestamp
from kinformer.envtest.registry import Registry, Resource
from kinformer.envtest.storage import Storage
from kinformer.envtest.strategy import ServiceAddresses, Strategy, strategy_for
from kinformer.envtest.strategy.core import LeaseStrategy

__all__ = ("Strategies",)


class Strategies:
    """
    Makes strategies, with the parts of other objects that some of them need.

    :param coordinated: whether Leases keep the fields of coordinated leader election
    """

    def __init__(self, storage: Storage, registry: Registry, clock: Clock, *, coordinated: bool = False):
        self._coordinated = coordinated
        self._storage = storage
        self._clock = clock
        self._addresses = ServiceAddresses(storage)
        self.definitions = Definitions(storage, registry, clock)

    def load(self) -> None:
        """Note the objects of a storage that was loaded from a file."""
        self._addresses.load(self._storage)
        self.definitions.load()

    def _now(self) -> str:
        return timestamp(self._clock.now())

    def __call__(self, resource: Resource) -> Strategy:
        if resource.is_custom:
            return CustomStrategy(resource)
        if (resource.group, resource.plural) == ("apiextensions.k8s.io", "customresourcedefinitions"):
            return DefinitionStrategy(resource, self.definitions)
        if (resource.group, resource.plural) == ("coordination.k8s.io", "leases"):
            return LeaseStrategy(resource, coordinated=self._coordinated)
        return strategy_for(resource, self._addresses, self._now)
