"""The fault injector: by name at a chosen moment, by rate with a seed, and noted in both cases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinformer.simulation.faults import RATES, Faults, FaultsError, Injector
from kinformer.simulation.plan import (
    Conflict,
    Crash,
    Cut,
    Delay,
    Deviation,
    Hide,
    Pause,
    Plan,
    Refuse,
    Restart,
    RestartServer,
    Silent,
)

EVERYTHING = Faults.only(**dict.fromkeys(RATES, 0.2), most=1000)


def run(injector: Injector, length: int = 200) -> Iterator[tuple[Deviation, ...]]:
    """A run of always the same points."""
    for number in range(length):
        actor = f"manager-{number % 2}"
        yield injector.request(actor, ("list", "watch", "create", "get")[number % 4])
        yield injector.before_user_write([actor])
        yield injector.before_write(actor)
        yield injector.change()
        yield injector.after_write(actor)
        yield injector.event(actor, f"pods/default/web-{number % 3}")


def test_a_planned_deviation_happens_at_its_moment_and_no_other() -> None:
    injector = Injector(Plan(1, (Crash("manager", 2, "lost"),)))

    assert [injector.after_write("manager") for _ in range(4)] == [(), (Crash("manager", 2, "lost"),), (), ()]


def test_each_process_has_its_own_counts() -> None:
    injector = Injector(Plan(1, (Crash("b", 1),)))

    assert injector.after_write("a") == ()
    assert injector.after_write("b") == (Crash("b", 1),)


def test_events_are_counted_by_object_by_resource_and_in_all() -> None:
    hide, silent, delay = Hide("m", "pods/default/b", 2), Silent("m", "pods", 3), Delay("m", event=5)
    injector = Injector(Plan(1, (hide, silent, delay)))

    found = [
        injector.event("m", name) for name in ("pods/default/a", "pods/default/b", "nodes/n", "pods/default/b", "x/y")
    ]

    assert found == [(), (), (), (hide, silent), (delay,)]


def test_tries_to_write_are_counted_apart_from_writes() -> None:
    injector = Injector(Plan(1, (Conflict("m", 2), Pause("m", 1))))

    assert (injector.before_write("m"), injector.before_write("m")) == ((), (Conflict("m", 2),))
    assert injector.after_write("m") == (Pause("m", 1),)


def test_several_deviations_can_have_one_moment() -> None:
    both = (Pause("m", 1), Crash("m", 1))

    assert Injector(Plan(1, both)).after_write("m") == both


def test_without_rates_nothing_happens_that_is_not_planned() -> None:
    injector = Injector(Plan(1, (RestartServer(7),)))

    assert [deviation for found in run(injector) for deviation in found] == [RestartServer(7)]


@settings(max_examples=30)
@given(st.integers(0, 2**64 - 1))
def test_what_was_drawn_happens_again_without_rates(seed: int) -> None:
    drawn = Injector(Plan(seed), EVERYTHING)
    first = list(run(drawn))

    replayed = Injector(Plan.parse(str(drawn.plan_as_it_happened)))

    assert list(run(replayed)) == first
    assert replayed.plan_as_it_happened == drawn.plan_as_it_happened


def test_one_seed_draws_the_same_and_another_something_else() -> None:
    assert list(run(Injector(Plan(1), EVERYTHING))) == list(run(Injector(Plan(1), EVERYTHING)))
    assert list(run(Injector(Plan(1), EVERYTHING))) != list(run(Injector(Plan(2), EVERYTHING)))


def test_planned_deviations_happen_among_those_that_are_drawn() -> None:
    planned = Hide("manager-0", "pods/default/web-0", 3)
    injector = Injector(Plan(1, (planned,)), EVERYTHING)

    list(run(injector))

    assert planned in injector.happened
    assert len(injector.happened) > 1


@pytest.mark.parametrize("name", RATES)
def test_each_rate_brings_about_its_kind_alone(name: str) -> None:
    injector = Injector(Plan(1), Faults.only(**{name: 1.0}, most=50))

    list(run(injector))

    assert {type(deviation).__name__.lower() for deviation in injector.happened} == {name.replace("_", "")}


def test_faults_end_after_as_many_as_are_allowed() -> None:
    injector = Injector(Plan(1), replace(EVERYTHING, most=3))
    assert not injector.is_over

    list(run(injector))

    assert len(injector.happened) == 3
    assert injector.is_over


def test_a_plan_is_over_when_all_of_it_has_happened() -> None:
    injector = Injector(Plan(1, (Pause("m", 1),)))
    assert not injector.is_over

    injector.after_write("m")

    assert injector.is_over


def test_nothing_goes_wrong_after_a_stop() -> None:
    injector = Injector(Plan(1, (Pause("m", 1),)), EVERYTHING)

    injector.stop()

    assert injector.is_over
    assert not any(run(injector))


def test_each_seed_of_a_swarm_leaves_kinds_out() -> None:
    swarm = replace(EVERYTHING, swarm=True)
    kinds = set()
    for seed in range(20):
        injector = Injector(Plan(seed), swarm)
        list(run(injector))
        kinds.add(frozenset(type(deviation) for deviation in injector.happened))

    assert len(kinds) > 5
    # All are in one of them.
    assert len(frozenset().union(*kinds)) == len(RATES)


def test_a_connection_breaks_after_a_write_only_where_there_was_one() -> None:
    injector = Injector(Plan(1), Faults.only(cut=1.0, most=100))

    for _ in range(40):
        (read,) = injector.request("m", "list")
        (write,) = injector.request("m", "create")
        assert isinstance(read, Cut)
        assert isinstance(write, Cut)
        assert read.where in ("before", "in_line")
        assert write.where in ("before", "after_write")


def test_history_is_gone_only_for_lists_and_watches() -> None:
    injector = Injector(Plan(1), Faults.only(refuse=1.0, most=100))
    codes: dict[str, set[int]] = {"watch": set(), "update": set()}

    for verb, found in codes.items():
        for _ in range(50):
            (refusal,) = injector.request("m", verb)
            assert isinstance(refusal, Refuse)
            found.add(refusal.code)

    assert 410 in codes["watch"]
    assert codes["update"] == {429, 500, 503}


def test_a_replica_is_never_further_behind_than_there_were_changes() -> None:
    injector = Injector(Plan(1), Faults.only(restart=1.0, most=100))
    versions = []
    for number in range(1, 50):
        injector.change()
        (restart,) = injector.after_write("m")
        assert isinstance(restart, Restart)
        assert -number <= restart.version <= -1
        versions.append(restart.version)

    assert min(versions) < -10


@pytest.mark.parametrize("length", [5, 1000])
@pytest.mark.parametrize("swarm", [True, False])
def test_rates_can_be_spread_over_a_run_of_any_length(length: int, swarm: bool) -> None:
    counting = Injector(Plan(0))
    list(run(counting, length))
    faults = replace(Faults(), most=1000, swarm=swarm).spread(counting.counts)
    happened = []
    for seed in range(50):
        injector = Injector(Plan(seed), faults)
        list(run(injector, length))
        happened.append(len(injector.happened))

    assert 1.5 < sum(happened) / len(happened) < 2.5


def test_what_has_no_rate_gets_none_by_spreading() -> None:
    counting = Injector(Plan(0))
    list(run(counting, 5))

    assert Faults.only(hide=0.001).spread(counting.counts).crash == 0
    assert Faults.only().spread(counting.counts) == Faults.only()


def test_a_fault_that_does_not_exist_is_named() -> None:
    with pytest.raises(FaultsError, match=r"no fault 'crush': there are crash, restart"):
        Faults.only(crush=0.1)


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_a_rate_is_a_probability(rate: float) -> None:
    with pytest.raises(FaultsError, match="the rate of cut is from 0 to 1"):
        Faults(cut=rate)
