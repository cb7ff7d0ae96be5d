from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kinformer.models import V1Lease, V1Node, from_dict
from kinformer_controllers.nodelifecycle.health import GracePeriods, Moment, NodeHealth, Observation, observe

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
GRACE = GracePeriods(running=50, starting=60)


def at(seconds: float) -> Moment:
    return Moment(START + timedelta(seconds=seconds), 1000.0 + seconds)


def text(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(status: str | None = "True", heartbeat: float = 0, created: float = 0, **others: str) -> V1Node:
    conditions = [{"type": type_, "status": value, "lastHeartbeatTime": text(0)} for type_, value in others.items()]
    if status is not None:
        conditions.append({"type": "Ready", "status": status, "reason": "K", "lastHeartbeatTime": text(heartbeat)})
    meta = {"name": "n", "uid": "u", "creationTimestamp": text(created)}
    return from_dict(V1Node, {"metadata": meta, "status": {"conditions": conditions}})


def lease(renewed: float | None) -> V1Lease:
    spec = {} if renewed is None else {"renewTime": (START + timedelta(seconds=renewed)).isoformat()}
    return from_dict(V1Lease, {"metadata": {"name": "n"}, "spec": spec})


def look(known: NodeHealth | None, what: V1Node, when: float, its_lease: V1Lease | None = None) -> Observation:
    return observe(known, what, its_lease, at(when), GRACE)


def statuses(seen: Observation) -> dict[str, str]:
    return {each.type: each.status for each in seen.conditions}


def test_a_new_node_has_its_grace_from_now_despite_old_heartbeats() -> None:
    seen = look(None, node(heartbeat=-3600), 0)

    assert (seen.observed, seen.conditions, seen.health.probed) == ("True", (), 1000.0)
    assert look(seen.health, node(heartbeat=-3600), 50).conditions == ()
    assert look(seen.health, node(heartbeat=-3600), 50.1).conditions != ()


def test_a_silent_node_is_unknown_in_all_that_the_kubelet_reports() -> None:
    silent = node(MemoryPressure="False", NetworkUnavailable="False")
    seen = look(look(None, silent, 0).health, silent, 51)

    assert seen.observed == "True"
    assert statuses(seen) == dict.fromkeys(("Ready", "MemoryPressure", "DiskPressure", "PIDPressure"), "Unknown")
    reasons = {each.type: each.reason for each in seen.conditions}
    assert reasons["Ready"] == reasons["MemoryPressure"] == "NodeStatusUnknown"
    assert reasons["DiskPressure"] == "NodeStatusNeverUpdated"
    ready = next(each for each in seen.conditions if each.type == "Ready")
    assert ready.message == "Kubelet stopped posting node status."
    assert ready.last_heartbeat_time == START
    assert ready.last_transition_time == START + timedelta(seconds=51)


@pytest.mark.parametrize("status", ["True", "False"])
def test_a_heartbeat_begins_the_grace_anew(status: str) -> None:
    known = look(None, node(), 0).health

    known = look(known, node(status, heartbeat=40), 45).health
    assert look(known, node(status, heartbeat=40), 95).conditions == ()
    assert statuses(look(known, node(status, heartbeat=40), 95.1))["Ready"] == "Unknown"


def test_a_lease_that_is_renewed_begins_the_grace_anew() -> None:
    known = look(None, node(), 0, lease(0)).health

    known = look(known, node(), 45, lease(40)).health
    assert look(known, node(), 95, lease(40)).conditions == ()
    assert look(known, node(), 95.1, lease(40)).conditions != ()


def test_a_lease_that_is_not_renewed_is_no_sign_of_life() -> None:
    known = look(None, node(), 0, lease(0)).health
    for when in range(5, 50, 5):
        known = look(known, node(), when, lease(0)).health

    assert look(known, node(), 50.1, lease(0)).conditions != ()
    assert look(known, node(), 50.1, lease(-10)).conditions != ()


def test_a_lease_without_a_time_counts_once() -> None:
    known = look(None, node(), 0, lease(None)).health

    assert look(known, node(), 51, lease(None)).conditions != ()


def test_after_a_heartbeat_the_lease_counts_once_more_as_in_kubernetes() -> None:
    known = look(None, node(), 0, lease(0)).health
    known = look(known, node(heartbeat=40), 45, lease(0)).health
    known = look(known, node(heartbeat=40), 50, lease(0)).health

    assert look(known, node(heartbeat=40), 100, lease(0)).conditions == ()
    assert look(known, node(heartbeat=40), 100.1, lease(0)).conditions != ()


def test_a_node_that_never_reported_has_longer_from_its_creation() -> None:
    known = look(None, node(None), 10).health

    assert look(known, node(None), 60).conditions == ()
    seen = look(known, node(None), 60.1)
    assert seen.observed == "Unknown"
    assert {each.reason for each in seen.conditions} == {"NodeStatusNeverUpdated"}
    assert {each.message for each in seen.conditions} == {"Kubelet never posted node status."}
    assert {each.last_heartbeat_time for each in seen.conditions} == {START}


def test_a_node_that_never_reported_and_is_old_is_unknown_at_once() -> None:
    assert statuses(look(None, node(None, created=-3600), 0))["Ready"] == "Unknown"


def test_a_node_that_never_reported_but_renews_its_lease_is_left_alone() -> None:
    seen = look(None, node(None, created=-3600), 0, lease(0))

    assert (seen.ready, seen.conditions) == (None, ())
    assert look(seen.health, node(None, created=-3600), 60, lease(0)).conditions == ()
    assert look(seen.health, node(None, created=-3600), 60.1, lease(0)).conditions != ()


def test_a_node_without_ready_condition_has_the_longer_grace() -> None:
    known = look(None, node(), 0).health

    assert look(known, node(None), 60).conditions == ()
    assert look(known, node(None), 60.1).conditions != ()


def test_an_unknown_node_is_not_written_again() -> None:
    unknown = node("Unknown")
    known = look(None, unknown, 0).health
    seen = look(known, unknown, 3600)

    assert (seen.observed, seen.conditions) == ("Unknown", ())
    assert seen.ready is not None
    assert seen.ready.status == "Unknown"


def test_what_is_written_is_known_from_then_on() -> None:
    known = look(None, node(), 0).health
    seen = look(known, node(), 51)
    written = seen.written(None)
    unknown = node("Unknown")

    assert written.ready is seen.ready
    assert look(written, unknown, 56).conditions == ()
    back = look(written, node("True", heartbeat=60), 61)
    assert (back.observed, back.conditions, back.health.probed) == ("True", (), 1061.0)


def test_the_time_of_day_may_jump() -> None:
    known = look(None, node(), 0).health
    jumped = Moment(START + timedelta(days=1), 1005.0)

    assert observe(known, node(), None, jumped, GRACE).conditions == ()


@pytest.mark.parametrize("status", ["True", "False", "Unknown"])
@pytest.mark.parametrize(("when", "expired"), [(0, False), (51, True)])
def test_what_was_observed_is_what_the_node_said(status: str, when: float, expired: bool) -> None:
    known = look(None, node(status), 0).health
    seen: Any = look(known, node(status), when)

    assert seen.observed == status
    assert seen.ready.status == ("Unknown" if expired else status)
