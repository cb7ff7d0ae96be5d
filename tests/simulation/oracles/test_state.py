"""Oracles of the end: each has a run in which it speaks up, and one in which it does not."""

from __future__ import annotations

from kinformer.simulation.oracles import Reference, Store
from kinformer.simulation.oracles.normal import normal_form
from kinformer.simulation.oracles.state import FinalState, Leftovers, Quiet, StoresAgree
from tests.simulation.oracles.telling import Telling, generated, pod

REFERENCE = Reference(normal_form({"x/default/web": pod("web", replicas=3)}))


def test_a_final_state_as_without_faults_is_right() -> None:
    telling = Telling(FinalState(REFERENCE))
    telling.write("manager", "x/default/web", 2, obj=pod("web", replicas=3))

    assert telling.finish() == []


def test_another_final_state_is_told_with_the_write_that_made_it() -> None:
    telling = Telling(FinalState(REFERENCE))
    telling.write("manager", "x/default/web", 2, obj=pod("web", replicas=3))
    wrong = telling.write("manager", "x/default/web", 3, obj=pod("web", replicas=2))

    assert telling.finish() == ["x/default/web: spec.replicas is 2; without faults it is 3"]
    assert telling.violations[0].records == (wrong.number,)


def test_the_writes_of_generated_objects_are_shown_all() -> None:
    telling = Telling(FinalState(Reference({})))
    first = telling.write("manager", "pods/default/web-bbbbb", 1, "ADDED", generated("web-", "bbbbb"))
    second = telling.write("manager", "pods/default/web-ccccc", 2, "ADDED", generated("web-", "ccccc"))

    telling.finish()

    assert telling.violations[0].records == (first.number, second.number)


def test_rest_before_the_end_is_quiet() -> None:
    telling = Telling(Quiet(30))
    telling.write("manager", "x/default/web", 2)
    telling.time = 40

    assert telling.finish() == []


def test_what_is_still_written_at_the_end_is_told_by_how_often() -> None:
    telling = Telling(Quiet(30), time=100)
    for version in range(1, 5):
        telling.write("manager", "pods/default/web-0", version, ("ADDED", "DELETED")[version % 2])
    telling.time = 101

    (text,) = telling.finish()
    assert text.startswith("there is no rest, 30 s before the end: manager deleted pods/default/web-0 2 times")
    assert text.endswith(", manager created pods/default/web-0 2 times")
    assert telling.violations[0].records == (0, 1, 2, 3)


def test_what_the_scenario_and_elections_write_is_no_unrest() -> None:
    telling = Telling(Quiet(30))
    telling.write("user", "x/default/web", 2)
    telling.write("manager", "leases.coordination.k8s.io/kube-system/manager", 3)
    telling.write("manager", "events/default/web.1", 4)

    assert telling.finish() == []


def test_a_run_that_was_ended_by_its_limit_is_not_quiet() -> None:
    assert Telling(Quiet(30), time=3600).finish(settled=False) == ["the run did not settle in 3600 s"]


def test_a_run_that_did_not_settle_tells_which_process_kept_ending() -> None:
    telling = Telling(Quiet(30), time=60)
    for _ in range(3):
        telling("operator", "ended", detail="ImportError('pykube')")

    (text,) = telling.finish(settled=False)
    assert text == "the run did not settle in 60 s: operator ended 3 times: ImportError('pykube')"


def test_stores_that_hold_what_the_server_has_agree() -> None:
    held = {"pods/default/a": 4}

    assert Telling(StoresAgree()).finish(stores=[Store("manager", "pods", held, dict(held))]) == []


def test_each_object_that_a_store_has_otherwise_is_told() -> None:
    held = {"pods/default/a": 4, "pods/default/b": 5, "pods/default/c": 6}
    served = {"pods/default/a": 4, "pods/default/b": 9, "pods/default/d": 7}

    assert Telling(StoresAgree()).finish(stores=[Store("manager", "pods", held, served)]) == [
        "the informer pods of manager has pods/default/b at version 5, the server at 9",
        "the informer pods of manager still has pods/default/c, which is gone",
        "the informer pods of manager lacks pods/default/d",
    ]


def test_a_run_without_leftovers_is_clean() -> None:
    assert Telling(Leftovers()).finish() == []


def test_tasks_and_exceptions_that_are_left_are_told() -> None:
    assert Telling(Leftovers()).finish(tasks=["worker-1"], exceptions=["KeyError: 'x'"]) == [
        "a task was left behind: worker-1",
        "nobody handled KeyError: 'x'",
    ]
