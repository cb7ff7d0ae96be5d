"""The controller with a manager, against the embedded server: who may sign, and what is removed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kinformer.client import NotFound
from kinformer.manager import ControllerContext
from kinformer.models import V1ConfigMap, V1Secret, from_dict
from kinformer_controllers.bootstrapsigner.controller import BootstrapSigner, detached_signature
from kinformer_controllers.shared.identity import SigningToken
from tests.controllers.cluster import Cluster as FakeCluster
from tests.controllers.nodes import Cluster, cluster

KUBECONFIG = "apiVersion: v1\nkind: Config\nname: ä\n"


@asynccontextmanager
async def with_controller() -> AsyncIterator[Cluster]:
    async with cluster({"bootstrapsigner": BootstrapSigner}) as world:
        await world.client.resource(V1ConfigMap).create(cluster_info())
        await world.turn(1)
        yield world


def cluster_info(**data: str) -> V1ConfigMap:
    metadata = {"name": "cluster-info", "namespace": "kube-public"}
    return from_dict(V1ConfigMap, {"metadata": metadata, "data": {"kubeconfig": KUBECONFIG, "other": "x", **data}})


def token(
    id_: str = "abc123",
    *,
    name: str = "",
    namespace: str = "kube-system",
    type_: str = "bootstrap.kubernetes.io/token",
    **fields: str,
) -> V1Secret:
    """A token that may sign; a field that is empty is missing."""
    fields = {
        "token-id": id_,
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-signing": "true",
        **{key.replace("_", "-"): value for key, value in fields.items()},
    }
    data = {key: base64.b64encode(value.encode()).decode() for key, value in fields.items() if value}
    metadata = {"name": name or f"bootstrap-token-{id_}", "namespace": namespace}
    return from_dict(V1Secret, {"metadata": metadata, "type": type_, "data": data})


async def signers(world: Cluster) -> set[str]:
    data = (await world.client.resource(V1ConfigMap).get("cluster-info", "kube-public")).data or {}
    assert data.items() >= {"kubeconfig": KUBECONFIG, "other": "x"}.items()
    return {key.removeprefix("jws-kubeconfig-") for key in data if key.startswith("jws-")}


def test_a_signature_is_a_jws_without_its_content() -> None:
    header, content, signature = detached_signature(KUBECONFIG, SigningToken("abc123", b"key")).split(".")
    signed = f"{header}.{_encoded(KUBECONFIG.encode())}".encode()

    assert content == ""
    assert json.loads(base64.urlsafe_b64decode(header + "==")) == {"alg": "HS256", "kid": "abc123"}
    assert signature == _encoded(hmac.new(b"key", signed, hashlib.sha256).digest())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@pytest.mark.parametrize(
    "wrong",
    [
        token("abc124", usage_bootstrap_signing="false"),
        token("abc124", usage_bootstrap_signing=""),
        token("abc124", token_secret=""),
        token("abc124", token_id="abc125"),
        token("abc124", expiration="2020-01-01T00:00:00Z"),
        token("abc124", expiration="soon"),
        token("abc124", type_="Opaque"),
        token("abc124", namespace="default"),
        token("abc124", name="bootstrap-token-abc124x"),
        token("abc124", name="abc124"),
    ],
    ids=lambda secret: str(sorted(secret.data)) + secret.metadata.name,
)
async def test_only_a_valid_token_that_may_sign_signs(wrong: V1Secret) -> None:
    async with with_controller() as world:
        for secret in (token("abc123", expiration="2999-01-01T00:00:00Z"), wrong):
            await world.client.resource(V1Secret).create(secret)
        await world.turn(1)

        assert await signers(world) == {"abc123"}


async def test_signatures_follow_the_kubeconfig_and_the_tokens() -> None:
    async with with_controller() as world:
        secrets, config_maps = world.client.resource(V1Secret), world.client.resource(V1ConfigMap)
        for one in ("abc123", "abc124"):
            await secrets.create(token(one))
        await world.turn(1)
        assert await signers(world) == {"abc123", "abc124"}

        await secrets.delete("bootstrap-token-abc124", "kube-system")
        body = {"data": {"kubeconfig": "new", "jws-kubeconfig-zzzzzz": "of nobody"}}
        await config_maps.patch("cluster-info", body, "kube-public")
        await world.turn(1)

        assert (await config_maps.get("cluster-info", "kube-public")).data == {
            "kubeconfig": "new",
            "other": "x",
            "jws-kubeconfig-abc123": detached_signature("new", SigningToken("abc123", b"0123456789abcdef")),
        }


async def test_without_a_kubeconfig_nothing_is_written() -> None:
    async with with_controller() as world:
        config_maps = world.client.resource(V1ConfigMap)
        await config_maps.patch("cluster-info", {"data": {"kubeconfig": None}}, "kube-public")
        await world.client.resource(V1Secret).create(token())
        before = await config_maps.get("cluster-info", "kube-public")
        await world.turn(1)

        assert await config_maps.get("cluster-info", "kube-public") == before


async def test_the_signature_of_a_token_that_only_the_server_knows_stays() -> None:
    world = FakeCluster()
    signer = BootstrapSigner(ControllerContext(world.client, world.informers, clock=world.clock))
    world.put(cluster_info(**{"jws-kubeconfig-abc123": "a", "jws-kubeconfig-gone00": "b"}))
    world.put_on_server(token("abc123"))

    await signer.sync("")

    found: Any = world.on_server(V1ConfigMap, "kube-public/cluster-info")
    assert found.data == {"kubeconfig": KUBECONFIG, "other": "x", "jws-kubeconfig-abc123": "a"}


async def test_a_failed_write_is_retried_unless_the_config_map_is_gone() -> None:
    async with with_controller() as world:
        world.server.faults.refuse(403, matching=lambda call: call.verb == "update")
        await world.client.resource(V1Secret).create(token())
        await world.turn(1)
        assert await signers(world) == {"abc123"}

        await world.client.resource(V1ConfigMap).delete("cluster-info", "kube-public")
        await world.turn(1)
        with pytest.raises(NotFound):
            await signers(world)
