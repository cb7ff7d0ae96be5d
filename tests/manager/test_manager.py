from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import aiohttp
import anyio
import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from kinformer.cancellation import CancelledElsewhere
from kinformer.client import Client, ServerUnreachable, Status, connect
from kinformer.client.errors import error_from_status
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import (
    Controller,
    ControllerContext,
    ControllerDisabled,
    ControllerLoadError,
    LeaderElection,
    Manager,
    OptionError,
    UnknownControllerError,
    known_controllers,
    loading,
)
from kinformer.manager.beside import AloneCheck, KubeControllerManagerRuns
from kinformer.manager.loading import builtin_controllers
from kinformer.models import CoreV1Event, V1ConfigMap, V1Lease, V1LeaseSpec, V1ObjectMeta
from kinformer.record import NORMAL
from kinformer.spec import ControllerSpec


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        yield client


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(manager.run)
        yield
        tasks.cancel_scope.cancel()


def config_map(name: str) -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default"))


class Noted:
    """A controller that notes the ConfigMaps that it sees and says so in an event, made as an entry point makes it."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.changed = anyio.Event()

    def make(self, context: ControllerContext) -> Controller:
        configmaps = context.informers.informer_for(V1ConfigMap)
        recorder = context.recorder("noted")

        async def sync(key: str) -> None:
            self.keys.append(key)
            recorder.event(configmaps.indexer.get_by_key(key), NORMAL, "Seen", "It is here")
            self.changed.set()

        return Controller("noted", sync, clock=context.clock).watch(configmaps)


async def test_a_manager_that_has_run_says_that_it_cannot_run_again(client: Client) -> None:
    manager = Manager(client, known={"noted": Noted().make})
    async with running(manager):
        await anyio.wait_all_tasks_blocked()

    with pytest.raises(RuntimeError, match="this manager has run already: make a new one"):
        await manager.run()


async def test_a_manager_runs_its_controllers_on_shared_informers_and_writes_their_events(client: Client) -> None:
    one, two = Noted(), Noted()
    manager = Manager(client, known={"one": one.make, "two": two.make})
    labels = {"name": "two", "manager": "kinformer-manager"}
    with anyio.fail_after(60):
        async with running(manager):
            await client.resource(V1ConfigMap).create(config_map("c"))
            await one.changed.wait()
            await two.changed.wait()
            assert REGISTRY.get_sample_value("running_managed_controllers", labels) == 1
            events = client.resource(CoreV1Event)
            while len((await events.list("default")).items) < 2:
                await anyio.lowlevel.checkpoint()

    assert REGISTRY.get_sample_value("running_managed_controllers", labels) == 0
    assert one.keys == two.keys == ["default/c"]
    assert len(manager.context.informers.informers) == 1


async def test_a_cancelled_manager_leaves_nothing_running(client: Client) -> None:
    with anyio.fail_after(60):
        async with running(Manager(client, known={"one": Noted().make}, endpoint=("127.0.0.1", 0))):
            await anyio.wait_all_tasks_blocked()


class Holds:
    """An author's own class around a controller."""

    def __init__(self, context: ControllerContext) -> None:
        self.controller = Noted().make(context)


class HoldsAndRuns(Holds):
    async def run(self) -> None:
        await anyio.sleep_forever()


async def test_a_class_may_be_the_factory_of_the_controller_that_it_holds(client: Client) -> None:
    made = Manager(client, known={"holds": Holds, "runs": HoldsAndRuns}).controllers

    assert isinstance(made["holds"], Controller)
    assert isinstance(made["runs"], HoldsAndRuns)


async def test_only_what_was_asked_for_is_made(client: Client) -> None:
    known = {"one": Noted().make, "two": Noted().make}

    assert list(Manager(client, known=known, controllers=["*", "-one"]).controllers) == ["two"]
    with pytest.raises(UnknownControllerError, match="'three'"):
        Manager(client, known=known, controllers=["three"])


async def test_the_projects_controllers_are_found_by_name(client: Client) -> None:
    assert "replicationcontroller" in known_controllers()

    manager = Manager(client, controllers=["replicationcontroller"], options={"concurrent_rc_syncs": 2})

    controller: Any = manager.controllers["replicationcontroller"]
    assert controller.workers == 2


async def test_an_option_of_the_wrong_type_is_named(client: Client) -> None:
    with pytest.raises(OptionError, match="option concurrent_rc_syncs is 'many': want int"):
        Manager(client, controllers=["replicationcontroller"], options={"concurrent_rc_syncs": "many"})


