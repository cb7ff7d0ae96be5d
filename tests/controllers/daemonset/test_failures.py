"""The most pods that one sync makes, and what is told when several things fail in it."""

from __future__ import annotations

import pytest

from kinformer.models import V1DaemonSet, V1Node
from kinformer_controllers.daemonset.controller import DaemonSetController
from tests.controllers.cluster import Cluster
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


async def test_one_sync_makes_250_pods_at_most() -> None:
    world = Cluster()
    world.put(make_daemonset())
    for number in range(260):
        world.put(make_node(f"n{number}"))

    await DaemonSetController(FakeContext(world.client, world.informers, clock=world.clock)).sync("ns/agent")

    assert sum(request.startswith("create Pod") for request in world.requests) == 250
