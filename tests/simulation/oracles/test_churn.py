"""The oracle of churn: what is made and removed more often than without faults."""

from __future__ import annotations

from kinformer.simulation.oracles import Reference
from kinformer.simulation.oracles.churn import Churn
from tests.simulation.oracles.telling import Telling, generated

CLAIM = "persistentvolumeclaims/default/data-0"
REFERENCE = Reference({}, {CLAIM: 1, "pods/default/web-*": 3}, {})
ENDS = ("bbbbb", "ccccc", "ddddd", "fffff", "ggggg", "hhhhh", "jjjjj", "kkkkk", "lllll")


def make(telling: Telling, count: int) -> None:
    for end in ENDS[:count]:
        telling.write("manager", f"pods/default/web-{end}", 1, "ADDED", generated("web-", end))


def test_as_many_as_without_faults_are_right() -> None:
    telling = Telling(Churn(REFERENCE))
    telling.write("manager", CLAIM, 1, "ADDED")
    make(telling, 3)

    assert telling.finish() == []


def test_a_claim_that_is_deleted_and_made_again_is_told_of_twice() -> None:
    telling = Telling(Churn(REFERENCE))
    first = telling.write("manager", CLAIM, 1, "ADDED")
    gone = telling.write("manager", CLAIM, 2, "DELETED")
    again = telling.write("manager", CLAIM, 3, "ADDED")

    assert telling.finish() == [
        f"{CLAIM} was created 2 times; without faults once",
        f"{CLAIM} was deleted once; without faults never",
    ]
    assert [violation.records for violation in telling.violations] == [(first.number, again.number), (gone.number,)]


def test_a_user_can_allow_more() -> None:
    telling = Telling(Churn(REFERENCE, extra=1))
    for verb in ("ADDED", "DELETED", "ADDED"):
        telling.write("manager", CLAIM, 1, verb)

    assert telling.finish() == []


def test_changes_are_not_counted() -> None:
    telling = Telling(Churn(REFERENCE))
    for _ in range(9):
        telling.write("manager", CLAIM, 1, "MODIFIED")

    assert telling.finish() == []


def test_generated_names_have_no_slack_in_a_run_without_faults() -> None:
    telling = Telling(Churn(REFERENCE))
    make(telling, 4)

    assert telling.finish() == ["pods/default/web-* was created 4 times; without faults 3 times"]


def test_generated_names_have_as_much_again_for_each_fault() -> None:
    allowed, too_many = Telling(Churn(REFERENCE)), Telling(Churn(REFERENCE))
    for telling, count in ((allowed, 6), (too_many, 7)):
        telling("manager", "fault", detail="crash(manager,write=1)")
        make(telling, count)

    assert allowed.finish() == []
    assert too_many.finish() == ["pods/default/web-* was created 7 times; without faults 3 times"]


def test_events_leases_and_what_the_user_leaves_out_are_not_counted() -> None:
    telling = Telling(Churn(REFERENCE, left_out=("pods/*",)))
    make(telling, 9)
    telling.write("manager", "events/default/a.1", 1, "ADDED")

    assert telling.finish() == []


def test_the_run_without_faults_counts_for_the_others() -> None:
    telling = Telling(Churn())
    make(telling, 2)
    telling.write("manager", "pods/default/web-bbbbb", 9, "DELETED")
    oracle = telling.oracle

    assert telling.finish() == []
    assert isinstance(oracle, Churn)
    assert (oracle.made, oracle.removed) == ({"pods/default/web-*": 2}, {"pods/default/web-*": 1})
