"""Oracles of syncs: one at a time, without programming errors, by the leader alone."""

from __future__ import annotations

import pytest

from kinformer.sharding import Ranges, Table
from kinformer.simulation.oracles.leaders import LeaderAlone
from kinformer.simulation.oracles.syncs import NoProgrammingErrors, OneSyncAtATime
from tests.simulation.oracles.telling import FixedState, Telling

LEASE = "leases.coordination.k8s.io/kube-system/manager"
HELD = FixedState({LEASE: {"spec": {"holderIdentity": "somebody"}}})


def test_syncs_of_a_key_one_after_the_other_are_right() -> None:
    telling = Telling(OneSyncAtATime())
    for _ in range(2):
        telling("manager", "sync", "default/web", detail="web")
        telling("manager", "synced", "default/web", detail="web")

    assert telling.finish() == []


def test_two_syncs_of_a_key_at_once_are_told() -> None:
    telling = Telling(OneSyncAtATime())
    first = telling("manager", "sync", "default/web", detail="web")
    second = telling("manager", "sync", "default/web", detail="web")

    assert telling.finish() == ["manager: web syncs default/web while a sync of it is running"]
    assert telling.violations[0].records == (first.number, second.number)


def test_other_keys_controllers_and_processes_may_run_beside_it() -> None:
    telling = Telling(OneSyncAtATime())
    telling("manager", "sync", "default/web", detail="web")
    telling("manager", "sync", "default/other", detail="web")
    telling("manager", "sync", "default/web", detail="other")
    telling("manager-2", "sync", "default/web", detail="web")

    assert telling.finish() == []


@pytest.mark.parametrize("what", ["killed", "start"])
def test_a_sync_ends_with_its_process(what: str) -> None:
    telling = Telling(OneSyncAtATime())
    telling("manager", "sync", "default/web", detail="web")
    telling("manager", what)  # type: ignore[arg-type]
    telling("manager", "sync", "default/web", detail="web")

    assert telling.finish() == []


@pytest.mark.parametrize("error", ["KeyError: 'x'", "TypeError: 'NoneType'", "AttributeError: no", "IndexError: 3"])
def test_an_error_of_the_program_is_told(error: str) -> None:
    telling = Telling(NoProgrammingErrors())
    telling("manager", "synced", "default/web", detail=f"web {error}")

    assert telling.finish() == [f"manager: web raised {error} for default/web"]


@pytest.mark.parametrize("error", ["", "Conflict: too old", "ServerTimeout", "OSError: reset", "RuntimeError: later"])
def test_an_error_of_the_api_is_for_a_retry(error: str) -> None:
    telling = Telling(NoProgrammingErrors())
    telling("manager", "synced", "default/web", detail=f"web {error}".rstrip())

    assert telling.finish() == []


def test_a_leader_may_write() -> None:
    telling = Telling(LeaderAlone(), HELD)
    telling("a", "write", LEASE, 1)
    telling("a", "write", "pods/default/web", 2)
    telling("a", "write", LEASE, 3)
    telling("a", "write", "pods/default/web", 4)

    assert telling.finish() == []


def test_who_lost_the_lease_may_not() -> None:
    telling = Telling(LeaderAlone(), HELD)
    telling("a", "write", LEASE, 1)
    lost = telling("b", "write", LEASE, 2)
    wrong = telling("a", "write", "pods/default/web", 3)

    assert telling.finish() == [f"a writes pods/default/web although b holds {LEASE}"]
    assert telling.violations[0].records == (lost.number, wrong.number)


def test_who_never_led_may_write() -> None:
    telling = Telling(LeaderAlone(), HELD)
    telling("b", "write", LEASE, 2)
    telling("c", "write", "pods/default/web", 3)

    assert telling.finish() == []


def test_who_leads_again_may_write_again() -> None:
    telling = Telling(LeaderAlone(), HELD)
    for actor in ("a", "b", "a"):
        telling(actor, "write", LEASE, 1)
    telling("a", "write", "pods/default/web", 3)

    assert telling.finish() == []


@pytest.mark.parametrize(("what", "detail"), [("fault", "split(a,write=1)"), ("start", "")])
def test_who_was_made_to_believe_or_started_again_may_write(what: str, detail: str) -> None:
    telling = Telling(LeaderAlone(), HELD)
    telling("a", "write", LEASE, 1)
    telling("b", "write", LEASE, 2)
    telling("a", what, detail=detail)  # type: ignore[arg-type]
    telling("a", "write", "pods/default/web", 3)

    assert telling.finish() == []


def test_a_lease_without_a_holder_says_nothing_of_leaders() -> None:
    telling = Telling(LeaderAlone(), FixedState({LEASE: {"spec": {}}}))
    telling("a", "write", LEASE, 1)
    telling("b", "write", LEASE, 2)
    telling("a", "write", "pods/default/web", 3)

    assert telling.finish() == []


