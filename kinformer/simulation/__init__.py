"""A seeded world: an API server and any number of managers in one process, in virtual time, with faults.

What is not in this package's modules yet is not there; each module's docstring says what it does.
"""

from __future__ import annotations

from kinformer.simulation.history import History, Record
from kinformer.simulation.plan import Deviation, Plan, PlanError

__all__ = ("Deviation", "History", "Plan", "PlanError", "Record")
