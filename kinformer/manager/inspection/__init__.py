"""Inspection: shows what a running manager does, and why a key was synced.

The counters of controllers and informers become values that can be written as JSON. The manager's endpoint serves them
to the status page, to ``kinformer top`` and to scripts. This package only reads.
"""

from __future__ import annotations

from kinformer.manager.inspection.inspector import PAGE_PATHS, Inspected, Inspector
from kinformer.manager.inspection.views import Answer, Snapshot
from kinformer.manager.inspection.why import explain, search

__all__ = ("PAGE_PATHS", "Answer", "Inspected", "Inspector", "Snapshot", "explain", "search")
