"""The models of leader election and of sharding: which write may follow which."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.sharding import Table
from kinformer.simulation.oracles.refinement import ElectionModel, Forbidden, Refinement, ShardModel
from tests.simulation.oracles.telling import Telling

LEASE = "leases.coordination.k8s.io/kube-system/manager"


def held(holder: str, transitions: int = 0, duration: int = 15) -> dict[str, Any]:
    return {"holderIdentity": holder, "leaseDurationSeconds": duration, "leaseTransitions": transitions}


def test_a_lease_is_made_renewed_released_and_taken() -> None:
    model = ElectionModel()

    steps = [
        model.step("a", 0, held("a-1")),
        model.step("a", 2, held("a-1")),
        model.step("a", 3, held("", duration=1)),
        model.step("b", 3, held("b-1", 1)),
        model.step("a", 18, held("a-2", 2)),
    ]

    assert steps == ["make", "renew", "release", "take", "take"]


@pytest.mark.parametrize(
    ("writer", "time", "spec", "why"),
    [
        ("b", 10, held("b-1", 1), "takes the Lease of a, which has 5.0 s left"),
        ("b", 10, held("a-1"), "renews the Lease of a"),
        ("b", 10, held(""), "releases the Lease of a"),
        ("b", 10, None, "deletes the Lease of a"),
        ("b", 20, held("b-1"), "takes the Lease and counts 0 transitions after 0"),
    ],
)
def test_a_step_of_leader_election_can_be_forbidden(writer: str, time: float, spec: Any, why: str) -> None:
    model = ElectionModel()
    model.step("a", 0, held("a-1"))

    with pytest.raises(Forbidden, match=why):
        model.step(writer, time, spec)


def group() -> ShardModel:
    """Two members, of which each has a Lease of 15 seconds and a range."""
    model = ShardModel()
    for name in ("a", "b"):
        model.renew(f"{name}-1", name, 0, held(f"{name}-1"))
    model.step("a", 0, ("a-1", "b-1"))
    return model


def test_ranges_are_given_up_claimed_and_freed_when_their_owner_is_over() -> None:
    model = group()

    model.step("a", 1, ("", "b-1"))
    model.step("b", 2, ("b-1", "b-1"))
    model.step("a", 15, ("a-1", "a-1"))

    assert model.owners == ("a-1", "a-1")


@pytest.mark.parametrize(
    ("owners", "why"),
    [
        (("b-1", "b-1"), "takes range 0 from a-1, whose Lease has not run out"),
        (("", "b-1"), "takes range 0 from a-1"),
        (("a-1", "a-1"), "gives range 1 to a-1, which did not claim it"),
    ],
)
def test_a_step_of_sharding_can_be_forbidden(owners: tuple[str, ...], why: str) -> None:
    with pytest.raises(Forbidden, match=why):
        group().step("b", 5, owners)


def test_a_members_lease_is_deleted_only_when_it_is_over() -> None:
    with pytest.raises(Forbidden, match=r"deletes the Lease of a, which has 5\.0 s left"):
        group().renew("a-1", "b", 10, None)
    group().renew("a-1", "b", 15, None)


def test_the_oracle_follows_the_leases_of_groups_alone() -> None:
    telling = Telling(Refinement())
    for name in ("a", "b"):
        telling(name, "start", LEASE)
    telling.time = 1.0
    telling.write("a", LEASE, 1, "ADDED", {"spec": held("a-1")})
    telling.write("b", f"{LEASE}-of-another", 2, "ADDED", {"spec": held("b-1", 7)})
    write = telling.write("b", LEASE, 3, obj={"spec": held("b-1", 1)})

    assert telling.finish() == [f"b takes the Lease of a, which has 15.0 s left ({LEASE})"]
    assert telling.violations[0].records == (write.number,)


def test_what_the_user_writes_is_believed() -> None:
    telling = Telling(Refinement())
    telling("a", "start", LEASE)
    telling("b", "start", LEASE)
    telling.write("a", LEASE, 1, "ADDED", {"spec": held("a-1")})
    telling.write("user", LEASE, 2, obj={"spec": held("")})
    telling.write("b", LEASE, 3, obj={"spec": held("b-1", 1)})

    assert telling.finish() == []


def test_the_oracle_finds_a_range_that_changes_hands_too_early() -> None:
    telling = Telling(Refinement())
    label = {"labels": {"kinformer.dev/shard-group": "manager"}}
    for name in ("a", "b"):
        telling(name, "start", LEASE)
        telling.write(name, f"{LEASE}-{name}", 1, "ADDED", {"metadata": label, "spec": held(f"manager-{name}")})
    for writer, owners in (("a", ("manager-a", "manager-b")), ("b", ("manager-b", "manager-b"))):
        annotations = Table(owners).annotations()
        telling.write(writer, LEASE, 2, obj={"metadata": {**label, "annotations": annotations}, "spec": {}})

    assert telling.finish() == [f"b takes range 0 from manager-a, whose Lease has not run out ({LEASE})"]
