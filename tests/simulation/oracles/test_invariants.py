"""The user's own conditions."""

from __future__ import annotations

from kinformer.simulation.oracles import State
from kinformer.simulation.oracles.invariants import Invariants
from tests.simulation.oracles.telling import Telling, pod


def at_most_one_pod(state: State) -> None:
    pods = len(state.objects())
    if pods > 1:
        raise AssertionError(f"there are {pods} pods")


def test_a_condition_that_always_holds_is_silent() -> None:
    oracle = Invariants()
    oracle.assert_always(at_most_one_pod)
    telling = Telling(oracle)
    telling.write("manager", "pods/default/a", 1, "ADDED", pod("a"))

    assert telling.finish() == []


def test_the_write_that_breaks_a_condition_is_told_once() -> None:
    oracle = Invariants()
    oracle.assert_always(at_most_one_pod)
    telling = Telling(oracle)
    telling.write("manager", "pods/default/a", 1, "ADDED", pod("a"))
    breaking = telling.write("manager", "pods/default/b", 2, "ADDED", pod("b"))
    telling.write("manager", "pods/default/c", 3, "ADDED", pod("c"))

    (text,) = telling.finish()
    assert text.startswith("at_most_one_pod (test_invariants.py:")
    assert text.endswith("does not hold after manager wrote pods/default/b: there are 2 pods")
    assert telling.violations[0].records == (breaking.number,)


def test_a_condition_may_break_in_between_if_it_holds_finally() -> None:
    oracle = Invariants()
    oracle.assert_eventually(at_most_one_pod)
    telling = Telling(oracle)
    telling.write("manager", "pods/default/a", 1, "ADDED", pod("a"))
    telling.write("manager", "pods/default/b", 2, "ADDED", pod("b"))
    telling.write("manager", "pods/default/b", 3, "DELETED")

    assert telling.finish() == []


def test_a_condition_that_does_not_hold_in_the_end_is_told() -> None:
    oracle = Invariants()
    oracle.assert_eventually(lambda state: state.get("pods/default/a") is not None)
    telling = Telling(oracle)

    (text,) = telling.finish()
    assert text.startswith("the invariant (test_invariants.py:")
    assert text.endswith("does not hold in the end")


def test_a_condition_that_raises_does_not_hold() -> None:
    oracle = Invariants()
    oracle.assert_eventually(lambda state: state.objects()["x"])

    (text,) = Telling(oracle).finish()
    assert text.endswith("does not hold in the end: it raised KeyError: 'x'")


def test_a_condition_that_returns_nothing_holds() -> None:
    oracle = Invariants()
    oracle.assert_eventually(lambda state: None)

    assert Telling(oracle).finish() == []
