"""A server that refuses the pods of a workload, and its status too."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kinformer.models import V1ControllerRevision, V1Pod

__all__ = ("refusing_client",)


def refusing_client(workload: type[Any]) -> Any:
    """:param workload: whose status is refused; history is kept"""

    async def accept(obj: Any) -> Any:
        return obj

    async def refuse_pod(*_: Any) -> Any:
        raise RuntimeError("the pod is refused")

    async def refuse_status(*_: Any) -> Any:
        raise RuntimeError("the status is refused")

    answers = {
        V1ControllerRevision: SimpleNamespace(create=accept),
        V1Pod: SimpleNamespace(create=refuse_pod),
        workload: SimpleNamespace(update_status=refuse_status, get=refuse_status),
    }
    return SimpleNamespace(resource=lambda model: answers.get(model))
