"""A fleet: managers of many clusters in one process, with embedded servers for the clusters."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest
from anyio.abc import TaskGroup, TaskStatus
from structlog.testing import capture_logs

from kinformer.client import Client, ClientOptions, ConfigError, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.leaderelection import WriteRefused
from kinformer.manager import (
    Cluster,
    ClusterList,
    Controller,
    ControllerContext,
    Fleet,
    KubeconfigContexts,
    KubeconfigSecrets,
    LeaderElection,
    OptionError,
    Sharding,
    SyncError,
)
from kinformer.manager.health import HealthCheck
from kinformer.models import V1ConfigMap, V1Lease, V1Namespace, V1ObjectMeta, V1Secret
from kinformer.operator import Reconciler
from kinformer.operator.webhooks import Webhooks
from tests.turning import eventually, quiet


def config_map(name: str, **data: str) -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default"), data=data or None)


class Server:
    """A cluster whose server can die and come back, with what it had."""

    def __init__(self, name: str, folder: Path, clock: FakeClock, tasks: TaskGroup) -> None:
        self.name = name
        self._make = partial(ApiServer, clock=clock, controllers=False, token=name, data=folder / name)
        self._clock = clock
        self._tasks = tasks
        self._port = 0
        self._to_end, self._ended = anyio.Event(), anyio.Event()
        self.url = ""

    async def start(self) -> None:
        self._to_end, self._ended = anyio.Event(), anyio.Event()
        await self._tasks.start(self._serve)

    async def _serve(self, *, task_status: TaskStatus[None]) -> None:
        async with self._make(port=self._port) as server:
            self.url, self._port = server.url, server.port
            task_status.started()
            await self._to_end.wait()
        self._ended.set()

    async def die(self) -> None:
        self._to_end.set()
        await self._ended.wait()

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.name, partial(connect, url=self.url, token=self.name), self.url)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        async with connect(url=self.url, token=self.name, clock=self._clock) as client:
            yield client

    async def create(self, *names: str) -> None:
        async with self.client() as client:
            for name in names:
                await client.resource(V1ConfigMap).create(config_map(name))

    def kubeconfig(self, **user: Any) -> dict[str, Any]:
        return {
            "current-context": self.name,
            "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": self.name}}],
            "clusters": [{"name": self.name, "cluster": {"server": self.url}}],
            "users": [{"name": self.name, "user": user or {"token": self.name}}],
        }


class Noted:
    """Notes the ConfigMaps that it sees, with the clusters that they are in."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.fails: Callable[[str, str], bool] = lambda cluster, key: False
        self.contexts: dict[str, ControllerContext] = {}

    def make(self, context: ControllerContext) -> Controller:
        cluster = context.cluster
        self.contexts[cluster] = context

        async def sync(key: str) -> None:
            self.keys.append(f"{cluster}/{key}")
            if self.fails(cluster, key):
                raise SyncError("it does not work")

        return Controller("noted", sync, clock=context.clock).watch(context.informers.informer_for(V1ConfigMap))


class Hooked(Reconciler[V1ConfigMap]):
    """A controller with webhooks."""

    name = "hooked"
    webhooks = Webhooks("checks")

    async def reconcile(self, obj: V1ConfigMap) -> None: ...


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def noted() -> Noted:
    return Noted()


@pytest.fixture
async def servers(tmp_path: Path, clock: FakeClock) -> AsyncIterator[dict[str, Server]]:
    async with anyio.create_task_group() as tasks:
        servers = {name: Server(name, tmp_path, clock, tasks) for name in ("east", "north", "west")}
        for server in servers.values():
            await server.start()
        yield servers
        for server in servers.values():
            await server.die()


@asynccontextmanager
async def running(fleet: Fleet) -> AsyncIterator[Fleet]:
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fleet.run)
            yield fleet
            tasks.cancel_scope.cancel()


def states(fleet: Fleet) -> dict[str, str]:
    fleet.inspector._last = None
    return {it.name: it.state for it in fleet.inspector.snapshot().clusters}


