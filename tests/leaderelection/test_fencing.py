from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinformer.client import Client, PatchType, WrappedTransport, connect
from kinformer.leaderelection import TERM_ANNOTATION, FenceError, fenced_client
from kinformer.models import V1ConfigMap, V1Deployment, V1Pod


class Sent(WrappedTransport):
    """Sends nothing, and notes the bodies."""

    bodies: list[Any]

    async def request(self, method: str, path: str, *, body: bytes | None = None, **request: Any) -> bytes:
        type(self).bodies.append(json.loads(body) if body else None)
        return b'{"metadata":{"name":"x"}}'


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    Sent.bodies = []
    async with connect(url="http://127.0.0.1:1") as nowhere:
        yield fenced_client(nowhere.through(Sent), ("pods", "deployments.apps"), lambda: "7")


TERM = {"annotations": {TERM_ANNOTATION: "7"}}


async def test_objects_and_patches_of_fenced_resources_carry_the_term(client: Client) -> None:
    kept = {"annotations": {"a": "b", TERM_ANNOTATION: "6"}, "name": "x", "namespace": "n"}
    await client.resource(dict, V1Pod).create({"metadata": kept, "spec": {"big": 12345678901234567890}})
    await client.resource(V1Pod).patch("x", {"metadata": None, "spec": {}}, "n")
    await client.resource(V1Deployment).patch("x", {"status": {"replicas": 1}}, "n", subresource="status")

    created, patched, status = Sent.bodies
    assert created["metadata"] == {**kept, "annotations": {"a": "b", TERM_ANNOTATION: "7"}}
    assert created["spec"] == {"big": 12345678901234567890}
    assert patched == {"metadata": TERM, "spec": {}}
    assert status == {"metadata": TERM, "status": {"replicas": 1}}


async def test_deletions_other_resources_and_other_subresources_are_left_as_they_are(client: Client) -> None:
    await client.resource(V1Pod).delete("x", "n")
    await client.resource(V1ConfigMap).patch("x", {"data": {}}, "n")
    await client.resource(V1Deployment).patch("x", {"spec": {"replicas": 2}}, "n", subresource="scale")

    assert Sent.bodies == [None, {"data": {}}, {"spec": {"replicas": 2}}]


async def test_a_json_patch_of_a_fenced_resource_is_an_error(client: Client) -> None:
    with pytest.raises(FenceError, match=r"PATCH .*/pods/x: a JSON patch cannot carry the term"):
        await client.resource(V1Pod).patch("x", [{"op": "test"}], "n", patch_type=PatchType.JSON)
