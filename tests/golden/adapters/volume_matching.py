"""volume_matching: the volume that a claim is bound to, out of some of which the access modes are not looked at."""

from __future__ import annotations

from typing import Any

from kinformer.models import V1PersistentVolume, V1PersistentVolumeClaim, from_dict
from kinformer_controllers.persistentvolumebinder.matching import smallest_match

__all__ = ("answer",)


def answer(case: Any) -> Any:
    volumes = [from_dict(V1PersistentVolume, each) for each in case["volumes"] or ()]
    claim = from_dict(V1PersistentVolumeClaim, case["claim"])
    try:
        found = smallest_match(claim, volumes, delay_binding=case["delayBinding"])
    except ValueError:
        return {"error": True, "volume": None}
    return {"error": False, "volume": found.metadata.name if found is not None else None}
