from __future__ import annotations

from typing import Any

from kinformer.clock import FakeClock
from kinformer.meta.resourcelist import dump, load
from kinformer_controllers.groupquota import ReservationLedger
from kinformer_controllers.shared.quota import CREATE, UPDATE, Quota, Request
from kinformer_controllers.shared.quota.pods import PODS


def quota(used: str, name: str = "g") -> Quota:
    return Quota("", name, (), load({"pods": "9"}), load({"pods": used}))


def pod(uid: str = "", version: str = "", name: str = "p") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": version}}


def create(obj: Any) -> Request:
    return Request(CREATE, PODS, "ns", obj["metadata"]["name"], obj)


class Ledger:
    """A ledger on a clock in the test's hand, that notes what is freed."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.freed: list[str] = []
        self.ledger = ReservationLedger(90.0, self.clock, self.freed.append)

    def reserve(self, holder: str, request: Request, amount: int = 1) -> None:
        other = quota("0", "other")
        self.ledger.reserve(holder, request, [quota("3"), other], [quota(str(3 + amount)), other])

    @property
    def reserved(self) -> dict[str, str]:
        return dump(self.ledger.reserved("g"))


def test_what_is_reserved_is_the_difference_and_adds_up() -> None:
    it = Ledger()
    it.reserve("a", create(pod("1")))
    it.reserve("b", create(pod("2", name="q")), 2)
    assert it.reserved == {"pods": "3"}
    assert it.ledger.reserved("other") == {}


def test_an_object_that_was_seen_frees_its_own_reservation_and_no_other() -> None:
    it = Ledger()
    it.reserve("a", create(pod("1")))
    it.ledger.seen(PODS, pod("0", "5"), True)
    assert it.reserved == {"pods": "1"}
    it.ledger.seen(PODS, pod("1", "6"), False)
    assert (it.reserved, it.freed) == ({}, [])


def test_what_is_seen_says_which_quotas_it_was_charged_to() -> None:
    it = Ledger()
    it.reserve("a", create(pod("1")))
    assert it.ledger.seen(PODS, pod("0", "5"), True) == set()
    assert it.ledger.seen(PODS, pod("1", "6"), True) == {"g"}
    assert it.ledger.seen(PODS, pod("1", "7"), False) == set()


def test_an_update_is_held_until_a_later_version_was_seen() -> None:
    it = Ledger()
    it.reserve("a", Request(UPDATE, PODS, "ns", "p", pod("1", "10"), pod("1", "10")))
    for version in ("9", "10"):
        it.ledger.seen(PODS, pod("1", version), False)
    assert it.reserved == {"pods": "1"}
    it.ledger.seen(PODS, pod("1", "11"), False)
    assert it.reserved == {}


def test_without_a_uid_each_new_object_of_that_name_frees_one() -> None:
    it = Ledger()
    it.reserve("a", create(pod()))
    it.reserve("b", create(pod()))
    it.ledger.seen(PODS, pod("7", "1"), True)
    it.ledger.seen(PODS, pod("7", "2"), False)
    assert it.reserved == {"pods": "1"}
    it.ledger.seen(PODS, pod("8", "3"), True)
    assert it.reserved == {}


def test_a_charge_that_was_not_written_is_not_reserved() -> None:
    it = Ledger()
    it.reserve("a", create(pod("1")))
    it.ledger.withdraw("a", ["g"])
    assert (it.reserved, it.freed, len(it.ledger)) == ({}, ["g"], 0)
    it.reserve("a", create(pod("1")), 2)
    assert it.reserved == {"pods": "2"}
    it.ledger.withdraw("a")
    it.ledger.withdraw("a")
    assert len(it.ledger) == 0


def test_a_reservation_ends_with_its_time() -> None:
    it = Ledger()
    assert it.ledger.until_next_end("g") is None
    it.reserve("a", create(pod("1")))
    it.clock.turn(60.0)
    it.reserve("b", create(pod("2", name="q")))
    assert it.ledger.until_next_end("g") == 30.0
    it.clock.turn(30.0)
    assert (it.reserved, it.freed) == ({"pods": "1"}, ["g"])
