"""endpoint_subsets: subsets in any form, repacked."""

from __future__ import annotations

import json
from typing import Any

from kinformer.models import V1EndpointSubset, from_dict, to_dict
from kinformer_controllers.shared.services.repacking import repack

__all__ = ("answer",)


def answer(case: Any) -> Any:
    return [to_dict(subset) for subset in repack(from_dict(V1EndpointSubset, each) for each in case["subsets"] or ())]


def same(got: Any, want: Any) -> bool:
    """As sets: Kubernetes sorts by hashes."""
    return bool(_sorted(got) == _sorted(want or ()))


def _sorted(subsets: Any) -> Any:
    ordered = [
        {**each, "ports": sorted(each["ports"], key=lambda port: json.dumps(port, sort_keys=True))}
        if "ports" in each
        else each
        for each in subsets
    ]
    return sorted(ordered, key=lambda each: json.dumps(each, sort_keys=True))
