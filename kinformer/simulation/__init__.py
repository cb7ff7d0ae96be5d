"""A simulated world: an API server and any number of managers in one process, in virtual time, with faults.

:func:`run_world` runs a scenario once, by a :class:`Plan`, in a :class:`World`. It is a plain function with its own
event loop, so call it where no other loop runs. :func:`simulate` makes a test of a scenario. :func:`explore` and
:func:`systematic` run a scenario under many plans, and make the plans that fail smaller.

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
