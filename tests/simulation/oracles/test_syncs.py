"""Oracles of syncs: one at a time, without programming errors, by the leader alone."""

from __future__ import annotations

import pytest

from kinformer.simulation.oracles.syncs import LeaderAlone, NoProgrammingErrors, OneSyncAtATime
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