def trouble_of(fleet: Fleet, cluster: str) -> str:
    fleet.inspector._last = None
    return next((it.trouble for it in fleet.inspector.snapshot().clusters if it.name == cluster), "")


async def test_a_cluster_that_dies_stops_no_other_and_returns(
    servers: dict[str, Server], clock: FakeClock, noted: Noted
) -> None:
    source = ClusterList(it.cluster for it in servers.values())
    fleet = Fleet(source, known={"noted": noted.make}, clock=clock, endpoint=("127.0.0.1", 0))
    async with running(fleet):
        await eventually(lambda: set(states(fleet).values()) == {"ready"}, clock)
        await servers["east"].die()
        for name in ("north", "west"):
            await servers[name].create("a")
        await eventually(lambda: sorted(noted.keys) == ["north/default/a", "west/default/a"], clock)
        await eventually(lambda: states(fleet)["east"] == "starting", clock)
        assert fleet.endpoint is not None
        async with aiohttp.ClientSession(f"http://127.0.0.1:{fleet.endpoint.port}") as session:
            for path in ("/livez", "/readyz"):
                assert (await session.get(path)).status == 200

            async def metrics() -> str:
                return await (await session.get("/metrics")).text()

            async def counted() -> bool:
                count = 'controller_runtime_reconcile_total{cluster="west",controller="noted",result="success"} 1.0'
                return count in await metrics()

            await eventually(counted, clock)
            told = await metrics()
        await servers["east"].start()
        await servers["east"].create("b")
        await eventually(lambda: "east/default/b" in noted.keys, clock)

    assert 'kinformer_cluster_ready{cluster="east"} 0.0' in told
    assert fleet.managers == {}


async def test_a_manager_that_a_restart_would_mend_is_named(
    servers: dict[str, Server], clock: FakeClock, noted: Noted
) -> None:
    source = ClusterList([servers["east"].cluster, servers["west"].cluster])
    fleet = Fleet(source, known={"noted": noted.make}, clock=clock, endpoint=("127.0.0.1", 0))
    async with running(fleet):
        await eventually(lambda: set(states(fleet).values()) == {"ready"}, clock)
        fleet.managers["east"].checks[0].append(HealthCheck("stuck", lambda: "nothing moves"))
        assert fleet.endpoint is not None
        async with aiohttp.ClientSession(f"http://127.0.0.1:{fleet.endpoint.port}") as session:
            answer = await session.get("/livez/clusters")
            assert answer.status == 500
            assert "east: nothing moves" in await answer.text()


async def test_a_cluster_that_is_broken_from_the_start_is_tried_again(
    servers: dict[str, Server], clock: FakeClock, noted: Noted
) -> None:
    tries: list[float] = []

    @asynccontextmanager
    async def broken(*, options: ClientOptions, clock: Any) -> AsyncIterator[Client]:
        tries.append(clock.monotonic())
        if len(tries) < 4:
            raise ConfigError("no such token")
        async with servers["east"].cluster.open(options=options, clock=clock) as client:
            yield client

    fleet = Fleet(
        ClusterList([Cluster("broken", broken), servers["west"].cluster]), known={"noted": noted.make}, clock=clock
    )
    with capture_logs() as logs:
        async with running(fleet):
            await eventually(lambda: states(fleet) == {"broken": "failed", "west": "ready"}, clock)
            await eventually(lambda: states(fleet) == {"broken": "ready", "west": "ready"}, clock)

    waits = [after - before for before, after in pairwise(tries)]
    assert 1 <= waits[0] < waits[1] < waits[2] <= 6
    failed = [(it["cluster"], it["error"]) for it in logs if it["event"] == "cluster_failed"]
    assert failed == [("broken", "no such token")] * 3
    started = [it.get("cluster") for it in logs if it["event"] == "controller_started"]
    assert started == ["west", "broken"]