async def test_an_unknown_option_is_named_with_those_that_are_known(client: Client) -> None:
    def make_counter(context: ControllerContext) -> Controller:
        context.option("counters", 3)
        return Noted().make(context)

    known = {"counter": make_counter, "noted": Noted().make}

    Manager(client, known=known, options={"counters": 5}, flags={"concurrent_rc_syncs": 2})
    with pytest.raises(OptionError, match="no controller knows the option 'foo': want one of counters"):
        Manager(client, known=known, options={"counters": 5, "foo": 1})
    with pytest.raises(OptionError, match="no controller knows the option 'counters': those that run here have none"):
        Manager(client, known=known, controllers=["noted"], options={"counters": 5})


class Installed:
    """An entry point, of another package unless it is said to be kinformer's own."""

    def __init__(self, name: str, load: Any, *, builtin: bool = False) -> None:
        self.name, self.value, self.load = name, "somewhere:make", load
        self.dist = metadata.distribution("kinformer" if builtin else "pytest")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def install(*entries: Installed) -> None:
        monkeypatch.setattr(loading, "known_controllers", lambda: {entry.name: entry for entry in entries})

    return install


def missing() -> Any:
    raise ModuleNotFoundError("No module named 'nowhere'")


def exiting() -> Any:
    raise SystemExit(2)


def unmakeable() -> Any:
    def make(context: ControllerContext) -> Controller:
        raise KeyError("no such thing")

    return make


def greedy() -> Any:
    def make(context: ControllerContext, store: str) -> Controller:
        raise AssertionError(store)

    return make


async def test_a_controller_that_cannot_be_loaded_is_named_and_the_others_run(
    client: Client, installed: Callable[..., None]
) -> None:
    installed(
        Installed("broken", missing),
        Installed("exiting", exiting),
        Installed("noted", lambda: Noted().make),
        Installed("unmakeable", unmakeable),
        Installed("greedy", greedy),
    )
    with capture_logs() as logs:
        manager = Manager(client, options={"of_the_broken_one": 1})

    assert list(manager.controllers) == ["noted"]
    assert {name: str(error) for name, error in manager.failed.items()} == {
        "broken": "controller broken cannot be loaded from somewhere:make: "
        "ModuleNotFoundError: No module named 'nowhere'",
        "exiting": "controller exiting cannot be loaded from somewhere:make: SystemExit: 2",
        "unmakeable": "controller unmakeable of somewhere:make cannot be made: KeyError: 'no such thing'",
        "greedy": "controller greedy of somewhere:make cannot be made: TypeError: greedy.<locals>.make() missing 1 "
        "required positional argument: 'store'. It is called with the context alone: want defaults for the others",
    }
    assert [line["controller"] for line in logs if line["log_level"] == "error"] == list(manager.failed)


async def test_where_nothing_can_be_loaded_that_is_an_error(client: Client, installed: Callable[..., None]) -> None:
    installed(Installed("broken", missing))

    with pytest.raises(ControllerLoadError, match="controller broken cannot be loaded from somewhere:make: Module"):
        Manager(client)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("./shop/app.py:Shops", r"\./shop/app\.py:Shops is a path: want MODULE:NAME, as in shop\.app:Shops"),
        ("app.py:Shops", r"app\.py:Shops is a path: want MODULE:NAME, as in app:Shops"),
        ("json:", "controller json cannot be loaded from json:: .* want MODULE:NAME"),
    ],
)
async def test_a_place_that_names_nothing_to_run_says_what_to_write(client: Client, place: str, said: str) -> None:
    with pytest.raises(ControllerLoadError, match=said):
        Manager(client, controllers=[place])


