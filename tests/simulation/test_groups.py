"""Groups of processes in a world: replicas of a manager, and what is done to them; programs, and their services."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from aiohttp import web

from kinformer.client import ApiError, ClientError
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap, V1Node, V1Pod
from kinformer.sharding import RangeState
from kinformer.simulation import Plan, RunResult, World, WorldOptions, run_world
from kinformer.simulation.loop import OWNER
from kinformer.simulation.process import Program
from tests.simulation.ledger import Ledger, make_ledger
from tests.simulation.scenarios import replication_controller

NAMESPACES = tuple(f"team-{number}/work" for number in range(8))


def told(result: RunResult, what: str, actor: str = "") -> list[Any]:
    return [record for record in result.history if record.what == what and actor in ("", record.actor)]


def played(scenario: Any, line: str = "seed=1", **options: Any) -> RunResult:
    result = run_world(scenario, Plan.parse(line), options=WorldOptions(loops=(), **options))
    assert result.error is None, result.error
    assert not result.violations, result.violations
    assert not result.orphans
    return result


# --- managers


def test_replicas_share_the_keys_out_by_leases_in_the_simulated_server() -> None:
    shards: list[int] = []

    async def scenario(world: World) -> None:
        ledger = Ledger(world, NAMESPACES)
        await ledger.open(0)
        processes = world.managers(3, make_ledger, "manager", sharding=True)
        await world.sleep(90)
        await ledger.ask_for(2)
        await world.settled()
        members = [process.manager.shards.member for process in processes]  # type: ignore[union-attr]
        shards.extend(sorted(shard for member in members for shard in member.gate.in_state(RangeState.OPEN)))

    result = played(scenario)

    assert shards == list(range(64))
    assert len({record.actor for record in told(result, "write") if record.object.startswith("configmaps/team")}) == 4
    assert "leases.coordination.k8s.io/kube-system/kinformer-manager-shards" in result.final_state
    assert {record.object for record in told(result, "start")} == {
        "leases.coordination.k8s.io/kube-system/kinformer-manager-shards"
    }


def test_replicas_have_names_and_clocks_of_their_own() -> None:
    async def scenario(world: World) -> None:
        one, two = world.managers(2, make_ledger, leader_election=True)
        assert [one.name, two.name] == ["manager-1", "manager-2"]
        before = two.clock.monotonic()
        one.clock.rate, one.clock.skew = 2.0, 3600.0
        two.clock.leap(5)
        await world.sleep(10)
        assert one.clock.monotonic() == pytest.approx(20)
        assert two.clock.monotonic() == pytest.approx(before + 15)
        assert (one.clock.now() - two.clock.now()).total_seconds() == pytest.approx(3600)

    played(scenario)


def make_reader(context: ControllerContext) -> Controller:
    """Notes in each ConfigMap, as soon as something is asked for, who has read it."""
    maps = context.informers.informer_for(V1ConfigMap)
    resource = context.client.resource(V1ConfigMap)

    async def sync(key: str) -> None:
        found, reader = maps.indexer.get_by_key(key), OWNER.get()
        data = (found.data if found is not None else None) or {}
        if reader is not None and data.get("todo") not in (None, data.get(reader.name)):
            note = {"data": {reader.name: data["todo"]}}
            await resource.patch(found.metadata.name, note, found.metadata.namespace)

    return Controller("reader", sync, clock=context.clock).watch(maps)


@pytest.mark.parametrize(("line", "both"), [("seed=1", False), ("seed=1 split(manager-1,write=1,seconds=100)", True)])
def test_a_split_member_writes_beside_its_shards_true_owner(line: str, both: bool) -> None:
    async def scenario(world: World) -> None:
        ledger = Ledger(world, NAMESPACES)
        world.managers(2, make_reader, sharding=True)
        await world.sleep(30)
        await ledger.open(1)
        await world.sleep(50)
        await ledger.ask_for(2)
        await world.settled()

    result = played(scenario, line)

    found = [result.final_state[f"configmaps/{name}"]["data"] for name in NAMESPACES]
    readers = [{name for name, seen in data.items() if name.startswith("manager") and seen == "2"} for data in found]
    assert all(readers)
    assert any(len(names) == 2 for names in readers) == both


def test_a_time_of_day_that_jumps_is_nothing_to_who_leads() -> None:
    async def scenario(world: World) -> None:
        await Ledger(world).open(20)
        world.managers(2, make_ledger, leader_election=True)
        await world.settled()

    result = played(scenario, "seed=2 jump(manager-1,write=3,seconds=3600) jump(manager-1,write=9,seconds=-7200)")

    assert len(told(result, "fault")) == 2
    assert not told(result, "ended")
    assert {r.actor for r in told(result, "write") if "configmaps" in r.object} == {"manager-1", "user"}


def test_a_terminated_process_ends_in_order_and_is_started_again() -> None:
    async def scenario(world: World) -> None:
        world.manager(make_ledger, "stays", leader_election=True)
        await world.sleep(5)
        world.manager(make_ledger, "goes")
        await world.sleep(5)
        world.processes["stays"].terminate()
        world.processes["goes"].terminate(for_good=True)
        # It gives its Lease up: nobody has to wait until that has run out.
        await world.sleep(5)
        assert world.processes["stays"].leads
        await world.settled()

    result = played(scenario)

    assert len(told(result, "start", "stays")) == 2
    assert len(told(result, "start", "goes")) == 1
    assert [record.detail for record in told(result, "ended")] == ["", ""]


def test_a_partitioned_process_is_not_heard_until_the_partition_ends() -> None:
    async def scenario(world: World) -> None:
        world.manager(make_ledger)
        await Ledger(world).open(30)
        await world.settled()

    result = played(scenario, "seed=1 partition(manager,write=3,seconds=50)")

    (fault,) = told(result, "fault")
    writes = [record.time for record in told(result, "write", "manager")]
    assert not [time for time in writes if fault.time < time < fault.time + 50]
    assert result.final_state["configmaps/default/one"]["data"]["done"] == "30"


@pytest.mark.parametrize("what", ["calls", "answers"])
def test_requests_for_leases_can_hang_while_all_others_go_well(what: Any) -> None:
    async def scenario(world: World) -> None:
        ledger = Ledger(world)
        await ledger.open(60)
        process = world.manager(make_ledger, leader_election=True)
        await world.sleep(5)
        process.lose_lease(30, what)
        began = world.loop.now
        await world.sleep(8)
        assert [time for time, _ in ledger.writes if time > began + 5]
        await world.settled()

    result = played(scenario)

    lost = next(record.time for record in told(result, "ended") if "LeadershipLost" in record.detail)
    renewals = [r.time for r in told(result, "write", "manager") if "leases" in r.object]
    hung = [time for time in renewals if 5 < time < lost]
    assert bool(hung) == (what == "answers")


def test_fake_nodes_are_an_actor_of_their_own() -> None:
    async def scenario(world: World) -> None:
        world.manager("replicationcontroller")
        await world.apply(replication_controller(1))
        await world.settled()
        assert [pod.status.phase for pod in await world.list(V1Pod)] == ["Running"]
        assert await world.list(V1Node)

    result = run_world(scenario, Plan(1), options=WorldOptions(nodes=1))

    assert result.error is None
    assert not result.violations
    writers = {record.actor for record in told(result, "write") if record.object.startswith(("nodes/", "pods/"))}
    assert "nodes" in writers
    assert "user" not in writers


# --- programs


async def serve(program: Program) -> None:
    """Says its name."""

    async def answer(request: web.Request) -> web.Response:
        asked = (await request.json())["request"]
        verdict = {"uid": asked["uid"], "allowed": False, "status": {"code": 403, "message": program.name}}
        return web.json_response({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": verdict})

    application = web.Application()
    application.router.add_post("/", answer)
    runner = web.AppRunner(application, access_log=None, handle_signals=False)
    try:
        await runner.setup()
        await web.SockSite(runner, program.listener(8443)).start()
        await anyio.sleep_forever()
    finally:
        with anyio.CancelScope(shield=True):
            await runner.cleanup()


CONFIGURATION = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "names"},
    "webhooks": [
        {
            "name": "names.example.com",
            "clientConfig": {"service": {"namespace": "default", "name": "names"}},
            "rules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
            ],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 5,
        }
    ],
}


async def says(world: World) -> str:
    """What the webhook says, or why it cannot be asked."""
    try:
        await world.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    except ApiError as error:
        return str(error)
    except ClientError as error:
        return repr(error)
    return "created"


def test_the_api_server_asks_one_of_those_that_listen_behind_a_service() -> None:
    heard: list[str] = []

    async def scenario(world: World) -> None:
        one, two = (world.program(serve, name, restart_after=20) for name in ("one", "two"))
        world.service("names", "default", [one, two], 8443)
        await world.apply(CONFIGURATION)
        await world.sleep(1)
        one.kill()
        await world.sleep(1)
        heard.append(await says(world))
        await world.sleep(30)
        two.terminate(for_good=True)
        await world.sleep(1)
        heard.append(await says(world))
        one.pause(20)
        heard.append(await says(world))
        one.terminate(for_good=True)
        await world.sleep(30)
        heard.append(await says(world))

    result = played(scenario)

    assert "denied the request: two" in heard[0]
    assert "denied the request: one#2" in heard[1]
    assert "context deadline exceeded" in heard[2]
    assert 'no endpoints available for service "names"' in heard[3]
    assert [record.what for record in result.history if record.actor == "one"] == [
        "start",
        "killed",
        "start",
        "paused",
        "resumed",
        "ended",
    ]


def test_a_program_may_not_be_called_as_other_actors_are() -> None:
    async def scenario(world: World) -> None:
        for name in ("user", "nodes", "server"):
            with pytest.raises(ValueError, match=f"there is a process '{name}' already"):
                world.program(serve, name)

    played(scenario)


def test_groups_and_programs_play_the_same_again() -> None:
    async def scenario(world: World) -> None:
        world.service("names", "default", [world.program(serve, name) for name in ("one", "two")], 8443)
        world.managers(2, make_ledger, sharding=True)
        await Ledger(world, NAMESPACES).open(3)
        await world.apply(CONFIGURATION)
        await says(world)
        await world.settled()

    line = "seed=3 pause(manager-1,write=2,seconds=20) partition(manager-2,write=2,seconds=20)"
    first, second = (played(scenario, line).history.digest() for _ in range(2))

    assert first == second