async def test_secrets_add_change_and_remove_clusters(
    servers: dict[str, Server], clock: FakeClock, noted: Noted
) -> None:
    def secret(name: str, kubeconfig: Any) -> V1Secret:
        data = {"kubeconfig": base64.b64encode(json.dumps(kubeconfig).encode()).decode()}
        labels = {"fleet": "yes"}
        return V1Secret(metadata=V1ObjectMeta(name=name, namespace="default", labels=labels), data=data)

    async with servers["north"].client() as home:
        secrets = home.resource(V1Secret)
        source = KubeconfigSecrets(home, "default", label_selector="fleet=yes")
        fleet = Fleet(source, known={"noted": noted.make}, clock=clock)
        async with running(fleet):
            await secrets.create(secret("one", servers["west"].kubeconfig()))
            await secrets.create(secret("evil", servers["west"].kubeconfig(exec={"command": "touch"})))
            await eventually(lambda: states(fleet).get("one") == "ready", clock)
            await eventually(lambda: states(fleet).get("evil") == "failed", clock)
            troubles = {it.name: it.trouble for it in fleet.inspector.snapshot().clusters}
            await secrets.delete("evil", "default")
            first = fleet.managers["one"]
            await secrets.patch("one", {"metadata": {"labels": {"other": "label"}}}, "default")
            await eventually(lambda: list(states(fleet)) == ["one"], clock)
            assert fleet.managers["one"] is first
            await secrets.patch("one", {"data": secret("", servers["east"].kubeconfig()).data}, "default")
            await eventually(lambda: fleet.managers.get("one") not in (None, first), clock)
            await servers["west"].create("old")
            await servers["east"].create("new")
            await eventually(lambda: noted.keys == ["one/default/new"], clock)
            await secrets.delete("one", "default")
            await eventually(lambda: states(fleet) == {}, clock)

    assert "exec is not allowed here" in troubles["evil"]


async def test_a_secret_that_is_ignored_is_reported_once(servers: dict[str, Server], clock: FakeClock) -> None:
    shown: list[list[Cluster]] = []

    async def changed(name: str, labels: dict[str, str | None]) -> None:
        before = len(shown)
        await secrets.patch(name, {"metadata": {"labels": labels}}, "default")
        await eventually(lambda: len(shown) > before, clock)

    async with servers["north"].client() as home, anyio.create_task_group() as tasks:
        secrets = home.resource(V1Secret)
        for name in ("one", "two"):
            metadata = V1ObjectMeta(name=name, namespace="default", labels={"fleet": "yes", "cluster": "west"})
            await secrets.create(V1Secret(metadata=metadata))
        source = KubeconfigSecrets(home, "default", label_selector="fleet=yes", name_label="cluster", clock=clock)
        with capture_logs() as logs:
            tasks.start_soon(source.run, shown.append)
            await eventually(lambda: shown, clock)
            await changed("one", {"other": "a"})
            await changed("two", {"other": "a"})
            await changed("two", {"cluster": None})
            await changed("two", {"other": "b"})
        tasks.cancel_scope.cancel()

    assert [(it["secret"], it["why"]) for it in logs if it["event"] == "cluster_ignored"] == [
        ("Secret default/two", "another Secret has the cluster west"),
        ("Secret default/two", "it has no label cluster"),
    ]


async def test_contexts_of_a_kubeconfig_come_and_go(
    servers: dict[str, Server], clock: FakeClock, noted: Noted, tmp_path: Path
) -> None:
    def write(*names: str) -> None:
        parts = [servers[name].kubeconfig() for name in names]
        merged = {
            section: [it for part in parts for it in part[section]] for section in ("contexts", "clusters", "users")
        }
        file.write_text(json.dumps(merged))

    file = tmp_path / "kubeconfig"
    write("west", "east")
    fleet = Fleet(KubeconfigContexts(file, clock=clock), known={"noted": noted.make}, clock=clock)
    async with running(fleet):
        await eventually(lambda: states(fleet) == {"west": "ready", "east": "ready"}, clock)
        west = fleet.managers["west"]
        for broken in ("{", "contexts: west", "contexts: [{name: west}]\nusers: [{}]"):
            file.write_text(broken)
            await clock.advance(61)
            assert states(fleet) == {"west": "ready", "east": "ready"}
        write("west", "north")
        await eventually(lambda: states(fleet) == {"west": "ready", "north": "ready"}, clock)
        assert fleet.managers["west"] is west