async def test_several_functions_of_one_module_are_controllers_each(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shop", SimpleNamespace(tea=Noted().make, bread=Noted().make))

    assert list(Manager(client, controllers=["shop:tea"]).controllers) == ["shop"]
    assert list(Manager(client, controllers=["shop:tea", "shop:bread"]).controllers) == ["shop:tea", "shop:bread"]


async def test_a_controller_that_says_it_has_nothing_to_do_is_left_out(
    client: Client, installed: Callable[..., None]
) -> None:
    def idle(context: ControllerContext) -> Controller:
        raise ControllerDisabled("no key file is given")

    installed(Installed("idle", lambda: idle), Installed("mine", lambda: Noted().make))

    with capture_logs() as logs:
        found = Manager(client)

    assert list(found.controllers) == ["mine"]
    assert not found.failed
    assert {"event": "controller_disabled", "controller": "idle", "why": "no key file is given"}.items() <= logs[
        0
    ].items()
    assert not Manager(client, controllers=["*"], known={"idle": idle}).controllers


async def test_a_factory_declares_for_an_object_that_holds_its_controller(client: Client) -> None:
    class Holder:
        def __init__(self, context: ControllerContext) -> None:
            self.controller = Noted().make(context)

        async def run(self) -> None:
            await self.controller.run()

    def make(context: ControllerContext) -> Holder:
        return Holder(context)

    assert Manager(client, known={"holder": make}).factories == {"holder": make}


async def test_builtin_controllers_run_when_named_and_the_star_means_others(
    client: Client, installed: Callable[..., None]
) -> None:
    def made(*selection: str) -> list[str]:
        return list(Manager(client, controllers=selection).controllers)

    installed(
        Installed("job", lambda: Noted().make, builtin=True),
        Installed("mine", lambda: Noted().make),
        Installed("quota", lambda: Noted().make, builtin=True),
    )
    assert list(Manager(client).controllers) == made("*") == ["mine"]
    assert made("job") == ["job"]
    assert made("builtin") == ["job", "quota"]
    assert made("*", "builtin", "-job") == ["mine", "quota"]


class WithReconciler:
    """A controller whose author calls a part of it its reconciler."""

    def __init__(self, context: ControllerContext) -> None:
        self.reconciler = object()

    async def run(self) -> None: ...


async def test_a_controller_may_call_a_part_of_it_its_reconciler(client: Client) -> None:
    spec = ControllerSpec(name="own", factory=f"{__name__}:{WithReconciler.__name__}")

    assert list(Manager(client, known={"own": spec}).controllers) == ["own"]


def test_the_projects_own_controllers_are_builtin() -> None:
    installed = known_controllers()

    assert builtin_controllers(installed) == tuple(installed)


async def _hold_lease(client: Client, clock: FakeClock, holder: str | None = "cp-1_a1b2") -> None:
    spec = V1LeaseSpec(holder_identity=holder, renew_time=clock.now(), lease_duration_seconds=15)
    meta = V1ObjectMeta(name="kube-controller-manager", namespace="kube-system")
    await client.resource(V1Lease).create(V1Lease(metadata=meta, spec=spec))


async def test_a_builtin_controller_refuses_to_run_beside_the_clusters_own(client: Client) -> None:
    clock = FakeClock()
    await _hold_lease(client, clock)
    manager = Manager(client, controllers=["endpoint", "job"], clock=clock)
    with pytest.raises(KubeControllerManagerRuns) as raised:
        await manager.run()

    assert str(raised.value) == (
        "this cluster's own kube-controller-manager runs (cp-1_a1b2 holds the Lease kube-system/"
        "kube-controller-manager), and the built-in controllers endpoint, job would work against it: "
        "switch these controllers off there, then start this manager with --beside-kube-controller-manager"
    )


@pytest.mark.parametrize("why", ["said so", "of one's own", "nobody holds it", "let go", "long ago"])
async def test_it_runs_where_the_clusters_own_do_not_or_that_is_wanted(client: Client, why: str) -> None:
    clock = FakeClock()
    if why != "nobody holds it":
        await _hold_lease(client, clock, "" if why == "let go" else "cp-1_a1b2")
    if why == "long ago":
        clock.turn(61)
    known = {"noted": Noted().make} if why == "of one's own" else None
    controllers = ["*"] if known else ["endpoint"]
    manager = Manager(
        client, controllers=controllers, known=known, clock=clock, beside_kube_controller_manager=why == "said so"
    )

    await manager.check_alone()


async def test_an_unreadable_lease_is_warned_of_and_a_busy_server_retried() -> None:
    clock = FakeClock()
    answers: list[Exception] = [
        ServerUnreachable("http://x", "refused"),
        error_from_status(Status(status="Failure", code=403, reason="Forbidden", message="no")),
    ]

    class Leases:
        async def get(self, name: str, namespace: str) -> Any:
            raise answers.pop(0)

    client: Any = SimpleNamespace(resource=lambda model: Leases())
    with capture_logs() as logs:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(AloneCheck(client, ["endpoint"], clock).check)
            await clock.advance(10)

    assert [line["event"] for line in logs] == ["lease_not_read", "lease_not_readable"]


async def test_an_unreadable_lease_is_warned_of_once(kinformer_api_server: ApiServer, kinformer_client: Client) -> None:
    kinformer_api_server.faults.refuse(
        403, times=3, matching=lambda call: call.resource == "leases.coordination.k8s.io"
    )
    manager = Manager(kinformer_client, controllers=["endpoint"], leader_election=LeaderElection())
    with capture_logs() as logs:
        for _ in range(3):  # before the start, at the start, and before it leads
            await manager.check_alone()

    told = [line["log_level"] for line in logs if line["event"] == "lease_not_readable"]
    assert told == ["warning", "debug", "debug"]


async def test_probes_and_scrapes_are_answered(client: Client) -> None:
    noted = Noted()
    manager = Manager(client, known={"noted": noted.make}, endpoint=("127.0.0.1", 0))
    endpoint = manager.endpoint
    assert endpoint is not None
    with anyio.fail_after(60):
        async with running(manager):
            await endpoint.listening.wait()
            async with aiohttp.ClientSession(f"http://127.0.0.1:{endpoint.port}") as session:

                async def get(path: str) -> tuple[int, str]:
                    async with session.get(path) as response:
                        return response.status, await response.text()

                assert await get("/healthz") == (200, "ok")
                assert await get("/livez") == (200, "ok")
                while (await get("/readyz"))[0] == 500:
                    await anyio.lowlevel.checkpoint()
                assert await get("/readyz") == (200, "ok")
                assert await get("/readyz?verbose") == (
                    200,
                    (
                        "[+]ping ok\n[+]event-loop ok\n[+]queues ok\n[+]informer-sync ok\n[+]informer-fresh ok\n"
                        "[+]noted ok\nreadyz check passed\n"
                    ),
                )
                assert await get("/livez?verbose") == (
                    200,
                    "[+]ping ok\n[+]event-loop ok\n[+]queues ok\n[+]noted ok\nlivez check passed\n",
                )
                assert (
                    'controller_runtime_max_concurrent_reconciles{controller="noted"} 1.0' in (await get("/metrics"))[1]
                )


async def test_it_is_no_longer_ready_when_its_caches_stop_following(client: Client) -> None:
    noted = Noted()
    manager = Manager(client, known={"noted": noted.make}, endpoint=("127.0.0.1", 0))
    assert manager.endpoint is not None
    async with running(manager):
        with anyio.fail_after(60):
            await manager.endpoint.listening.wait()
            url = f"http://127.0.0.1:{manager.endpoint.port}/readyz"
            async with aiohttp.ClientSession() as session:

                async def ready(check: str = "") -> str:
                    async with session.get(url + check) as response:
                        return await response.text()

                while await ready() != "ok":
                    await anyio.lowlevel.checkpoint()
                await manager.context.informers.shutdown()
                assert "[-]informer-sync failed: reason withheld\n" in await ready()
                assert await ready("/informer-sync") == "internal server error: configmaps has stopped\n"


async def test_a_controller_that_ends_is_reported_and_the_process_not_alive(client: Client) -> None:
    class Ending:
        async def run(self) -> None:
            return

    manager = Manager(client, known={"ending": lambda _: Ending(), "noted": Noted().make}, endpoint=("127.0.0.1", 0))
    assert manager.endpoint is not None
    with capture_logs() as logs, anyio.fail_after(60):
        async with running(manager):
            await manager.endpoint.listening.wait()
            url = f"http://127.0.0.1:{manager.endpoint.port}/livez"
            async with aiohttp.ClientSession() as session:
                async with session.get(url) as response:
                    assert response.status == 500
                    assert "[-]ending failed: reason withheld\n[+]noted ok\n" in await response.text()
                async with session.get(f"{url}/ending") as response:
                    assert await response.text() == "internal server error: controller ending has ended\n"

    (line,) = [line for line in logs if line["log_level"] == "error"]
    assert (line["event"], line["controller"]) == ("controller_ended", "ending")


async def test_a_controller_cancelled_from_within_ends_the_manager_with_an_error(client: Client) -> None:
    class Cancelled:
        async def run(self) -> None:
            future = asyncio.get_running_loop().create_future()
            future.cancel()
            await future

    with pytest.raises(CancelledElsewhere, match="controller gone awaited something"):
        await Manager(client, known={"gone": lambda _: Cancelled()}).run()


async def test_what_is_not_ready_says_so_and_which(client: Client) -> None:
    class Waiting:
        has_synced = False

        async def run(self) -> None:
            await anyio.sleep_forever()

    manager = Manager(client, known={"waiting": lambda _: Waiting()}, endpoint=("127.0.0.1", 0))
    endpoint = manager.endpoint
    assert endpoint is not None
    with anyio.fail_after(60):
        async with running(manager):
            await endpoint.listening.wait()
            url = f"http://127.0.0.1:{endpoint.port}/readyz"
            async with aiohttp.ClientSession() as session:
                async with session.get(url) as response:
                    assert response.status == 500
                    assert "[-]waiting failed: reason withheld\nreadyz check failed\n" in await response.text()
                async with session.get(f"{url}/waiting") as response:
                    assert await response.text() == "internal server error: controller waiting waits for its caches\n"
