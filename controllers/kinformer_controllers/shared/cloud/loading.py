"""Finding the cloud that ``--cloud-provider`` names. It is made once in a process.

``--cloud-provider fake`` is a cloud in memory, for tests. A test can make it slow, make its calls fail, and make it
lose its state. By default each load balancer has the address 192.0.2.7, and routes are created at once. A node whose
name ends in ``-gone`` has no instance. A node whose name ends in ``-off`` is shut down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from kinformer.clock import Clock, RealClock
from kinformer.installed import installed
from kinformer.manager import ControllerDisabled
from kinformer.meta import meta_namespace_key
from kinformer.models import V1LoadBalancerIngress, V1LoadBalancerStatus, V1Node, V1Service
from kinformer.options import OptionError
from kinformer_controllers.shared.cloud.interface import CloudProvider, Route

__all__ = (
    "FakeCloud",
    "cloud_named",
)

ADDRESS = "192.0.2.7"

GROUP: Final = "kinformer.cloud_providers"
#: The name of the cloud for tests. No other package has to be installed for it.
FAKE: Final = "fake"


class FakeCloud:
    """
    A :class:`~kinformer_controllers.shared.cloud.interface.CloudProvider` in memory.

    :ivar calls: how often each method was called
    :ivar errors: by a method's name: errors that its next calls raise, one for each call, in this order
    :ivar seconds: how long each call takes
    :ivar balancers: the names of the nodes of each load balancer, by the key of its Service
    :ivar known_routes: the routes that exist, by their names
    """

    name = "fake"

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or RealClock()
        self.calls: Counter[str] = Counter()
        self.errors: dict[str, list[Exception]] = {}
        self.seconds = 0.0
        self.balancers: dict[str, list[str]] = {}
        self.known_routes: dict[str, Route] = {}

    @property
    def load_balancers(self) -> FakeCloud:
        return self

    @property
    def routes(self) -> FakeCloud:
        return self

    @property
    def instances(self) -> FakeCloud:
        return self

    def forget(self) -> None:
        """Lose all load balancers and routes, as if somebody had deleted them by hand."""
        self.balancers.clear()
        self.known_routes.clear()

    async def get_load_balancer(self, cluster: str, service: V1Service) -> V1LoadBalancerStatus | None:
        await self._call("get_load_balancer")
        return _status() if meta_namespace_key(service) in self.balancers else None

    async def ensure_load_balancer(
        self, cluster: str, service: V1Service, nodes: Sequence[V1Node]
    ) -> V1LoadBalancerStatus:
        await self._call("ensure_load_balancer")
        self.balancers[meta_namespace_key(service)] = [node.metadata.name for node in nodes]
        return _status()

    async def update_load_balancer(self, cluster: str, service: V1Service, nodes: Sequence[V1Node]) -> None:
        await self._call("update_load_balancer")
        self.balancers[meta_namespace_key(service)] = [node.metadata.name for node in nodes]

    async def ensure_load_balancer_deleted(self, cluster: str, service: V1Service) -> None:
        await self._call("ensure_load_balancer_deleted")
        self.balancers.pop(meta_namespace_key(service), None)

    async def list_routes(self, cluster: str) -> Sequence[Route]:
        await self._call("list_routes")
        return list(self.known_routes.values())

    async def create_route(self, cluster: str, name_hint: str, route: Route) -> None:
        await self._call("create_route")
        name = f"{cluster}-{name_hint}-{route.destination_cidr}"
        self.known_routes[name] = replace(route, name=name)

    async def delete_route(self, cluster: str, route: Route) -> None:
        await self._call("delete_route")
        self.known_routes.pop(route.name, None)

    async def instance_exists(self, node: V1Node) -> bool:
        await self._call("instance_exists")
        return not node.metadata.name.endswith("-gone")

    async def instance_shutdown(self, node: V1Node) -> bool:
        await self._call("instance_shutdown")
        return node.metadata.name.endswith("-off")

    async def _call(self, method: str) -> None:
        self.calls[method] += 1
        if self.seconds:
            await self._clock.sleep(self.seconds)
        if errors := self.errors.get(method):
            raise errors.pop(0)


def _status() -> V1LoadBalancerStatus:
    return V1LoadBalancerStatus(ingress=[V1LoadBalancerIngress(ip=ADDRESS)])


def cloud_named(name: str) -> CloudProvider:
    """
    Return the cloud with that name. All controllers of a process share it.

    :raises ControllerDisabled: if the name is empty
    :raises OptionError: if no installed package offers a cloud with that name
    """
    if not name:
        raise ControllerDisabled("--cloud-provider is not given")
    found: CloudProvider = _loaded(name)
    return found


@cache
def _loaded(name: str) -> Any:
    if name == FAKE:
        return FakeCloud()
    offered = {entry.name: entry for entry in installed(GROUP)}
    if name not in offered:
        known = ", ".join(sorted([*offered, FAKE]))
        raise OptionError(f"--cloud-provider is {name!r}: no package offers it; want one of {known}")
    return offered[name].load()()
