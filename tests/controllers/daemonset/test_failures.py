"""What is told when several things fail in one sync."""

from __future__ import annotations

import pytest

from kinformer.models import V1DaemonSet, V1Node
from kinformer_controllers.daemonset.controller import DaemonSetController
from tests.controllers.daemonset.objects import make_daemonset, make_node
from tests.controllers.objects import FakeContext, FakeInformers
from tests.controllers.refusing import refusing_client


async def test_a_pod_that_is_refused_is_what_a_sync_fails_with_though_the_status_is_refused_too() -> None:
    informers = FakeInformers()
    informers.informer_for(V1DaemonSet).indexer.add(make_daemonset())
    informers.informer_for(V1Node).indexer.add(make_node())
    controller = DaemonSetController(FakeContext(refusing_client(V1DaemonSet), informers))

    with pytest.raises(RuntimeError, match="the pod is refused"):
        await controller.sync("ns/agent")
