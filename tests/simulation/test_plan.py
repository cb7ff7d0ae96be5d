"""Plans: the one line that replays a failure."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.simulation.plan import (
    DEVIATIONS,
    Away,
    Conflict,
    Crash,
    Cut,
    Delay,
    Deviation,
    Hide,
    Jump,
    Lag,
    Partition,
    Pause,
    Plan,
    PlanError,
    Postpone,
    Refuse,
    Repeat,
    Restart,
    RestartServer,
    Silent,
    Split,
    Stale,
    Upgrade,
    Zone,
)

LINES = {
    "seed=17 crash(manager,write=3,lost)": Crash("manager", 3, "lost"),
    "seed=17 crash(manager,write=3)": Crash("manager", 3),
    "seed=17 restart(manager,write=1,version=-4)": Restart("manager", 1, -4),
    "seed=17 hide(manager,pods/default/web-0,event=2)": Hide("manager", "pods/default/web-0", 2),
    "seed=17 cut(manager,request=9,after_write)": Cut("manager", 9, "after_write"),
    "seed=17 cut(manager,request=9,in_line,event=2)": Cut("manager", 9, "in_line", 2),
    "seed=17 refuse(manager,request=4,code=429,retry_after=7)": Refuse("manager", 4, 429, 7),
    "seed=17 delay(manager,event=4,seconds=2.5)": Delay("manager", event=4, seconds=2.5),
    "seed=17 silent(manager,deployments.apps,event=1,seconds=90)": Silent("manager", "deployments.apps", 1, 90),
    "seed=17 pause(manager-2,write=2)": Pause("manager-2", 2),
    "seed=17 jump(manager,write=2,seconds=-30)": Jump("manager", 2, -30),
    "seed=17 conflict(manager,write=2)": Conflict("manager", 2),
    "seed=17 split(manager,write=2,seconds=45)": Split("manager", 2, 45),
    "seed=17 partition(manager,write=2,seconds=45)": Partition("manager", 2, 45),
    "seed=17 away(manager,before=2,back=3)": Away("manager", 2, 3),
    "seed=17 lag(manager,before=2,back=3)": Lag("manager", 2, 3),
    "seed=17 repeat(manager,pods/default/web-0,event=2)": Repeat("manager", "pods/default/web-0", 2),
    "seed=17 postpone(manager,pods/default/web-0,event=2,seconds=9)": Postpone("manager", "pods/default/web-0", 2, 9),
    "seed=17 stale(manager,pods,event=2,version=-3)": Stale("manager", "pods", 2, -3),
    "seed=17 upgrade(manager,write=2)": Upgrade("manager", 2),
    "seed=17 zone(manager,write=3,hours=12)": Zone("manager", 3, 12.0),
    "seed=17 restartserver(change=12,kept)": RestartServer(12, "kept"),
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_names_a_plan(line: str) -> None:
    assert Plan.parse(line) == Plan(17, (LINES[line],))


@pytest.mark.parametrize("line", LINES)
def test_a_plan_prints_as_its_line(line: str) -> None:
    assert str(Plan(17, (LINES[line],))) == line


def test_each_kind_of_deviation_has_a_line_here() -> None:
    assert {type(deviation) for deviation in LINES.values()} == set(DEVIATIONS.values())


counts = st.integers(1, 10**6)
seconds = st.floats(1e-6, 1e9)
# Names of RBAC's objects may have blanks, commas and brackets in them.
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "version": st.integers(-(10**6), -1),
    "code": st.sampled_from([410, 429, 503]),
}


def _any(kind: type[Deviation]) -> st.SearchStrategy[Deviation]:
    if kind is Delay:
        return st.builds(Delay, names, counts, st.just(0), seconds) | st.builds(
            Delay, names, st.just(0), counts, seconds
        )
    own = {name: FIELDS.get(name, counts) for name in kind.__dataclass_fields__}
    own |= {name: names for name in ("actor", "object", "resource") if name in own}
    own |= {"seconds": seconds} if "seconds" in own else {}
    for name, choices in {
        "answer": ("delivered", "lost"),
        "where": ("before", "after_write", "in_line"),
        "history": ("kept", "gone"),
    }.items():
        if name in own:
            own[name] = st.sampled_from(choices)
    return st.builds(kind, **own)


deviations = st.one_of([_any(kind) for kind in DEVIATIONS.values()])


@given(st.integers(0, 2**64 - 1), st.lists(deviations, max_size=5))
def test_each_plan_is_what_its_line_says(seed: int, several: list[Deviation]) -> None:
    plan = Plan(seed, tuple(several))

    assert Plan.parse(str(plan)) == plan
    assert "\n" not in str(plan)


@given(st.text())
def test_any_text_is_a_plan_or_an_error_about_plans(text: str) -> None:
    try:
        plan = Plan.parse(text)
    except PlanError:
        return
    assert Plan.parse(str(plan)) == plan


MISTAKES = {
    "": "begins with seed=N",
    "seed=x": "the seed is a whole number, not 'x'",
    "seed=-1": "a seed is a whole number from 0",
    "seed=1 seed=2": "has one seed",
    "seed=1 crsh(manager,write=1)": "there is no deviation 'crsh': there are crash, restart, hide",
    "seed=1 crash": "neither seed=N nor a deviation",
    "seed=1 crash(manager)": "lacks write",
    "seed=1 crash(write=1)": "lacks actor",
    "seed=1 crash(manager,write=0)": "write is counted from 1, not 0",
    "seed=1 crash(manager,write=two)": "write of .* is a whole number, not 'two'",
    "seed=1 crash(manager,write=1,write=2)": "names write twice",
    "seed=1 crash(manager,write=1,maybe)": "'maybe' has no name; .*one of delivered, lost",
    "seed=1 crash(manager,write=1,answer=maybe)": "answer is one of delivered, lost, not 'maybe'",
    "seed=1 crash(manager,wirte=1)": "has no 'wirte': it takes actor, write, answer",
    "seed=1 crash(,write=1)": "actor must not be empty",
    "seed=1 restart(manager,write=1,version=4)": "how many changes the replica is behind",
    "seed=1 refuse(manager,request=1,code=200)": "the code is 410, 429 or 500 to 599, not 200",
    "seed=1 delay(manager)": "either a request or an event",
    "seed=1 delay(manager,request=1,event=1)": "either a request or an event",
    "seed=1 pause(manager,write=1,seconds=0)": "seconds must be a number above zero",
    "seed=1 pause(manager,write=1,seconds=nan)": "seconds must be a number above zero",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_an_error_names_the_word_that_is_wrong(line: str) -> None:
    with pytest.raises(PlanError, match=MISTAKES[line]):
        Plan.parse(line)


def test_a_plan_without_one_of_its_deviations_keeps_the_others_in_order() -> None:
    first, second, third = Crash("manager", 1), Pause("manager", 2), Conflict("manager", 3)

    assert Plan(1, (first, second, third)).without(second) == Plan(1, (first, third))
