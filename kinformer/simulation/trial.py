"""A trial: one scenario that can be played by any plan, and the oracles that judge its runs.

Each call of :meth:`Trial.play` runs the scenario in a new world, and the oracles watch it. The result has the plan, the
violations, and everything that happened. The run without deviations is played first, once. It is the reference with
which the other runs are compared. If this run has violations itself, no fault is needed to find the bug.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from kinformer.simulation.faults import Faults, Fork
from kinformer.simulation.history import History
from kinformer.simulation.loop import Deadlock, Livelock
from kinformer.simulation.oracles import Checks, Reference, Violation
from kinformer.simulation.plan import Plan
from kinformer.simulation.restarts import Form
from kinformer.simulation.world import NotSettled, RunResult, Scenario, WorldOptions, run_world

__all__ = ("Outcome", "ScenarioError", "Trial")


class ScenarioError(Exception):
    """The scenario fails without any fault, and not by an assertion. So it cannot be used for other runs."""


@dataclass(frozen=True)
class Outcome:
    """
    The result of one run.

    :param plan: the seed and all deviations that happened; this plan does the same without random faults
    :param violations: what is wrong
    :param history: everything that happened
    :param counts: how often each point was passed at which a fault can happen
    :param seconds: the virtual time that the run took
    :param look: finds out, by version, what each change has made: see :mod:`kinformer.simulation.restarts`
    """

    plan: Plan
    violations: Sequence[Violation]
    history: History
    counts: Mapping[Hashable, int] = field(default_factory=dict)
    seconds: float = 0.0
    look: Callable[[], Mapping[int, Form]] = dict

    @property
    def is_clean(self) -> bool:
        return not self.violations


@dataclass(eq=False)
class Trial:
    """
    A scenario, and how its runs are judged.

    :param scenario: an async function whose argument is the world
    :param checks: which oracles are on, and how strict they are
    :param options: the options of the world
    :param runs: plays a plan in another way than :func:`~kinformer.simulation.world.run_world` does, such as
        :func:`~kinformer.simulation.external.run_external` with its options; None for a simulated world
    """

    scenario: Scenario
    checks: Checks = field(default_factory=Checks)
    options: WorldOptions = field(default_factory=WorldOptions)
    runs: Callable[..., RunResult] | None = None

    def __post_init__(self) -> None:
        self._run = self.runs or partial(run_world, options=self.options)
        #: The seconds of CPU of the run without deviations, if they were measured.
        self.cost = math.inf

    @property
    def is_simulated(self) -> bool:
        """Whether its runs are in simulated worlds."""
        return self.runs is None

    @cached_property
    def _first(self) -> tuple[Outcome, Reference]:
        result = self._run(self.scenario, Plan(), checks=self.checks)
        error = result.error
        if error is not None and not isinstance(error, AssertionError | Deadlock | Livelock):
            raise ScenarioError(f"the scenario fails without any fault: {_one_line(error)}") from error
        return self._outcome(result), result.reference

    @property
    def undisturbed(self) -> Outcome:
        """
        The run without deviations.

        :raises ScenarioError: if this run fails, and not by an assertion
        """
        return self._first[0]

    @property
    def reference(self) -> Reference:
        """
        The data of the run without deviations with which other runs are compared.

        :raises ScenarioError: if this run fails, and not by an assertion
        """
        return self._first[1]

    def play(self, plan: Plan, faults: Faults | None = None, fork: Fork | None = None) -> Outcome:
        """
        Run the scenario by a plan.

        :param plan: the seed, and the deviations that always happen
        :param faults: the rates of further faults; None for no others
        :param fork: lets other plans branch off, in a simulated world only: see :mod:`kinformer.simulation.forks`
        :raises ScenarioError: if the run without deviations fails, and not by an assertion
        """
        more = {} if fork is None else {"fork": fork}
        result = self._run(self.scenario, plan, faults=faults, checks=self.checks, reference=self.reference, **more)
        return self._outcome(result)

    def _outcome(self, result: RunResult) -> Outcome:
        violations = (*self._of_scenario(result), *result.violations)
        return Outcome(result.plan, violations, result.history, dict(result.counts), result.seconds, result.look)

    def _of_scenario(self, result: RunResult) -> tuple[Violation, ...]:
        """
        The error of the scenario as a violation: its own assertions are an oracle, too.

        Another oracle reports that a run does not settle.
        """
        if result.error is None or isinstance(result.error, NotSettled) or "scenario" in self.checks.without:
            return ()
        return (Violation("scenario", _one_line(result.error)),)


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, AssertionError) and text else f"{type(error).__name__}: {text}"
