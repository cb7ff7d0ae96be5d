"""Workloads as kube-controller-manager left them: this project's controllers find nothing to write.

The templates have ``<>&``, U+2028, quantities in every notation, empty objects, lists and maps, and a number that no
float holds. How they were recorded is said in the file.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

import anyio
import pytest

from kinformer.client import PatchType, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer, assert_no_writes
from kinformer.manager import Manager
from kinformer.meta import GroupResource, GroupVersionKind
from kinformer.models import V1DaemonSet, V1Deployment, V1StatefulSet, from_dict, model_for, resource_for
from kinformer_controllers.shared.history.hashing import canonical_json
from kinformer_controllers.shared.history.revisions import revision_hash, template_patch
from kinformer_controllers.statefulset.revisions import revision_data
from tests.turning import turn

_FOLDER = Path(__file__).parent / "handover"
RECORD = json.loads((_FOLDER / "workloads.json").read_bytes())
UNREADY_NODE = json.loads((_FOLDER / "unready_node.json").read_bytes())
#: Shortly after the objects were read.
NOW = datetime(2026, 11, 22, 20, 49, tzinfo=UTC)
REVISIONS, REPLICA_SETS = GroupResource("apps", "controllerrevisions"), GroupResource("apps", "replicasets")
CONTROLLERS = (
    "cronjob",
    "daemonset",
    "deployment",
    "disruption",
    "endpoint",
    "endpointslice",
    "job",
    "replicaset",
    "replicationcontroller",
    "statefulset",
    "ttl-after-finished",
)


def store(server: ApiServer, obj: dict[str, Any]) -> None:
    """Put an object into the server's store as it is, with its uid, its generation and its status."""
    meta = obj["metadata"]
    group, _, version = obj["apiVersion"].rpartition("/")
    resource = resource_for(model_for(GroupVersionKind(group, version, obj["kind"]))).gvr.group_resource
    if (data := RECORD["data"].get(meta["name"])) is not None:
        obj = {**obj, "data": json.loads(data)}
    server.storage.create(resource, meta.get("namespace", ""), meta["name"], {**obj, "metadata": {**meta}})


async def test_controllers_that_take_over_from_kubernetes_write_nothing() -> None:
    clock = FakeClock(NOW)
    async with (
        ApiServer(clock=clock, controllers=False) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
    ):
        for obj in ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "handed"}}, *RECORD["objects"]):
            store(server, obj)
        manager = Manager(client, controllers=CONTROLLERS, clock=clock)
        async with anyio.create_task_group() as tasks:
            async with assert_no_writes(server, seconds=120):
                tasks.start_soon(manager.run)
            assert all(each.has_synced for each in manager.controllers.values())
            # The controllers are at work: a change of each owner's template is rolled out.
            kinds = (V1Deployment, V1DaemonSet, V1StatefulSet)
            before = len(server.storage.log(REVISIONS).objects), len(server.storage.log(REPLICA_SETS).objects)
            for type_, name in zip(kinds, ("web", "agent", "db"), strict=True):
                patch = {"spec": {"template": {"metadata": {"annotations": {"rolled": "again"}}}}}
                await client.resource(type_).patch(name, patch, "handed", patch_type=PatchType.MERGE)
            await turn(clock, 10)
            after = len(server.storage.log(REVISIONS).objects), len(server.storage.log(REPLICA_SETS).objects)
            tasks.cancel_scope.cancel()
    assert (after[0] - before[0], after[1] - before[1]) == (2, 1)


async def test_ready_pods_on_an_unready_node_stay_ready_at_hand_over() -> None:
    clock = FakeClock(datetime(2026, 11, 23, 1, 4, tzinfo=UTC))
    async with (
        ApiServer(clock=clock, controllers=False) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
    ):
        for obj in (
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "handed"}},
            *UNREADY_NODE["objects"],
        ):
            store(server, obj)
        manager = Manager(
            client,
            controllers=(*CONTROLLERS, "nodelifecycle"),
            options={"node_monitor_grace_period": 3600.0},
            clock=clock,
        )
        async with anyio.create_task_group() as tasks:
            # When kube-controller-manager starts, it too takes a node's NoExecute taint off, and sets it again. And it
            # tries to make a pod for the StatefulSet whose name a pod has that does not belong to it any more.
            async with assert_no_writes(
                server, seconds=120, ignoring=("events", "nodes"), matching=lambda write: write.code < 400
            ):
                tasks.start_soon(manager.run)
            assert all(each.has_synced for each in manager.controllers.values())
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize(("type_", "name"), [(V1DaemonSet, "agent"), (V1DaemonSet, "ondelete"), (V1StatefulSet, "db")])
def test_a_template_makes_the_bytes_of_kubernetes_own_revision(type_: Any, name: str) -> None:
    recorded = {(obj["kind"], obj["metadata"]["name"]): obj for obj in RECORD["objects"]}
    owner = from_dict(type_, recorded[type_.__name__.removeprefix("V1"), name])
    of_owner = [
        obj
        for (kind, _), obj in recorded.items()
        if kind == "ControllerRevision" and obj["metadata"]["ownerReferences"][0]["name"] == name
    ]
    newest = max(of_owner, key=itemgetter("revision"))["metadata"]

    data = revision_data(owner) if type_ is V1StatefulSet else template_patch(owner.spec.template)
    sent = canonical_json(data).decode()

    assert sent == RECORD["data"][newest["name"]]
    assert r"\u003ca href=\"x\"\u003e\u0026\u003c/a\u003e \u2028\u2029" in sent
    if type_ is V1StatefulSet:
        assert newest["name"] == f"{name}-{revision_hash(data, 0)}"
