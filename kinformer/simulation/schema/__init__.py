"""Schemas as scenarios: every field of an object is changed to other valid values, and changed back.

:func:`try_fields` makes the changes from the schema that the server serves for the object's kind. ``values`` has the
values that a schema allows, ``changes`` has single changes, ``offers`` asks the server which of them are valid, and
``survey`` plays them and judges the runs.
"""

from __future__ import annotations

from kinformer.simulation.schema.changes import Change
from kinformer.simulation.schema.survey import PATIENCE, FieldReport, Finding, Subject, try_change, try_fields

__all__ = ("PATIENCE", "Change", "FieldReport", "Finding", "Subject", "try_change", "try_fields")