async def test_the_guard_of_a_cluster_holds_for_whoever_reaches_it(
    servers: dict[str, Server], clock: FakeClock
) -> None:
    def fleet_of(replica: str, noted: Noted, *names: str) -> Fleet:
        return Fleet(
            ClusterList(servers[name].cluster for name in names),
            known={"noted": noted.make},
            clock=clock,
            leader_election=LeaderElection(identity=replica),
        )

    one, two = Noted(), Noted()
    first, second = fleet_of("one", one, "west"), fleet_of("two", two, "east", "west")
    async with running(first):
        await eventually(lambda: states(first) == {"west": "ready"}, clock)
        async with running(second):
            await eventually(lambda: states(second) == {"east": "ready", "west": "standing by"}, clock)
            reached = two.contexts["east"].clusters["west"].resource(V1ConfigMap)
            with pytest.raises(WriteRefused, match="does not hold the lease kube-system/kinformer-manager"):
                await reached.create(config_map("from-afar"))
            assert "north" not in two.contexts["east"].clusters
            began = clock.monotonic()
            await first.stop()
            await eventually(lambda: states(second) == {"east": "ready", "west": "ready"}, clock)
            assert clock.monotonic() - began < 10  # it was released: it would have lasted for 15 s
            await reached.create(config_map("from-afar"))
            await eventually(lambda: "west/default/from-afar" in two.keys, clock)
    assert one.keys == []
    async with servers["west"].client() as client:
        lease = await client.resource(V1Lease).get("kinformer-manager", "kube-system")
        assert lease.spec is not None
        assert lease.spec.lease_transitions == 1


async def test_a_lease_that_is_lost_costs_its_cluster_only(
    servers: dict[str, Server], clock: FakeClock, noted: Noted
) -> None:
    fleet = Fleet(
        ClusterList([servers["east"].cluster, servers["west"].cluster]),
        known={"noted": noted.make},
        clock=clock,
        leader_election=LeaderElection(),
    )
    async with running(fleet):
        await eventually(lambda: states(fleet) == {"east": "ready", "west": "ready"}, clock)
        west = fleet.managers["west"]
        await servers["east"].die()
        await eventually(lambda: "lost the lease" in trouble_of(fleet, "east"), clock)
        await servers["east"].start()
        await eventually(lambda: states(fleet) == {"east": "ready", "west": "ready"}, clock)
        assert fleet.managers["west"] is west


async def test_replicas_share_out_the_keys_of_each_cluster(servers: dict[str, Server], clock: FakeClock) -> None:
    one, two = Noted(), Noted()
    fleets = [
        Fleet(
            ClusterList([servers["east"].cluster, servers["west"].cluster]),
            known={"noted": noted.make},
            clock=clock,
            sharding=Sharding(identity=str(number)),
        )
        for number, noted in enumerate((one, two))
    ]
    async with running(fleets[0]), running(fleets[1]):
        await eventually(lambda: all(set(states(it).values()) == {"ready"} for it in fleets), clock)
        await clock.advance(60)
        namespaces = [f"n{number}" for number in range(12)]
        for server in (servers["east"], servers["west"]):
            async with server.client() as client:
                for namespace in namespaces:
                    await client.resource(V1Namespace).create(V1Namespace(metadata=V1ObjectMeta(name=namespace)))
                    await client.resource(V1ConfigMap).create(
                        V1ConfigMap(metadata=V1ObjectMeta(name="c", namespace=namespace))
                    )
        await eventually(lambda: len(one.keys) + len(two.keys) >= 24, clock)

    assert sorted(one.keys + two.keys) == sorted(f"{it}/{n}/c" for it in ("east", "west") for n in namespaces)
    assert 0 < len(one.keys) < 24


