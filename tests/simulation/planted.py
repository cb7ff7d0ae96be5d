"""Kinds of mistakes that operators make, each planted in a small controller, with a mended twin.

The controllers are in :mod:`tests.simulation.mistaken`, in the tests of ``away``, among the public bugs, and in
:mod:`tests.simulation.tiny`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from kinformer.manager import Controller
from kinformer.simulation.trial import Trial
from tests.simulation import mistaken, test_away
from tests.simulation.mistaken import COUNT, EXPIRED, NUMBER
from tests.simulation.tiny import broken_scenario, mended_scenario
from tests.simulation.worlds import trial_of_bug

__all__ = ("LOCAL_TIME", "PLANTED", "Planted")


@dataclass(frozen=True, slots=True)
class Planted:
    """
    A kind of mistake.

    :param name: what the mistake is
    :param found: the single fault that shows it first, of the kind that its first word names
    :param says: what the oracles say of it
    :param broken: makes the trial of the controller that has it
    :param mended: makes the trial of its twin
    """

    name: str
    found: str
    says: str
    broken: Callable[[], Trial]
    mended: Callable[[], Trial]

    @property
    def kind(self) -> str:
        """The kind of the single faults that show it."""
        return self.found.partition("(")[0]

    def __str__(self) -> str:
        return self.name


def _planted(
    name: str,
    found: str,
    says: str,
    scenario: Callable[..., Any],
    make: Callable[..., Controller],
    **mistake: Any,
) -> Planted:
    broken, mended = partial(make, **mistake), make
    return Planted(
        name,
        found,
        says,
        lambda: Trial(partial(scenario, factory=broken)),
        lambda: Trial(partial(scenario, factory=mended)),
    )


_MAP = "configmaps/default/web"
_EXPIRED_EARLY = f'{_MAP}: metadata.annotations[{EXPIRED}] is "true"; without faults it is not there'

PLANTED = (
    Planted(
        "a clean-up on deletion events alone",
        "away(manager,before=2)",
        "secrets/default/web: is there, and is not without faults",
        lambda: Trial(test_away.broken_scenario),
        lambda: Trial(test_away.mended_scenario),
    ),
    _planted(
        "a generated name made twice",
        "restart(manager,write=1,version=-1)",
        "secrets/default/web-*: there are 2 of them, and 1 without faults",
        mistaken.one_app,
        mistaken.make_secrets,
        generates=True,
    ),
    _planted(
        "a counter and its note in two writes",
        "crash(manager,write=1)",
        f'{_MAP}: metadata.annotations[{COUNT}] is "2"; without faults it is "1"',
        mistaken.one_app,
        mistaken.make_counter,
        in_two_steps=True,
    ),
    _planted(
        "an update lost by put",
        "hide(manager,configmaps/default/web,event=3)",
        f'{_MAP}: data is missing; without faults it is {{"color": "blue"}}',
        mistaken.counted,
        mistaken.make_tally,
        forgets_version=True,
    ),
    _planted(
        "a finalizer taken off too early",
        "crash(manager,write=3)",
        "secrets/default/web: is there, and is not without faults",
        mistaken.made_and_deleted,
        mistaken.make_finalized,
        lets_go_first=True,
    ),
    _planted(
        "a retry forgotten",
        "cut(manager,request=8)",
        f"{_MAP}: is there, and is not without faults",
        mistaken.made_and_deleted,
        mistaken.make_finalized,
        swallows_errors=True,
    ),
    _planted(
        "a time by the wall clock",
        "jump(manager,write=1)",
        _EXPIRED_EARLY,
        mistaken.watched,
        mistaken.make_watchman,
        clock="wall",
    ),
    Planted(
        "what is owned found by name",
        "restart(operator-1,write=6,version=-4)",
        "Kept does not hold after operator-1 wrote statefulsets.apps/default/rabbit: "
        "rabbit is gone, which RabbitmqCluster rabbit asks for",
        lambda: trial_of_bug("cluster-operator-648", is_mended=False),
        lambda: trial_of_bug("cluster-operator-648", is_mended=True),
    ),
    Planted(
        "a note written before the work",
        "crash(manager,write=1)",
        "configmaps/default/web-child: is missing",
        lambda: Trial(broken_scenario),
        lambda: Trial(mended_scenario),
    ),
    _planted(
        "a cache read after an own write",
        "hide(manager,configmaps/default/a,event=1)",
        f'configmaps/default/a: metadata.annotations[{NUMBER}] is "2"; without faults it is "1"',
        mistaken.two_apps,
        mistaken.make_numbers,
        from_cache=True,
    ),
)

#: One more, which the long search does not play.
LOCAL_TIME = _planted(
    "a time in a local zone",
    "zone(manager,write=1)",
    _EXPIRED_EARLY,
    mistaken.watched,
    partial(mistaken.make_watchman, clock="note"),
    zone=None,
)
