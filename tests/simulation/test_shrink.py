"""Shrinking: the smallest plan that still fails."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.simulation.plan import Conflict, Crash, Cut, Delay, Deviation, Hide, Jump, Pause, Plan, Restart
from kinformer.simulation.shrink import shrink, smaller

CRASHES: tuple[Deviation, ...] = tuple(Crash("manager", number) for number in range(1, 21))


def test_deviations_that_do_not_matter_are_taken_out() -> None:
    needed = {Crash("manager", 3), Crash("manager", 17)}

    shrunk = shrink(Plan(0, CRASHES), lambda plan: needed <= set(plan.deviations))

    assert shrunk.plan == Plan(0, (Crash("manager", 3), Crash("manager", 17)))
    assert shrunk.complete


@given(st.sets(st.sampled_from(CRASHES), max_size=5))
def test_what_remains_is_needed_all_of_it(needed: set[Deviation]) -> None:
    shrunk = shrink(Plan(0, CRASHES), lambda plan: needed <= set(plan.deviations))

    assert set(shrunk.plan.deviations) == needed
    assert shrunk.tries <= 200


@given(st.sets(st.builds(Crash, st.just("m"), st.integers(1, 20)), min_size=1, max_size=12), st.integers(0, 2**16))
def test_the_result_fails_and_needs_each_of_its_deviations(chosen: set[Deviation], salt: int) -> None:
    def fails(plan: Plan) -> bool:
        """Some test that has no order in it: adding a deviation can make it pass again."""
        return bool(plan.deviations) and sum(d.write * salt for d in plan.deviations) % 3 == salt % 3

    plan = Plan(0, tuple(sorted(chosen, key=str)))
    if not fails(plan):
        return

    found = shrink(plan, fails).plan

    assert fails(found)
    assert not any(fails(found.without(deviation)) for deviation in found.deviations)


def test_a_failure_without_any_fault_shrinks_to_the_bare_seed() -> None:
    shrunk = shrink(Plan(7, CRASHES), lambda plan: plan.seed == 7)

    assert shrunk.plan == Plan(7)


def test_the_seed_becomes_zero_where_the_order_does_not_matter() -> None:
    assert shrink(Plan(7, CRASHES[:1]), lambda plan: CRASHES[0] in plan.deviations).plan.seed == 0


def test_numbers_become_smaller() -> None:
    def fails(plan: Plan) -> bool:
        return any(isinstance(d, Restart) and d.version <= -3 and d.write >= 2 for d in plan.deviations)

    assert shrink(Plan(0, (Restart("manager", 9, -40),)), fails).plan == Plan(0, (Restart("manager", 2, -3),))


def test_a_deviation_that_a_smaller_number_makes_needless_goes_too() -> None:
    def fails(plan: Plan) -> bool:
        """A long pause needs the conflict as well, a short one does not."""
        pauses = [d for d in plan.deviations if isinstance(d, Pause)]
        return bool(pauses) and (pauses[0].seconds < 60 or Conflict("manager", 1) in plan.deviations)

    plan = Plan(0, (Conflict("manager", 1), Pause("manager", 1, 300)))

    assert shrink(plan, fails).plan == Plan(0, (Pause("manager", 1, 1.0),))


def test_a_lost_answer_becomes_a_delivered_one_where_both_fail() -> None:
    assert shrink(Plan(0, (Crash("m", 1, "lost"),)), lambda plan: bool(plan.deviations)).plan.deviations == (
        Crash("m", 1),
    )


def test_no_plan_is_played_twice() -> None:
    played: list[str] = []

    def fails(plan: Plan) -> bool:
        played.append(str(plan))
        return Crash("manager", 11) in plan.deviations

    shrink(Plan(5, CRASHES), fails)

    assert len(played) == len(set(played))


def test_it_ends_after_the_allowed_plans_with_the_best_one() -> None:
    shrunk = shrink(Plan(0, CRASHES), lambda plan: CRASHES[4] in plan.deviations, most=3)

    assert shrunk.tries == 3
    assert not shrunk.complete
    assert CRASHES[4] in shrunk.plan.deviations
    assert len(shrunk.plan.deviations) < len(CRASHES)


@pytest.mark.parametrize(
    "deviation",
    [
        Crash("m", 40, "lost"),
        Cut("m", 9, "in_line", 4),
        Delay("m", request=4, seconds=20),
        Delay("m", event=4, seconds=20),
        Hide("m", "pods/default/a", 5),
        Jump("m", 3, -7200),
        Restart("m", 5, -7),
    ],
    ids=str,
)
def test_smaller_deviations_come_to_an_end(deviation: Deviation) -> None:
    seen = {deviation}
    while True:
        found = next((d for d in smaller(deviation)), None)
        if found is None:
            break
        assert type(found) is type(deviation)
        assert found not in seen
        seen.add(found)
        deviation = found

    assert len(seen) > 1
