"""The kind monitor: which kinds are followed after each discovery, and with which watches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from kinformer.cache import SharedIndexInformer
from kinformer.cache.testing import FakeControllerSource
from kinformer.client import NoKindMatch, Served
from kinformer.client.discovery import ApiResource
from kinformer.client.errors import ClientError, Status, error_from_status
from kinformer.clock import FakeClock
from kinformer.meta import GroupResource, GroupVersion, GroupVersionResource
from kinformer_controllers.shared.kinds import DISCOVERY_PERIOD, Follower, KindMapper, KindMonitor, kinds_with
from tests.turning import turn

ALL = ("delete", "list", "watch")


def kind(plural: str, *, group: str = "", version: str = "v1", verbs: tuple[str, ...] = ALL) -> ApiResource:
    return ApiResource(GroupVersionResource(group, version, plural), plural.title(), namespaced=True, verbs=verbs)


class Following(Follower):
    """Notes what the monitor does."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.found_kinds: list[str] = []
        self.lost_kinds: list[str] = []
        self.failures = 0

    def choose(self, served: Served) -> Mapping[GroupResource, ApiResource]:
        return kinds_with(served, ALL)

    def informer_of(self, kind: ApiResource) -> Any:
        self._world.borrowed.append(kind.gvr.resource)
        return SimpleNamespace(
            informer=self._world.informer(kind.gvr.resource),
            give_back=lambda: self._world.given_back.append(kind.gvr.resource),
        )

    def handler_of(self, kind: ApiResource, informer: Any) -> Any:
        return SimpleNamespace(on_add=lambda *_: None, on_update=lambda *_: None, on_delete=lambda *_: None)

    def found(self, kind: ApiResource) -> None:
        self.found_kinds.append(kind.gvr.resource)

    def lost(self, kind: ApiResource) -> None:
        self.lost_kinds.append(kind.gvr.resource)

    def failed(self) -> None:
        self.failures += 1


class World:
    def __init__(self, *kinds: ApiResource) -> None:
        self.clock = FakeClock()
        self.served = self.known = Served(list(kinds), {})
        self.error: ClientError | None = None
        self.asked = 0
        self.borrowed: list[str] = []
        self.given_back: list[str] = []
        self.unlistable: set[str] = set()
        self.sources: dict[str, FakeControllerSource[dict[str, Any]]] = {}
        self.follower = Following(self)
        self.client: Any = SimpleNamespace(discovery=SimpleNamespace(served=self._discover))
        self.monitor = KindMonitor("test", self.client, self.follower, clock=self.clock)
        self._tasks: Any = None

    async def _discover(self, *, refresh: bool = False) -> Served:
        self.asked += refresh
        if self.error is not None:
            raise self.error
        if refresh:
            self.known = self.served
        return self.known

    def informer(self, plural: str) -> SharedIndexInformer[Any]:
        source = self.sources[plural] = FakeControllerSource(dict)
        informer = SharedIndexInformer(source, dict, name=plural, clock=self.clock)
        if plural not in self.unlistable:
            self._tasks.start_soon(informer.run)
        return informer

    @property
    def followed(self) -> list[str]:
        return [str(one) for one in self.monitor.resources]

    async def serve(self, *kinds: ApiResource, failed: Mapping[GroupVersion, str] | None = None) -> None:
        """The server serves these from now on, and the next discovery is over."""
        self.served = Served(list(kinds), failed or {})
        await turn(self.clock, DISCOVERY_PERIOD + 1)


@asynccontextmanager
async def following(*kinds: ApiResource, unlistable: tuple[str, ...] = ()) -> AsyncIterator[World]:
    world = World(*kinds)
    world.unlistable.update(unlistable)
    async with anyio.create_task_group() as tasks:
        world._tasks = tasks
        tasks.start_soon(world.monitor.run)
        await turn(world.clock, 1.0)
        yield world
        tasks.cancel_scope.cancel()


def test_each_resources_preferred_version_is_taken_if_it_suffices() -> None:
    served = Served(
        [
            kind("pods"),
            kind("jobs", group="batch"),
            kind("jobs", group="batch", version="v1beta1"),
            kind("bindings", verbs=("create",)),
            kind("half", verbs=("list", "watch")),
        ],
        {},
    )

    found = kinds_with(served, ALL)
    assert {str(one): gvr.gvr.version for one, gvr in found.items()} == {"pods": "v1", "jobs.batch": "v1"}


async def test_kinds_that_stay_keep_their_watches_and_others_come_and_go() -> None:
    async with following(kind("pods"), kind("deployments", group="apps")) as world:
        assert set(world.followed) == {"deployments.apps", "pods"}
        assert world.monitor.has_synced

        await world.serve(kind("pods"), kind("secrets"))
        assert "deployments.apps" in world.followed  # it may be away for a moment
        await world.serve(kind("pods"), kind("secrets"))
        assert world.followed == ["pods", "secrets"]
        assert world.borrowed.count("pods") == 1
        assert world.given_back == world.follower.lost_kinds == ["deployments"]


