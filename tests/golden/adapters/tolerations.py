"""tolerations: which taints are tolerated, the first that is not, and how long a pod stays that tolerates them."""

from __future__ import annotations

from typing import Any

from kinformer.models import V1Taint, V1Toleration, from_dict, to_dict
from kinformer.placement.taints import (
    PREFER_NO_SCHEDULE,
    find_untolerated,
    min_toleration_seconds,
    tolerates,
)

__all__ = ("answer",)


def answer(case: Any) -> Any:
    taints = [from_dict(V1Taint, each) for each in case["taints"] or ()]
    tolerations = [from_dict(V1Toleration, each) for each in case["tolerations"] or ()]
    untolerated = find_untolerated(taints, tolerations, lambda taint: taint.effect != PREFER_NO_SCHEDULE)
    seconds = min_toleration_seconds(tolerations)
    return {
        "tolerated": [any(tolerates(each, taint) for each in tolerations) for taint in taints] or None,
        "untolerated": to_dict(untolerated) if untolerated is not None else None,
        # A nanosecond before now stands for never.
        "minTime": -1e-9 if seconds is None else seconds,
    }
