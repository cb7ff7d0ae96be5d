"""A seeded world: an API server and any number of managers in one process, in virtual time, with faults.

:func:`run_world` runs a scenario once, by a :class:`Plan`, in a :class:`World`. It is a plain function that runs an
event loop of its own, so it is called where no other one runs. :func:`simulate` makes a test of a scenario.
:func:`explore` and :func:`systematic` run one under many plans, and shrink what fails.

Each module's docstring says what it does.
"""

from __future__ import annotations

from kinformer.simulation.explore import Failure, Report, explore, replay, systematic
from kinformer.simulation.faults import Faults
from kinformer.simulation.history import History, Record
from kinformer.simulation.oracles import Checks, Violation
from kinformer.simulation.plan import Deviation, Plan, PlanError
from kinformer.simulation.testing import simulate
from kinformer.simulation.trial import Outcome, ScenarioError, Trial
from kinformer.simulation.world import NotSettled, RunResult, World, WorldOptions, run_world

__all__ = (
    "Checks",
    "Deviation",
    "Failure",
    "Faults",
    "History",
    "NotSettled",
    "Outcome",
    "Plan",
    "PlanError",
    "Record",
    "Report",
    "RunResult",
    "ScenarioError",
    "Trial",
    "Violation",
    "World",
    "WorldOptions",
    "explore",
    "replay",
    "run_world",
    "simulate",
    "systematic",
)
