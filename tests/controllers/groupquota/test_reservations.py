"""Reservations: what is written with a charge, what takes it back, and what is shown to have been stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kinformer.cache import NAMESPACE_INDEX
from kinformer.clock import FakeClock
from kinformer.meta.resourcelist import add, dump, load
from kinformer.models import V1ObjectMeta, V1Pod
from kinformer_controllers.groupquota.group_quota import GroupQuota, MalformedStatus, read_group_quota
from kinformer_controllers.groupquota.record import Record
from kinformer_controllers.groupquota.reservations import MANY, RecordFull, ReservationLedger
from kinformer_controllers.groupquota.sightings import Sightings
from kinformer_controllers.shared.quota import CREATE, Request
from kinformer_controllers.shared.quota.admission import Holder
from kinformer_controllers.shared.quota.evaluator import UPDATE
from kinformer_controllers.shared.quota.pods import PODS, PodEvaluator
from kinformer_controllers.shared.quota.registry import Registry
from kinformer_controllers.shared.quota.sources import InformerSource
from tests.controllers.objects import FakeInformers


def quota(used: str = "0", name: str = "g", record: Record | None = None) -> GroupQuota:
    source = {"metadata": {"name": name, "uid": "u", "resourceVersion": "1"}}
    return GroupQuota("", name, (), load({"pods": "9"}), load({"pods": used}), source, None, record or Record())


def pod(uid: str = "", version: str = "", name: str = "p") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": version}}


def create(uid: str, name: str = "p") -> Request:
    return Request(CREATE, PODS, "ns", name, pod(uid, name=name))


def update(uid: str, version: str) -> Request:
    return Request(UPDATE, PODS, "ns", "p", pod(uid, version), pod(uid, version))


class Replica:
    """A ledger with a cache of pods and a clock in the test's hand."""

    def __init__(self, **options: Any) -> None:
        self.clock = FakeClock()
        self.pods = FakeInformers().informer_for(
            V1Pod, indexers={NAMESPACE_INDEX: lambda pod: (pod.metadata.namespace,)}
        )
        self.sightings = Sightings(Registry([PodEvaluator(InformerSource(self.pods))]), 90.0, self.clock)
        self.ledger = ReservationLedger(90.0, self.clock, self.sightings, **options)
        self.ledger.leads = True
        self.holder = Holder()

    def charged(self, request: Request, before: GroupQuota | None = None) -> GroupQuota:
        """A quota as it is written when a request is charged to it."""
        self.holder = Holder()
        before = before or quota()
        after = replace(before, used=add(before.used, load({"pods": "1"})))
        self.ledger.reserve(self.holder, request, [before], [after])
        return replace(after, record=self.ledger.to_write(after))

    def shows(self, uid: str, version: str, name: str = "p") -> None:
        """The cache has a pod."""
        self.pods.indexer.add(
            V1Pod(metadata=V1ObjectMeta(name=name, namespace="ns", uid=uid, resource_version=version))
        )


def test_a_reservation_is_written_with_its_charge_for_all_readers() -> None:
    it = Replica()
    charged = it.charged(create("1"))
    status = {"hard": {"pods": "9"}, "used": dump(charged.used), **charged.record.json()}

    [entry] = status["reservations"]
    assert entry == {
        "id": entry["id"],
        "resource": "pods",
        "namespace": "ns",
        "name": "p",
        "uid": "1",
        "amounts": {"pods": "1"},
        "expires": "2026-01-01T00:01:30Z",
    }
    obj = {"metadata": {"name": "g"}, "spec": {"application": {"name": "a"}}, "status": status}
    assert read_group_quota(obj, lambda _: {}).record == charged.record


@pytest.mark.parametrize(
    "status",
    [
        {"reservations": {}},
        {"reservations": ["x"]},
        {"reservations": [{"amounts": {}}]},
        {"reservations": [{"id": "a", "amounts": {"pods": "many"}}]},
        {"reservations": [], "counted": []},
    ],
)
def test_a_record_that_makes_no_sense_is_a_malformed_status(status: Any) -> None:
    obj = {"metadata": {"name": "g"}, "spec": {"application": {"name": "a"}}, "status": status}
    with pytest.raises(MalformedStatus, match=r"status\.(reservations|counted): "):
        read_group_quota(obj, lambda _: {})