async def test_a_controller_that_ends_costs_its_cluster_only(
    servers: dict[str, Server], clock: FakeClock, noted: Noted
) -> None:
    made: list[str] = []

    class Ends:
        async def run(self) -> None:
            if made.count("east") > 1 or made[-1] != "east":
                await anyio.sleep_forever()

    def make(context: ControllerContext) -> Ends:
        made.append(context.cluster)
        return Ends()

    source = ClusterList([servers["west"].cluster])
    fleet = Fleet(source, known={"ends": make, "noted": noted.make}, clock=clock)
    async with running(fleet):
        await eventually(lambda: states(fleet) == {"west": "ready"}, clock)
        source.replace([servers["west"].cluster, servers["east"].cluster])
        await eventually(lambda: made == ["west", "east", "east"], clock)
        await eventually(lambda: states(fleet) == {"west": "ready", "east": "ready"}, clock)


async def test_keys_and_names_that_are_looked_at_begin_with_their_cluster(
    servers: dict[str, Server], clock: FakeClock, noted: Noted
) -> None:
    noted.fails = lambda cluster, key: cluster == "west"
    source = ClusterList([servers["west"].cluster, servers["east"].cluster])
    fleet = Fleet(source, known={"noted": noted.make}, clock=clock, endpoint=("127.0.0.1", 0))
    with capture_logs() as logs:
        async with running(fleet):
            await eventually(lambda: states(fleet) == {"west": "ready", "east": "ready"}, clock)
            await servers["west"].create("a")
            await servers["east"].create("a")
            await eventually(lambda: len(set(noted.keys)) == 2, clock)
            await clock.advance(1)
            assert fleet.endpoint is not None
            async with aiohttp.ClientSession(f"http://127.0.0.1:{fleet.endpoint.port}") as session:
                snapshot = await (await session.get("/debug/snapshot")).json()
                one = await (await session.get("/debug/why?key=west/default/a")).json()
                both = await (await session.get("/debug/why?key=default/a")).json()
                found = await (await session.get("/debug/search?q=default")).json()

    (west,) = (it for it in snapshot["controllers"] if it["name"] == "west/noted")
    assert [it["key"] for it in west["failed"]] == ["west/default/a"]
    assert sorted(it["name"] for it in snapshot["informers"]) == ["east/configmaps", "west/configmaps"]
    assert [it["controller"] for it in one["controllers"]] == ["west/noted"]
    assert [it["controller"] for it in both["controllers"]] == ["west/noted", "east/noted"]
    assert found == ["west/default/a", "east/default/a"]
    assert {it["cluster"] for it in logs if it["event"] == "sync_failed"} == {"west"}


async def test_one_broken_cluster_does_not_hold_up_readiness_for_ever(
    servers: dict[str, Server], clock: FakeClock, noted: Noted
) -> None:
    await servers["east"].die()
    source = ClusterList([servers["east"].cluster, servers["west"].cluster])
    fleet = Fleet(source, known={"noted": noted.make}, clock=clock, endpoint=("127.0.0.1", 0), cache_sync_timeout=50)
    async with running(fleet):
        await eventually(lambda: states(fleet) == {"east": "starting", "west": "ready"}, clock)
        assert fleet.endpoint is not None
        async with aiohttp.ClientSession(f"http://127.0.0.1:{fleet.endpoint.port}") as session:

            async def unready() -> str:
                answer = await session.get("/readyz/clusters")
                return "" if answer.status == 200 else await answer.text()

            at_first = await unready()
            await clock.advance(50)
            later = await unready()
            source.replace([servers["east"].cluster])
            await eventually(lambda: states(fleet) == {"east": "starting"}, clock)
            none_is_ready = await unready()
            metrics = await (await session.get("/metrics")).text()

    assert "east: configmaps has not synced" in at_first
    assert "west" not in at_first
    assert later == ""
    assert "east: configmaps has not synced" in none_is_ready
    assert 'cluster="east"' in metrics
    assert 'cluster="west",controller' not in metrics


