"""Trials of public bugs and of controllers: scenarios that other processes can import, and how they are judged."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.simulation.oracles import Checks
from kinformer.simulation.trial import Trial
from kinformer.simulation.world import World, WorldOptions
from tests.golden.controllers import apis_for
from tests.simulation.bugs import BUGS
from tests.simulation.bugs.base import User
from tests.simulation.controllers.behind import BEHIND
from tests.simulation.controllers.case import Case, loops_beside, told
from tests.simulation.controllers.catalogue import CASES
from tests.simulation.controllers.steps import play

__all__ = ("trial_of_bug", "trial_of_case")


@dataclass(frozen=True, slots=True)
class _OfBug:
    """A user asks for custom resources, and an operator with a public bug, or its mended twin, does what they say."""

    bug: str
    is_mended: bool

    async def __call__(self, world: World) -> None:
        bug = next(bug for bug in BUGS if str(bug) == self.bug)
        operator = bug.mended if self.is_mended else bug.broken
        user = User(world)
        await user.define(operator.definition())
        for number in range(1, operator.REPLICAS + 1):
            world.manager({"operator": operator.make_controller}, f"operator-{number}")
        await bug.scenario(user)


@dataclass(frozen=True, slots=True)
class _OfCase:
    """Controllers of this project do what the steps of a case ask for."""

    case: str

    async def __call__(self, world: World) -> None:
        case = _case_named(self.case)
        case.begin(world)
        world.manager(case.controllers, options={**told(case.controllers), **case.options})
        await play(world, case.steps)


def trial_of_bug(bug: str, *, is_mended: bool) -> Trial:
    """
    :param bug: its name in :data:`tests.simulation.bugs.BUGS`
    """
    found = next(each for each in BUGS if str(each) == bug)
    return Trial(_OfBug(bug, is_mended), Checks(may_differ=found.may_differ))


def trial_of_case(case: str) -> Trial:
    """
    :param case: its name in ``CASES`` of :mod:`tests.simulation.controllers.catalogue`, or in ``BEHIND``
    """
    found = _case_named(case)
    options = WorldOptions(loops=loops_beside(found.controllers), quiet=found.quiet, apis=apis_for(found.controllers))
    checks = Checks(
        may_differ=found.may_differ, churn_left_out=found.churn_left_out, extra_generated=found.extra_generated
    )
    return Trial(_OfCase(case), checks, options)


def _case_named(name: str) -> Case:
    return next(case for case in (*CASES, *BEHIND) if case.name == name)
