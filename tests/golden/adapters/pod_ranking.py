"""pod_ranking: active pods with ranks, in the order in which they would be deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kinformer.controllerutil.ranking import sort_for_deletion
from kinformer.models import V1Pod, from_dict

__all__ = ("answer",)


def answer(case: Any) -> Any:
    entries = case["pods"] or ()
    pods = [from_dict(V1Pod, entry["pod"]) for entry in entries]
    ranks = [entry["rank"] for entry in entries]
    return [pod.metadata.name for pod in sort_for_deletion(pods, ranks, datetime.fromisoformat(case["now"]))]
