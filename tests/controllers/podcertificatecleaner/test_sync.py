"""PodCertificateRequests go when they are 15 minutes old, whatever came of them."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.manager import ControllerDisabled
from kinformer.models import V1beta1PodCertificateRequest, from_dict
from kinformer_controllers.podcertificatecleaner.controller import PERIOD, make_controller
from tests.controllers.nodes import Cluster, cluster
from tests.controllers.objects import FakeContext

ON = {"feature_gates": "PodCertificateRequest=true"}
MAKE = {"podcertificaterequest-cleaner-controller": make_controller}
SPEC = {
    "signerName": "example.com/abc",
    "podName": "p",
    "podUID": "p-uid",
    "serviceAccountName": "a",
    "serviceAccountUID": "a-uid",
    "nodeName": "n",
    "nodeUID": "n-uid",
    "pkixPublicKey": "AA==",
    "proofOfPossession": "AA==",
}
ISSUED = {"conditions": [{"type": "Issued", "status": "True", "reason": "R", "message": "m"}]}


async def make(world: Cluster, name: str, **status: Any) -> None:
    requests = world.client.resource(V1beta1PodCertificateRequest)
    about = {"name": name, "namespace": "default"}
    await requests.create(from_dict(V1beta1PodCertificateRequest, {"metadata": about, "spec": SPEC}))
    if status:
        now = {"lastTransitionTime": world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")}
        status["conditions"] = [one | now for one in status["conditions"]]
        await requests.patch(name, {"status": status}, "default", subresource="status")


async def names(world: Cluster) -> list[str]:
    found = (await world.client.resource(V1beta1PodCertificateRequest).list("default")).items
    return sorted(one.metadata.name for one in found)


async def test_a_request_goes_at_fifteen_minutes_whether_it_is_answered_or_not() -> None:
    async with cluster(MAKE, ON, apis=("certificates.k8s.io/v1beta1",)) as world:
        await make(world, "pending")
        await make(world, "issued", **ISSUED)
        await world.turn(1)
        await make(world, "younger")

        await world.turn(3 * PERIOD - 2)
        assert await names(world) == ["issued", "pending", "younger"]
        await world.turn(1)
        assert await names(world) == ["younger"]
        await world.turn(PERIOD)
        assert await names(world) == []


def test_without_its_gate_the_controller_does_not_run() -> None:
    with pytest.raises(ControllerDisabled, match="the feature gate PodCertificateRequest is off"):
        make_controller(FakeContext(None, None))
