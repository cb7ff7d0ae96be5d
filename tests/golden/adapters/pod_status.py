"""pod_status: whether a pod is ready, available, active, terminal or terminating at some moment."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kinformer.controllerutil.pods import (
    is_pod_active,
    is_pod_available,
    is_pod_ready,
    is_pod_terminal,
    is_pod_terminating,
)
from kinformer.models import V1Pod, from_dict

__all__ = ("answer",)


def answer(case: Any) -> Any:
    pod = from_dict(V1Pod, case["pod"])
    return {
        "ready": is_pod_ready(pod),
        "available": is_pod_available(pod, case["minReadySeconds"], datetime.fromisoformat(case["now"])),
        "active": is_pod_active(pod),
        "terminal": is_pod_terminal(pod),
        "terminating": is_pod_terminating(pod),
    }
