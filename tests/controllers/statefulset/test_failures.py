"""What is told when several things fail in one sync."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kinformer.models import V1ControllerRevision, V1Pod, V1StatefulSet
from kinformer_controllers.statefulset.controller import StatefulSetController
from tests.controllers.objects import FakeInformers, FakeRecorder
from tests.controllers.statefulset.objects import make_set


async def test_a_pod_that_is_refused_is_what_a_sync_fails_with_though_the_status_is_refused_too() -> None:
    informers = FakeInformers()
    informers.informer_for(V1StatefulSet).indexer.add(make_set())

    async def accept(obj: Any) -> Any:
        return obj

    async def refuse_pod(obj: Any) -> Any:
        raise RuntimeError("the pod is refused")

    async def refuse_status(*_: Any) -> Any:
        raise RuntimeError("the status is refused")

    answers = {
        V1ControllerRevision: SimpleNamespace(create=accept),
        V1Pod: SimpleNamespace(create=refuse_pod),
        V1StatefulSet: SimpleNamespace(update_status=refuse_status, get=refuse_status),
    }
    client: Any = SimpleNamespace(resource=lambda model: answers.get(model))
    controller = StatefulSetController(client, informers, FakeRecorder())  # type: ignore[arg-type]

    with pytest.raises(RuntimeError, match="the pod is refused"):
        await controller.sync("ns/web")
