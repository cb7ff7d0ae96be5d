"""What is told when several things fail in one sync."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kinformer.models import V1ControllerRevision, V1DaemonSet, V1Node, V1Pod
from kinformer_controllers.daemonset.controller import DaemonSetController
from tests.controllers.daemonset.objects import make_daemonset, make_node
from tests.controllers.objects import FakeInformers, FakeRecorder


async def test_a_pod_that_is_refused_is_what_a_sync_fails_with_though_the_status_is_refused_too() -> None:
    informers = FakeInformers()
    informers.informer_for(V1DaemonSet).indexer.add(make_daemonset())
    informers.informer_for(V1Node).indexer.add(make_node())

    async def accept(obj: Any) -> Any:
        return obj

    async def refuse_pod(obj: Any) -> Any:
        raise RuntimeError("the pod is refused")

    async def refuse_status(*_: Any) -> Any:
        raise RuntimeError("the status is refused")

    answers = {
        V1ControllerRevision: SimpleNamespace(create=accept),
        V1Pod: SimpleNamespace(create=refuse_pod),
        V1DaemonSet: SimpleNamespace(update_status=refuse_status, get=refuse_status),
    }
    client: Any = SimpleNamespace(resource=lambda model: answers.get(model))
    controller = DaemonSetController(client, informers, FakeRecorder())  # type: ignore[arg-type]

    with pytest.raises(RuntimeError, match="the pod is refused"):
        await controller.sync("ns/agent")