def test_a_reservation_ends_when_the_cache_has_its_uids_object() -> None:
    it = Replica()
    charged = it.charged(create("1"))
    it.shows("0", "5")
    assert it.ledger.presented(charged) == charged
    it.shows("1", "6")
    ended = it.ledger.presented(charged)

    assert (dump(ended.used), dict(ended.record.reservations), ended.record.counted) == ({"pods": "1"}, {}, {PODS: 6})


def test_an_update_is_reserved_until_a_later_version_is_shown() -> None:
    it = Replica()
    charged = it.charged(update("1", "10"))
    it.shows("1", "10")
    assert it.ledger.presented(charged) == charged
    it.shows("1", "11")
    assert not it.ledger.presented(charged).record.reservations


def test_an_object_that_was_deleted_before_anybody_looked_ends_its_reservation() -> None:
    it = Replica()
    charged = it.charged(create("1"))
    it.sightings.gone(PODS, pod("1", "8"))
    ended = it.ledger.presented(charged).record
    assert (dict(ended.reservations), ended.counted) == ({}, {PODS: 8})


def test_without_a_uid_no_object_ends_it() -> None:
    it = Replica()
    charged = it.charged(create(""))
    it.shows("", "5")
    it.shows("7", "6")
    assert it.ledger.presented(charged) == charged


def test_while_objects_are_measured_no_reservation_ends() -> None:
    it = Replica()
    charged = it.charged(create("1"))
    it.shows("1", "6")
    with it.ledger.measuring("g"):
        assert it.ledger.presented(charged) == charged
    assert it.ledger.presented(charged) != charged


def test_who_does_not_lead_ends_reservations_only_if_very_many_have_gathered() -> None:
    it = Replica()
    it.ledger.leads = False
    charged = quota()
    for number in range(MANY + 1):
        it.shows(str(number), "6", f"p{number}")
        if number == MANY:
            assert it.ledger.presented(charged) == charged
        charged = it.charged(create(str(number), f"p{number}"), charged)

    assert not it.ledger.presented(charged).record.reservations


def test_a_withdrawn_reservation_is_no_usage_wherever_it_was_written() -> None:
    it = Replica()
    kept = it.charged(create("1"))
    both = it.charged(create("2", "q"), kept)
    told: list[str] = []
    it.ledger.withdrawn = told.append
    it.ledger.withdraw(it.holder)
    it.ledger.withdraw(it.holder)

    presented = it.ledger.presented(both)
    assert (presented.record, dump(presented.used), told) == (kept.record, {"pods": "1"}, ["g"])
    assert it.ledger.presented(kept) == kept


def test_a_charge_with_a_lost_answer_is_recognised_by_its_id() -> None:
    it = Replica()
    before = quota()
    written = it.charged(create("1"), before)
    assert it.ledger.is_charged(it.holder, written)
    assert not it.ledger.is_charged(it.holder, before)
    assert not it.ledger.is_charged(Holder(), written)


def test_a_record_that_is_full_takes_no_more_and_says_so() -> None:
    it = Replica(limit=300)
    charged = it.charged(create("1"))
    charged = it.charged(create("2"), charged)
    with pytest.raises(RecordFull, match=r"GroupQuota g has 2 reservations, and no room for another"):
        it.charged(create("3"), charged)
    it.shows("1", "6")
    assert len(it.charged(create("3"), it.ledger.presented(charged)).record.reservations) == 2


def test_a_charge_is_known_around_its_object_until_it_is_withdrawn() -> None:
    it = Replica()
    charged = it.charged(create("1"))
    assert not it.sightings.is_charged("g", PODS, "1", "5")
    it.sightings.know("g", Record(), charged.record)
    assert it.sightings.is_charged("g", PODS, "1", "5")
    assert not it.sightings.is_charged("other", PODS, "1", "5")
    it.sightings.know("g", charged.record, Record())
    assert not it.sightings.is_charged("g", PODS, "1", "5")


def test_the_time_of_a_reservation_counts_from_when_this_replica_saw_it() -> None:
    it = Replica()
    first = it.charged(create("1"))
    both = it.charged(create("2", "q"), first)
    it.sightings.know("g", Record(), first.record)
    it.clock.turn(60.0)
    it.sightings.know("g", first.record, both.record)
    it.clock.turn(5.0)

    assert [it.sightings.seen_for("g", id_) for id_ in both.record.reservations] == [65.0, 5.0]
    it.sightings.know("g", both.record, Record())
    it.sightings.know("g", Record(), first.record)
    assert [it.sightings.seen_for("g", id_) for id_ in first.record.reservations] == [0.0]
