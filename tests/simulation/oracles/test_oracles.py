"""All oracles together, as a run has them."""

from __future__ import annotations

import pickle

import pytest

from kinformer.simulation.history import WHATS, History
from kinformer.simulation.oracles import ORACLES, Checks, Ending, Oracles, PatternError, Reference, Store
from tests.simulation.oracles.telling import FixedState, pod

STATE = FixedState({"x/default/web": pod("web")})
WRONG = Ending(
    time=10.0,
    state=STATE,
    settled=False,
    stores=[Store("manager", "x", {}, {"x/default/web": 1})],
    tasks=["a task"],
)


def violated(checks: Checks) -> set[str]:
    """Which oracles speak up at the end of a run in which much is wrong."""
    oracles = Oracles(checks, Reference({}))
    history = History()
    history.listeners.append(lambda record: oracles.record(record, STATE))
    oracles.assert_always(lambda state: False)
    history.append(0, "manager", "write", "x/default/web", 1, "ADDED")
    for _ in range(2):
        history.append(0, "manager", "sync", "default/web", detail="web")
    history.append(0, "manager", "synced", "default/web", detail="web KeyError: 1")
    history.append(0, "manager", "event", "x/default/web", 1, "delete h")
    return {violation.oracle for violation in oracles.finish(WRONG)}


EXPECTED = set(ORACLES) - {"leader", "steps", "scenario"}


def test_all_are_on_by_default() -> None:
    assert violated(Checks()) == EXPECTED


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_each_can_be_left_out(name: str) -> None:
    assert violated(Checks(without=[name])) == EXPECTED - {name}


def test_what_is_found_again_and_again_is_reported_once() -> None:
    ending = Ending(time=10.0, state=STATE, exceptions=["KeyError: 'x'"] * 3)

    assert [str(each) for each in Oracles(Checks()).finish(ending)] == ["leftovers: nobody handled KeyError: 'x'"]


def test_an_oracle_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match="there is no oracle 'queit': there are final-state, quiet"):
        Checks(without=["queit"])


def test_a_pattern_is_read_before_any_run() -> None:
    with pytest.raises(PatternError, match="'status'"):
        Checks(may_differ=["status"])


def test_oracles_listen_to_records_that_exist() -> None:
    assert set(Oracles(Checks(), Reference({}))._listening) <= WHATS


def test_the_run_without_faults_is_what_others_are_compared_with() -> None:
    first = Oracles(Checks())
    history = History()
    history.listeners.append(lambda record: first.record(record, STATE))
    history.append(0, "manager", "write", "x/default/web", 1, "ADDED")
    ending = Ending(time=100.0, state=STATE)
    assert first.finish(ending) == []

    reference = pickle.loads(pickle.dumps(first.reference(ending.state.objects())))

    assert reference.made == {"x/default/web": 1}
    assert Oracles(Checks(), reference).finish(ending) == []
    other = Oracles(Checks(), reference).finish(Ending(time=100.0, state=FixedState()))
    assert [str(violation) for violation in other] == ["final-state: x/default/web: is missing"]