@pytest.mark.parametrize(("served", "late"), [((), ()), (("dbs",), ("dbs",))], ids=["gone", "discovered"])
async def test_only_a_kind_that_is_gone_is_not_waited_for(served: tuple[str, ...], late: tuple[str, ...]) -> None:
    async with following(kind("pods"), kind("dbs")) as world:
        world.served = Served([kind("pods"), *map(kind, served)], {})
        dbs = world.sources["dbs"]
        status = Status(status="Failure", code=404, reason="NotFound", message="the server could not find it")
        dbs.list_error = dbs.watch_error = error_from_status(status)
        dbs.end_watches(dbs.watch_error)
        await turn(world.clock, 3.0)  # it asks again within 1.6 s

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                if late:
                    tasks.start_soon(turn, world.clock, 15.0)
                assert await world.monitor.wait_current() == late


async def test_a_kind_that_moves_to_another_version_is_followed_there() -> None:
    async with following(kind("jobs", group="batch", version="v1beta1")) as world:
        await world.serve(kind("jobs", group="batch"))

        assert world.borrowed == ["jobs", "jobs"]
        assert world.given_back == ["jobs"]


async def test_an_unreachable_group_keeps_its_kinds_and_gets_no_new() -> None:
    apps = GroupVersion("apps", "v1")
    async with following(kind("pods"), kind("deployments", group="apps")) as world:
        for _ in range(3):
            await world.serve(kind("pods"), kind("statefulsets", group="apps"), failed={apps: "stale"})
        assert set(world.followed) == {"pods", "deployments.apps"}
        assert world.given_back == []

        await world.serve(kind("pods"), kind("deployments", group="apps"))
        assert world.borrowed.count("deployments") == 1


async def test_the_healthy_versions_of_a_group_are_followed() -> None:
    stable, beta = GroupVersion("example.com", "v1"), GroupVersion("example.com", "v1beta1")
    dbs, old_dbs = kind("dbs", group="example.com"), kind("dbs", group="example.com", version="v1beta1")
    async with following(kind("pods")) as world:
        await world.serve(kind("pods"), dbs, failed={beta: "stale"})
        assert world.followed == ["pods", "dbs.example.com"]

        # A failure keeps the watch that there is, wherever else the group has the kind.
        for served in ((dbs, old_dbs), (old_dbs,), (old_dbs,)):
            await world.serve(kind("pods"), *served, failed={stable: "stale"})
        assert world.followed == ["pods", "dbs.example.com"]
        assert world.given_back == []


async def test_a_watch_that_never_synced_moves_from_a_version_that_fails() -> None:
    stable = GroupVersion("example.com", "v1")
    dbs, old_dbs = kind("dbs", group="example.com"), kind("dbs", group="example.com", version="v1beta1")
    async with following(kind("pods"), dbs, unlistable=("dbs",)) as world:
        await turn(world.clock, DISCOVERY_PERIOD)
        world.unlistable.clear()
        await world.serve(kind("pods"), dbs, old_dbs, failed={stable: "stale"})

        assert world.given_back == ["dbs"]
        assert world.monitor.has_synced


async def test_a_discovery_that_fails_changes_nothing_and_is_told() -> None:
    async with following(kind("pods")) as world:
        world.error = ClientError("down")
        await turn(world.clock, 3 * DISCOVERY_PERIOD)
        assert world.followed == ["pods"]
        assert world.follower.failures == 3

        world.error = None
        await world.serve(kind("pods"), kind("secrets"))
        assert world.followed == ["pods", "secrets"]


async def test_an_unlistable_kind_blocks_no_other_and_is_awaited_a_period() -> None:
    async with following(kind("pods"), kind("secrets"), unlistable=("secrets",)) as world:
        ready = anyio.Event()

        async def wait() -> None:
            await world.monitor.wait_synced()
            ready.set()

        world._tasks.start_soon(wait)
        await turn(world.clock, DISCOVERY_PERIOD - 2)
        assert not ready.is_set()
        await turn(world.clock, 2.0)
        assert ready.is_set()
        assert world.follower.found_kinds == ["pods"]
        assert world.follower.failures == 1
        assert not world.monitor.has_synced

        # It is let go as any other.
        await turn(world.clock, DISCOVERY_PERIOD)
        for _ in range(4):
            await world.serve(kind("pods"))
        assert world.followed == ["pods"]


async def test_nothing_is_followed_any_more_when_the_monitor_ends() -> None:
    async with following(kind("pods"), kind("secrets")) as world:
        world._tasks.cancel_scope.cancel()
    assert sorted(world.given_back) == ["pods", "secrets"]


async def test_an_unknown_kind_is_looked_up_again_each_five_seconds() -> None:
    world = World(kind("pods"))
    mapper = KindMapper(world.client, clock=world.clock)
    assert (await mapper.find("v1", "Pods")).gvr.resource == "pods"
    for _ in range(10):
        with pytest.raises(NoKindMatch, match=r'kind "Widgets" in version "example\.com/v1"'):
            await mapper.find("example.com/v1", "Widgets")
    assert world.asked == 1

    world.served = Served([kind("pods"), kind("widgets", group="example.com")], {})
    world.clock.turn(5.0)
    assert (await mapper.find("example.com/v1", "Widgets")).gvr.resource == "widgets"
    assert world.asked == 2


async def test_a_reference_may_name_a_kind_in_lower_case() -> None:
    world = World(kind("pods"))
    mapper = KindMapper(world.client, clock=world.clock)

    assert (await mapper.find("v1", "pods")).kind == "Pods"
