"""What watches and lists of real servers got wrong: informers tell no handler an impossible history, and converge.

Each error is found by an oracle if informers believe the server as client-go does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kinformer.cache.intake import Intake
from kinformer.cache.reflector import Reflector
from kinformer.models import V1ConfigMap
from kinformer.simulation import Outcome, Plan, World
from kinformer.simulation.explore import systematic
from kinformer.simulation.plan import Lag, Postpone, Repeat, Stale
from kinformer.simulation.trial import Trial
from tests.simulation.tiny import APP, make_mended


async def scenario(world: World) -> None:
    """An object is changed, is deleted, and is made again under the same name."""
    world.manager(make_mended)
    await world.apply(APP)
    await world.settled()
    await world.patch(V1ConfigMap, "web", {"data": {"a": "b"}})
    await world.delete(V1ConfigMap, "web")
    await world.sleep(2)
    await world.apply(APP)
    await world.settled()


def test_no_single_error_of_a_watch_or_list_confuses_informers() -> None:
    kinds = ["hide", "repeat", "postpone", "stale", "lag"]

    report = systematic(Trial(scenario), kinds=kinds, most=2)

    assert report.is_clean, report.failures[0]
    assert set(report.happened) == {kind.capitalize() for kind in kinds}


def believe_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_order(self: Intake[Any], batch: Sequence[Any]) -> bool:
        return True

    monkeypatch.setattr(Intake, "_is_in_order", in_order)


def believe_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    def stale(self: Reflector[Any], version: str) -> bool:
        return False

    monkeypatch.setattr(Reflector, "_is_stale", stale)


@pytest.mark.parametrize(
    ("deviation", "believe"),
    [
        (Repeat("manager", "configmaps/default/web", 4, 5.0), believe_watches),
        (Postpone("manager", "configmaps/default/web", 4), believe_watches),
        (Stale("manager", "configmaps", 5, -3), believe_lists),
    ],
    ids=["repeat", "postpone", "stale"],
)
def test_what_is_noticed_leads_to_a_list_and_no_impossible_history(
    deviation: Any, believe: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    trial, plan = Trial(scenario), Plan(0, (deviation,))
    outcome = trial.play(plan)
    assert outcome.is_clean
    assert _lists_in(outcome) > _lists_in(trial.undisturbed)

    believe(monkeypatch)

    assert {violation.oracle for violation in trial.play(plan).violations} >= {"handlers"}


def test_after_a_lag_over_a_deletion_a_new_object_is_an_update() -> None:
    outcome = Trial(scenario).play(Plan(0, (Lag("manager", 3, 2),)))

    assert outcome.is_clean
    assert _told_of_web(outcome) == {"add", "update"}


async def slow_scenario(world: World) -> None:
    world.manager(make_mended)
    await world.apply(APP)
    await world.settled()
    await world.patch(V1ConfigMap, "web", {"data": {"a": "b"}})
    await world.sleep(15)
    await world.delete(V1ConfigMap, "web")
    await world.sleep(10)
    await world.apply(APP)
    await world.settled()


def test_the_timer_of_a_lag_ends_no_later_lag() -> None:
    plan = Plan(0, (Lag("manager", 2, 1, seconds=20), Lag("manager", 3, 2)))

    assert _told_of_web(Trial(slow_scenario).play(plan)) == {"add", "update"}


def _told_of_web(outcome: Outcome) -> set[str]:
    """The kinds of events of the ConfigMap that reached handlers."""
    return {
        record.detail.partition(" ")[0]
        for record in outcome.history
        if record.what == "event" and record.object == "configmaps/default/web"
    }


def _lists_in(outcome: Outcome) -> int:
    """How often the manager has asked for a list or a watch."""
    return sum(record.what == "request" and record.detail in ("list", "watch") for record in outcome.history)
