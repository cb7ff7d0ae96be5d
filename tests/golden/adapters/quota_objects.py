"""quota_objects: what a service or a persistent volume claim uses."""

from __future__ import annotations

from typing import Any

from kinformer.meta.resourcelist import dump
from kinformer_controllers.shared.quota.counting import claim_evaluator, service_evaluator

__all__ = ("answer",)

EVALUATORS = {"Service": service_evaluator(), "PersistentVolumeClaim": claim_evaluator()}


def answer(case: Any) -> Any:
    return {"usage": dump(EVALUATORS[case["kind"]].usage(case["object"]))}
