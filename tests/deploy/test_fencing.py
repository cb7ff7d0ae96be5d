"""The fences of docs/deploy: a server with these policies refuses what former leaders and former members write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from kinformer.client import Client, Invalid, connect
from kinformer.client.impersonation import Impersonation
from kinformer.envtest import ApiServer
from kinformer.leaderelection import fenced_client
from kinformer.models import V1Lease, V1Namespace, V1Pod, V1ReplicaSet

pytest.importorskip("cel_expr_python", reason="policies need the extra `cel`")

FOLDER = Path(__file__).parents[2] / "docs" / "deploy" / "fencing"
MANAGER = Impersonation(user="system:serviceaccount:kinformer-system:kinformer-manager", groups=("system:masters",))
FENCED = ("pods", "replicasets.apps")
POD = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SET = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD["spec"]},
    },
}


@asynccontextmanager
async def fenced_server(name: str, lease: dict[str, Any]) -> AsyncIterator[ApiServer]:
    """A server with a policy and the Lease that is its parameter."""
    async with ApiServer(plugins=False) as server, connect(url=server.url, token=server.token) as admin:
        await admin.resource(V1Namespace).create({"metadata": {"name": "kinformer-system"}})
        meta = {"namespace": "kinformer-system", **lease.pop("metadata")}
        await admin.resource(V1Lease).create({"metadata": meta, **lease})
        for obj in yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text()):
            plural = "validatingadmissionpolicies" if obj["kind"].endswith("Policy") else f"{obj['kind'].lower()}s"
            resource: Any = admin.resource(dict, ("admissionregistration.k8s.io", "v1", plural))
            await resource.create(obj)
        yield server


@asynccontextmanager
async def writing_as(server: ApiServer, term: str) -> AsyncIterator[Client]:
    async with connect(url=server.url, token=server.token, impersonate=MANAGER) as client:
        yield fenced_client(client, FENCED, lambda: term)


def leader_in(term: int) -> dict[str, Any]:
    return {"metadata": {"name": "kinformer-manager"}, "spec": {"holderIdentity": "b", "leaseTransitions": term}}


async def test_writes_of_an_older_term_are_refused_and_of_this_one_not() -> None:
    refused = "written in term 2 of the Lease kinformer-manager, which is in term 3"
    async with fenced_server("leader", leader_in(3)) as server:
        async with writing_as(server, "2") as former:
            with pytest.raises(Invalid, match=refused):
                await former.resource(V1Pod).create(POD)
        async with writing_as(server, "3") as leader:
            pod = await leader.resource(V1Pod).create(POD)
            created = await leader.resource(V1ReplicaSet).create(SET)
        async with writing_as(server, "2") as former:
            with pytest.raises(Invalid, match=refused):
                await former.resource(V1Pod).patch("web", {"metadata": {"labels": {"a": "b"}}}, "default")
            with pytest.raises(Invalid, match=refused):
                await former.resource(V1Pod).update(pod)
            created.status.observed_generation = 1
            with pytest.raises(Invalid, match=refused):
                await former.resource(V1ReplicaSet).update_status(created)
        async with writing_as(server, "4") as next_leader:  # its Lease may be newer than what the server has seen
            await next_leader.resource(V1Pod).patch("web", {"metadata": {"labels": {"a": "b"}}}, "default")


async def test_a_manager_without_a_term_is_refused_and_users_are_not_asked() -> None:
    async with fenced_server("leader", leader_in(0)) as server:
        async with connect(url=server.url, token=server.token, impersonate=MANAGER) as manager:
            with pytest.raises(Invalid, match="written in term -1"):
                await manager.resource(V1Pod).create(POD)
        async with connect(url=server.url, token=server.token) as user:
            await user.resource(V1Pod).create(POD)


async def test_writes_of_a_member_without_a_range_are_refused() -> None:
    owners = '{"group-a-1": "0-31", "group-b-2": "32-63"}'
    table = {"metadata": {"name": "kinformer-manager-shards", "annotations": {"kinformer.dev/shard-owners": owners}}}
    async with fenced_server("shards", table) as server:
        async with writing_as(server, "group-b-2") as member:
            await member.resource(V1Pod).create(POD)
        async with writing_as(server, "group-b") as former:
            with pytest.raises(Invalid, match="written by group-b, which owns no range of kinformer-manager-shards"):
                await former.resource(V1Pod).patch("web", {"metadata": {"labels": {"a": "b"}}}, "default")