async def test_a_running_sync_may_end_when_its_cluster_goes(servers: dict[str, Server], clock: FakeClock) -> None:
    began, may_end, ended = anyio.Event(), anyio.Event(), anyio.Event()

    def make(context: ControllerContext) -> Controller:
        async def sync(key: str) -> None:
            began.set()
            await may_end.wait()
            ended.set()

        return Controller("slow", sync, clock=context.clock).watch(context.informers.informer_for(V1ConfigMap))

    source = ClusterList([servers["west"].cluster])
    fleet = Fleet(source, known={"slow": make}, clock=clock)
    await servers["west"].create("a")
    async with running(fleet):
        await began.wait()
        source.replace([])
        await eventually(lambda: states(fleet) == {"west": "stopping"}, clock)
        may_end.set()
        await eventually(lambda: states(fleet) == {}, clock)
    assert ended.is_set()


async def test_each_cluster_has_limits_of_its_own(servers: dict[str, Server], clock: FakeClock, noted: Noted) -> None:
    source = ClusterList([servers["west"].cluster, servers["east"].cluster])
    fleet = Fleet(source, known={"noted": noted.make}, clock=clock, client_options=ClientOptions(qps=0.01, burst=3))
    async with running(fleet):
        await eventually(lambda: states(fleet) == {"west": "ready", "east": "ready"}, clock)
        maps = {name: client.resource(V1ConfigMap) for name, client in fleet.clients.items()}
        async with anyio.create_task_group() as tasks:
            for _ in range(5):  # more than it may send
                tasks.start_soon(maps["west"].list, "default")
            await quiet()
            began = clock.monotonic()
            await maps["east"].list("default")
            assert clock.monotonic() == began
            tasks.cancel_scope.cancel()


async def test_what_would_be_wrong_in_every_cluster_ends_the_fleet(
    servers: dict[str, Server], clock: FakeClock, noted: Noted
) -> None:
    source = ClusterList([servers["west"].cluster])
    with pytest.raises(OptionError, match="no controller knows the option 'foo'"):
        await Fleet(source, known={"noted": noted.make}, clock=clock, options={"foo": 1}).run()
    with pytest.raises(ConfigError, match="there is no such file"):
        await Fleet(KubeconfigContexts("/nowhere"), known={"noted": noted.make}, clock=clock).run()
    async with servers["west"].client() as client:
        with pytest.raises(OptionError, match="give no client"):
            Fleet(source, leader_election=LeaderElection(client=client))
    with pytest.raises(OptionError, match="controller hooked declares the webhooks 'checks', and a fleet serves none"):
        await Fleet(source, known={"hooked": lambda it: Hooked(it).controller()}, clock=clock).run()
    async with running(Fleet(source, known={"hooked": Hooked}, clock=clock, webhooks_elsewhere=True)) as fleet:
        await eventually(lambda: states(fleet) == {"west": "ready"}, clock)
    with pytest.raises(ValueError, match="two clusters have the name west"):
        ClusterList([servers["west"].cluster, servers["west"].cluster])


async def test_a_pipe_is_no_kubeconfig_of_a_fleet(tmp_path: Path, noted: Noted, clock: FakeClock) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(ConfigError, match="there is no such file"):
        await Fleet(KubeconfigContexts(tmp_path / "pipe"), known={"noted": noted.make}, clock=clock).run()


async def test_a_fleet_of_contexts_none_of_which_is_there_is_refused(
    servers: dict[str, Server], tmp_path: Path, noted: Noted, clock: FakeClock
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(servers["west"].kubeconfig()))

    with pytest.raises(ConfigError, match=r"it has no context 'wets' \(it has: west\)"):
        await Fleet(KubeconfigContexts(file, ["wets"]), known={"noted": noted.make}, clock=clock).run()
