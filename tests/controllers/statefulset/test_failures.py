"""What is told when several things fail in one sync."""

from __future__ import annotations

import pytest

from kinformer.models import V1StatefulSet
from kinformer_controllers.statefulset.controller import StatefulSetController
from tests.controllers.objects import FakeContext, FakeInformers
from tests.controllers.refusing import refusing_client
from tests.controllers.statefulset.objects import make_set


async def test_a_pod_that_is_refused_is_what_a_sync_fails_with_though_the_status_is_refused_too() -> None:
    informers = FakeInformers()
    informers.informer_for(V1StatefulSet).indexer.add(make_set())
    controller = StatefulSetController(FakeContext(refusing_client(V1StatefulSet), informers))

    with pytest.raises(RuntimeError, match="the pod is refused"):
        await controller.sync("ns/web")
