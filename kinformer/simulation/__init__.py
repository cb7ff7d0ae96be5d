"""A seeded world: an API server and any number of managers in one process, in virtual time, with faults.

:func:`run_world` runs a scenario once, by a :class:`Plan`, in a :class:`World`. It is a plain function that runs an
event loop of its own, so it is called where no other one runs.

What is not in this package's modules yet is not there; each module's docstring says what it does.
"""

from __future__ import annotations

from kinformer.simulation.faults import Faults
from kinformer.simulation.history import History, Record
from kinformer.simulation.oracles import Checks, Violation
from kinformer.simulation.plan import Deviation, Plan, PlanError
from kinformer.simulation.world import NotSettled, RunResult, World, WorldOptions, run_world

__all__ = (
    "Checks",
    "Deviation",
    "Faults",
    "History",
    "NotSettled",
    "Plan",
    "PlanError",
    "Record",
    "RunResult",
    "Violation",
    "World",
    "WorldOptions",
    "run_world",
)
