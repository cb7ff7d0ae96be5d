"""Processes: killed, paused, started again, behind, with a wrong clock, and two that lead."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.client import Conflict
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap, V1ObjectMeta
from kinformer.simulation import Plan, RunResult, World, WorldOptions, run_world
from tests.simulation.scenarios import replication_controller
from tests.simulation.worlds import trial_of_case


def configmap(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def copier(context: ControllerContext) -> Controller:
    """Writes a copy of each ConfigMap that has none, and the time of it."""
    source = context.informers.informer_for(V1ConfigMap)

    async def sync(key: str) -> None:
        namespace, _, name = key.partition("/")
        if name.startswith("copy-of-") or source.indexer.get_by_key(key) is None or namespace != "default":
            return
        if source.indexer.get_by_key(f"default/copy-of-{name}") is None:
            made = configmap(f"copy-of-{name}", at=context.clock.now().isoformat())
            await context.client.resource(V1ConfigMap).create(made, "default")

    return Controller("copier", sync, clock=context.clock).watch(source)


def copies(line: str, *names: str, **how: Any) -> RunResult:
    """A run in which ConfigMaps are copied, one after the other."""

    async def scenario(world: World) -> None:
        world.manager(copier, **how)
        await world.settled()
        for name in names or ("a",):
            await world.apply(configmap(name))
            await world.settled()

    result = run_world(scenario, Plan.parse(line))
    assert result.error is None, result.error
    assert not result.orphans
    return result


def told(result: RunResult, what: str) -> list[Any]:
    return [record for record in result.history if record.what == what]


def test_a_killed_process_does_nothing_more_and_another_starts() -> None:
    result = copies("seed=1 crash(manager,write=1,lost)", "a", "b", restart_after=7.0)

    (killed,), (_, start) = told(result, "killed"), told(result, "start")
    assert start.time == pytest.approx(killed.time + 7)
    assert not [
        r
        for r in result.history
        if r.actor == "manager" and killed.number < r.number < start.number and r.what != "fault"
    ]
    assert "configmaps/default/copy-of-b" in result.final_state


def test_a_process_that_reads_its_last_answer_dies_before_its_next_request() -> None:
    lost = copies("seed=1 crash(manager,write=1,lost)")
    delivered = copies("seed=1 crash(manager,write=1,delivered)")

    def syncs_that_ended(result: RunResult) -> int:
        (killed,) = told(result, "killed")
        return sum(r.object == "default/a" for r in told(result, "synced") if r.number < killed.number)

    assert syncs_that_ended(lost) == 0
    assert syncs_that_ended(delivered) >= 1


def test_a_paused_process_does_nothing_and_later_continues() -> None:
    result = copies("seed=1 pause(manager,write=1,seconds=100)", "a", "b")

    (paused,), (resumed,) = told(result, "paused"), told(result, "resumed")
    assert resumed.time == pytest.approx(paused.time + 100)
    during = [r for r in result.history if paused.number < r.number < resumed.number and r.actor == "manager"]
    assert not [record for record in during if record.what not in ("fault", "answer")]
    assert "configmaps/default/copy-of-b" in result.final_state


def test_a_paused_process_terminated_for_good_ends_when_it_continues() -> None:
    async def scenario(world: World) -> None:
        process = world.manager(copier)
        await world.apply(configmap("a"))
        await world.settled()
        process.pause(60)
        process.terminate(for_good=True)
        await world.apply(configmap("b"))
        await world.settled()
        assert process.is_gone

    result = run_world(scenario, Plan(1))

    assert result.error is None, result.error
    assert not [violation for violation in result.violations if violation.oracle == "stores"]


def test_a_process_started_on_a_replica_sees_the_past_first() -> None:
    result = copies("seed=1 restart(manager,write=2,version=-2,seconds=50)", "a", "b")

    (killed,) = told(result, "killed")
    seen = [r for r in told(result, "event") if r.number > killed.number]
    # One change back is the copy of b, two are b itself.
    before, after = ([r.object for r in seen if (r.time < killed.time + 50) is early] for early in (True, False))
    assert "configmaps/default/a" in before
    assert "configmaps/default/b" not in before
    assert {"configmaps/default/b", "configmaps/default/copy-of-b"} <= set(after)
    assert not result.violations


def test_a_jumping_clock_changes_the_time_of_day_and_no_timers() -> None:
    straight = copies("seed=1", "a", "b")
    jumped = copies("seed=1 jump(manager,write=1,seconds=7200)", "a", "b")

    def time_of(result: RunResult, name: str) -> str:
        return str(result.final_state[f"configmaps/default/copy-of-{name}"]["data"]["at"])

    assert time_of(straight, "a")[:16] == time_of(jumped, "a")[:16] == "2026-01-01T00:00"
    assert time_of(straight, "b")[:16] == "2026-01-01T00:01"
    assert time_of(jumped, "b")[:16] == "2026-01-01T02:01"
    assert jumped.seconds == pytest.approx(straight.seconds, abs=0.1)


def test_a_hidden_event_is_never_told_and_a_list_closes_the_gap() -> None:
    result = copies("seed=1 hide(manager,configmaps/default/a,event=1)")

    events = [r for r in told(result, "event") if r.object == "configmaps/default/a"]
    (fault,) = told(result, "fault")
    assert len(events) == 1
    assert events[0].time > fault.time + 29
    assert "configmaps/default/copy-of-a" in result.final_state


def test_a_gap_ends_with_the_objects_next_event() -> None:
    async def scenario(world: World) -> None:
        world.manager(copier)
        await world.settled()
        await world.apply(configmap("a", step="one"))
        await world.sleep(1)
        await world.apply(configmap("a", step="two"))
        await world.settled()

    result = run_world(scenario, Plan.parse("seed=1 hide(manager,configmaps/default/a,event=1)"))

    events = [r for r in told(result, "event") if r.object == "configmaps/default/a"]
    assert [r.detail.partition(" ")[0] for r in events] == ["add"]
    assert 60 < result.seconds < 92
    assert not result.violations


def test_a_gap_in_a_silent_watch_closes_with_the_next_watch() -> None:
    line = "seed=0 silent(manager,pods,event=1,seconds=300) hide(manager,pods/case/b,event=1,seconds=1)"

    assert trial_of_case("taint_evict").play(Plan.parse(line)).violations == ()


def test_a_silent_watch_is_open_and_brings_nothing_for_so_long() -> None:
    result = copies("seed=1 silent(manager,configmaps,event=1,seconds=200)")

    (fault,) = told(result, "fault")
    assert told(result, "event")[-2].time == pytest.approx(fault.time + 200, abs=5)
    assert not result.violations


def test_a_write_that_another_writer_was_quicker_than_conflicts() -> None:
    seen: list[str] = []

    def updater(context: ControllerContext) -> Controller:
        source = context.informers.informer_for(V1ConfigMap)

        async def sync(key: str) -> None:
            found = source.indexer.get_by_key(key)
            if found is None or found.metadata.name != "a" or (found.data or {}).get("seen"):
                return
            version = found.metadata.resource_version
            meta = V1ObjectMeta(name="a", namespace="default", resource_version=version)
            try:
                await context.client.resource(V1ConfigMap).update(V1ConfigMap(metadata=meta, data={"seen": "yes"}))
            except Conflict:
                seen.append("conflict")
                raise

        return Controller("updater", sync, clock=context.clock).watch(source)

    async def scenario(world: World) -> None:
        world.manager(updater)
        await world.apply(configmap("a"))
        await world.settled()

    result = run_world(scenario, Plan.parse("seed=1 conflict(manager,write=1)"))

    assert seen == ["conflict"]
    assert result.final_state["configmaps/default/a"]["data"] == {"seen": "yes"}
    assert "annotations" not in result.final_state["configmaps/default/a"]["metadata"]


@pytest.mark.parametrize("history", ["kept", "gone"])
def test_a_server_that_restarts_breaks_all_connections_and_its_watchers_come_back(history: str) -> None:
    result = copies(f"seed=1 restartserver(change=2,{history})", "a", "b")

    assert "configmaps/default/copy-of-b" in result.final_state
    lists = [r for r in told(result, "request") if r.detail == "list"]
    assert bool(lists) == (history == "gone") or not lists
    assert not result.violations


def test_of_two_candidates_one_leads_and_another_follows_when_it_cannot() -> None:
    async def scenario(world: World) -> None:
        for name in ("one", "two"):
            world.manager("replicationcontroller", name, leader_election=True)
        await world.apply(replication_controller(3))
        await world.settled()

    result = run_world(scenario, Plan(1), options=WorldOptions(quiet=60))

    assert result.error is None
    assert not result.violations
    writers = {r.actor for r in told(result, "write") if r.object.startswith("pods/")}
    assert len(writers) == 1


def test_a_leader_with_a_stopped_clock_believes_it_leads_beside_another() -> None:
    async def scenario(world: World) -> None:
        for name in ("one", "two"):
            world.manager(copier, name, leader_election=True)
        await world.settled()
        await world.apply(configmap("a"))
        await world.sleep(60)
        await world.apply(configmap("b"))
        await world.settled()

    straight = run_world(scenario, Plan(1), options=WorldOptions(quiet=60))
    (leader,) = {r.actor for r in told(straight, "write") if "copy-of" in r.object}

    split = run_world(
        scenario, Plan.parse(f"seed=1 split({leader},write=1,seconds=100)"), options=WorldOptions(quiet=60)
    )

    assert split.error is None
    synced = {r.actor for r in told(split, "sync") if r.object == "default/b" and r.time < 200}
    assert synced == {"one", "two"}