# --- over processes

GROUP = "leases.coordination.k8s.io/kube-system/group"


def telling_of_a_group(*, split: str = "") -> Telling:
    """Two processes of one group, of which the first is in a sync."""
    telling = Telling(OneSyncAtATime())
    for actor in ("a", "b"):
        telling(actor, "start", GROUP)
    if split:
        telling(split, "fault", detail=f"split({split},write=1)")
    telling("a", "sync", "default/web", detail="web")
    return telling


def test_two_simultaneous_syncs_of_a_key_in_one_group_are_reported() -> None:
    telling = telling_of_a_group()
    telling("b", "sync", "default/web", detail="web")

    assert telling.finish() == ["b: web syncs default/web while a is in a sync of it and may write"]


def test_one_that_can_write_no_more_does_no_harm() -> None:
    telling = telling_of_a_group()
    telling("a", "barred", "default/web", detail="web")
    telling("b", "sync", "default/web", detail="web")

    assert telling.finish() == []


def test_nor_does_one_that_begins_when_it_can_write_no_more() -> None:
    telling = telling_of_a_group()
    telling("b", "barred", "default/web", detail="web")
    telling("b", "sync", "default/web", detail="web")

    assert telling.finish() == []


def test_what_was_barred_once_is_not_for_ever() -> None:
    telling = telling_of_a_group()
    telling("a", "barred", "default/web", detail="web")
    telling("a", "synced", "default/web", detail="web")
    telling("a", "sync", "default/web", detail="web")
    telling("b", "sync", "default/web", detail="web")

    assert len(telling.finish()) == 1


@pytest.mark.parametrize("what", ["killed", "ended", "start"])
def test_a_sync_of_a_dead_process_does_not_disturb_others(what: str) -> None:
    telling = telling_of_a_group()
    telling("a", what, GROUP)  # type: ignore[arg-type]
    telling("b", "sync", "default/web", detail="web")

    assert telling.finish() == []


@pytest.mark.parametrize("split", ["a", "b"])
def test_who_was_made_to_believe_that_it_leads_may_sync_beside_another(split: str) -> None:
    telling = telling_of_a_group(split=split)
    telling("b", "sync", "default/web", detail="web")

    assert telling.finish() == []


def test_processes_of_other_groups_may_sync_the_same_keys() -> None:
    telling = telling_of_a_group()
    telling("c", "start", f"{GROUP}-2")
    telling("c", "sync", "default/web", detail="web")

    assert telling.finish() == []


# --- shards


def telling_of_shards(*owners: str) -> tuple[Telling, int]:
    """Two members, and a table that gives the shard of a namespace to one after the other."""
    telling = Telling(LeaderAlone(), FixedState())
    labels = {"kinformer.dev/shard-group": "group"}
    for actor in ("a", "b"):
        lease = {"metadata": {"name": f"group-{actor}", "labels": labels}, "spec": {"holderIdentity": f"group-{actor}"}}
        telling(actor, "start", GROUP)
        telling.write(actor, f"leases.coordination.k8s.io/kube-system/group-{actor}", 1, "ADDED", lease)
    table = Table.empty(64)
    for owner in owners:
        table = table.with_owner(range(64), f"group-{owner}" if owner else "")
        lease = {"metadata": {"name": "group", "labels": labels, "annotations": table.annotations()}, "spec": {}}
        telling.write(owner or "b", GROUP, 2, obj=lease)
    return telling, len(telling.history)


def test_a_shards_owner_may_write_and_a_former_one_may_not() -> None:
    telling, count = telling_of_shards("a", "", "b")
    telling.write("b", "configmaps/team/x", 3)
    telling.write("a", "configmaps/team/x", 4)

    shard = Ranges(64).of("team")
    assert telling.finish() == [f"a writes configmaps/team/x although b owns shard {shard} of {GROUP}"]
    assert telling.violations[0].records == (count - 1, count + 1)


@pytest.mark.parametrize("owners", [("a",), ("a", ""), ("a", "b", "", "a")])
def test_a_shards_present_or_last_owner_may_write(owners: tuple[str, ...]) -> None:
    telling, _ = telling_of_shards(*owners)
    telling.write("a", "configmaps/team/x", 3)

    assert telling.finish() == []


def test_objects_of_no_namespace_are_in_no_shard() -> None:
    telling, _ = telling_of_shards("a", "b")
    telling.write("a", "nodes/n1", 3)

    assert telling.finish() == []


def test_a_write_that_a_fault_delays_may_come_late() -> None:
    telling, _ = telling_of_shards("a", "b")
    telling("a", "fault", detail="delay(a,request=4,seconds=20)")
    telling.time += 20
    telling.write("a", "configmaps/team/x", 3)
    assert telling.finish() == []

    telling.time += 20
    telling.write("a", "configmaps/team/x", 4)
    assert len(telling.finish()) == 1
