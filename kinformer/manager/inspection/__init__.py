"""Inspection: seeing what a manager does while it does it, and why a key was synced.

What controllers and informers count anyway becomes values that JSON has a form for; they are served beside the metrics,
to a page, to ``kinformer top`` and to scripts. Nothing here changes anything.
"""

from __future__ import annotations

from kinformer.manager.inspection.inspector import PAGE_PATHS, Inspector
from kinformer.manager.inspection.views import Answer, Snapshot
from kinformer.manager.inspection.why import explain, search

__all__ = ("PAGE_PATHS", "Answer", "Inspector", "Snapshot", "explain", "search")
