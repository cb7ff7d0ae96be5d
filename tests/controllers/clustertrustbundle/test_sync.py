"""There is one ClusterTrustBundle of the API server's signer, with the certificates by which the server is known."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kinformer.client.errors import ServiceUnavailable
from kinformer.manager import ControllerDisabled, SyncError
from kinformer.models import V1beta1ClusterTrustBundle, from_dict
from kinformer_controllers.clustertrustbundle.controller import TrustBundlePublisher, bundle_name, make_controller
from kinformer_controllers.clustertrustbundle.spec import SIGNER
from tests.controllers.nodes import Cluster, cluster
from tests.controllers.objects import FakeContext, FakeInformers
from tests.golden.keys import key_flags
from tests.metrics import metric_value

MAKE = {"kube-apiserver-serving-clustertrustbundle-publisher-controller": make_controller}
APIS = ("certificates.k8s.io/v1beta1",)
PEM = Path(key_flags()["root_ca_file"]).read_text()
NAME = bundle_name(PEM)
SYNCS = "clustertrustbundle_publisher_sync_total"


@asynccontextmanager
async def with_controller() -> AsyncIterator[Cluster]:
    options = {"feature_gates": "ClusterTrustBundle=true", "root_ca_file": key_flags()["root_ca_file"]}
    async with cluster(MAKE, options, apis=APIS) as world:
        await world.turn(1)
        yield world


def bundle(name: str, content: str = PEM, signer: str = SIGNER) -> V1beta1ClusterTrustBundle:
    spec = {"signerName": signer, "trustBundle": content} if signer else {"trustBundle": content}
    return from_dict(V1beta1ClusterTrustBundle, {"metadata": {"name": name}, "spec": spec})


async def bundles(world: Cluster) -> dict[str, str]:
    found = (await world.client.resource(V1beta1ClusterTrustBundle).list()).items
    return {one.metadata.name: one.spec.trust_bundle for one in found}


def test_the_name_has_the_signer_and_a_hash_of_the_content() -> None:
    assert bundle_name("abc") == "kubernetes.io:kube-apiserver-serving:ba7816bf8f01cfea414140de"


async def test_the_bundle_is_made_and_made_again_and_corrected() -> None:
    async with with_controller() as world:
        server = world.client.resource(V1beta1ClusterTrustBundle)
        assert await bundles(world) == {NAME: PEM}

        await server.delete(NAME)
        await world.turn(1)
        assert await bundles(world) == {NAME: PEM}

        await server.patch(NAME, {"spec": {"trustBundle": PEM + PEM}})
        await world.turn(1)
        assert await bundles(world) == {NAME: PEM}


async def test_other_bundles_go_if_they_are_of_the_signer() -> None:
    async with with_controller() as world:
        server = world.client.resource(V1beta1ClusterTrustBundle)
        await server.create(bundle("nobodys", signer=""))
        await server.create(bundle("example.com:theirs:1", signer="example.com/theirs"))
        await server.create(bundle("kubernetes.io:kube-apiserver-serving:old", PEM + PEM))
        await world.turn(1)

        assert (await bundles(world)).keys() == {NAME, "nobodys", "example.com:theirs:1"}


class Behind:
    """The publisher with a cache that the test fills."""

    def __init__(self, world: Cluster) -> None:
        self.informers: Any = FakeInformers()
        self.server = world.client.resource(V1beta1ClusterTrustBundle)
        self.publisher = TrustBundlePublisher(FakeContext(world.client, self.informers, clock=world.clock), PEM)

    async def have(self, one: V1beta1ClusterTrustBundle) -> None:
        """Have a bundle on the server and in the cache."""
        self.informers.informer_for(V1beta1ClusterTrustBundle).indexer.add(await self.server.create(one))


async def test_the_last_bundle_stays_if_the_server_lacks_the_new_one() -> None:
    async with cluster({}, apis=APIS) as world:
        behind = Behind(world)
        await behind.have(bundle("kubernetes.io:kube-apiserver-serving:old"))
        await behind.have(bundle(NAME))
        await behind.server.delete(NAME)

        with pytest.raises(SyncError, match="the other bundles stay"):
            await behind.publisher.sync("")
        assert list(await bundles(world)) == ["kubernetes.io:kube-apiserver-serving:old"]


async def test_a_deletion_that_fails_keeps_no_other_from_going_and_counts() -> None:
    async with cluster({}, apis=APIS) as world:
        behind = Behind(world)
        for name in (NAME, "kubernetes.io:kube-apiserver-serving:a", "kubernetes.io:kube-apiserver-serving:b"):
            await behind.have(bundle(name))
        world.server.faults.refuse(
            503, times=20, matching=lambda call: call.verb == "delete" and call.name.endswith(":a")
        )
        before = metric_value(SYNCS, {"code": "503"}) or 0

        with pytest.raises(ServiceUnavailable):
            await behind.publisher.sync("")

        assert (await bundles(world)).keys() == {NAME, "kubernetes.io:kube-apiserver-serving:a"}
        assert metric_value(SYNCS, {"code": "503"}) == before + 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        pytest.param({}, "the feature gate ClusterTrustBundle is off", id="gate"),
        pytest.param({"feature_gates": "ClusterTrustBundle=true"}, "no certificates of the API server", id="nothing"),
    ],
)
async def test_without_gate_or_certificates_the_controller_does_not_run(options: dict[str, Any], why: str) -> None:
    async with cluster({}) as world:
        with pytest.raises(ControllerDisabled, match=why):
            make_controller(FakeContext(world.client, FakeInformers(), **options))
