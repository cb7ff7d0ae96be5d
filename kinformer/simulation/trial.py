"""A trial: one scenario that can be played under any plan, and what its runs are measured by.

A scenario goes in, and each call of :meth:`Trial.play` runs it in a world of its own, watched by the oracles. What
comes out says which plan it was, what is wrong, and everything that happened. The run without deviations is played
first, once. It is the reference that the others are compared with. If it is wrong itself, no fault is needed to see the
bug.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kinformer.simulation.faults import Faults
from kinformer.simulation.history import History
from kinformer.simulation.loop import Deadlock, Livelock
from kinformer.simulation.oracles import Checks, Reference, Violation
from kinformer.simulation.plan import Plan
from kinformer.simulation.world import NotSettled, RunResult, Scenario, WorldOptions, run_world

__all__ = ("Outcome", "ScenarioError", "Trial")


class ScenarioError(Exception):
    """The scenario itself cannot be played: it fails without any fault, and not by an assertion."""


@dataclass(frozen=True)
class Outcome:
    """
    What came of one run.

    :param plan: what happened in it, in full: it does the same again without rates
    :param counts: how often each point was passed at which something can go wrong
    :param seconds: of virtual time
    """

    plan: Plan
    violations: Sequence[Violation]
    history: History
    counts: Mapping[Hashable, int] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def is_clean(self) -> bool:
        return not self.violations


@dataclass(eq=False)
class Trial:
    """
    A scenario and what it is measured by.

    :param scenario: an async function that is given the world
    :param checks: which oracles are on, and how strict they are
    :param options: of the world
    """

    scenario: Scenario
    checks: Checks = field(default_factory=Checks)
    options: WorldOptions = field(default_factory=WorldOptions)

    @cached_property
    def _first(self) -> tuple[Outcome, Reference]:
        result = run_world(self.scenario, Plan(), options=self.options, checks=self.checks)
        error = result.error
        if error is not None and not isinstance(error, AssertionError | Deadlock | Livelock):
            raise ScenarioError(f"the scenario fails without any fault: {_one_line(error)}") from error
        return self._outcome(result), result.reference

    @property
    def undisturbed(self) -> Outcome:
        """
        The run without deviations.

        :raises ScenarioError: if the scenario cannot be played at all
        """
        return self._first[0]

    @property
    def reference(self) -> Reference:
        """
        What the run without deviations came to.

        :raises ScenarioError: if the scenario cannot be played at all
        """
        return self._first[1]

    def play(self, plan: Plan, faults: Faults | None = None) -> Outcome:
        """
        Run the scenario under a plan.

        :param faults: rates of what may go wrong besides
        :raises ScenarioError: if the scenario cannot be played at all
        """
        result = run_world(
            self.scenario, plan, faults=faults, options=self.options, checks=self.checks, reference=self.reference
        )
        return self._outcome(result)

    def _outcome(self, result: RunResult) -> Outcome:
        violations = (*self._of_scenario(result), *result.violations)
        return Outcome(result.plan, violations, result.history, dict(result.counts), result.seconds)

    def _of_scenario(self, result: RunResult) -> tuple[Violation, ...]:
        """A scenario's own assertion is an oracle as well. That nothing settles is said by another one."""
        if result.error is None or isinstance(result.error, NotSettled) or "scenario" in self.checks.without:
            return ()
        return (Violation("scenario", _one_line(result.error)),)


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, AssertionError) and text else f"{type(error).__name__}: {text}"
