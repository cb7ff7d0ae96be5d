from __future__ import annotations

from typing import Any

import pytest

from kinformer.client import Client, Conflict
from kinformer.controllerutil.writing import ObjectReplaced, update_status_if_changed, write_status
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1Pod, V1PodStatus, V1ReplicaSetStatus, from_dict
from tests.controllers.objects import FakeServer, conflict, make_rs, not_found

POD = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def status(replicas: int) -> V1ReplicaSetStatus:
    return V1ReplicaSetStatus(replicas=replicas)


async def test_a_status_that_says_the_same_is_not_written() -> None:
    server, rs = FakeServer(), make_rs()

    assert await write_status(server, rs, status(0)) is rs
    assert server.updated == []


async def test_a_changed_status_is_written_and_the_cached_object_stays() -> None:
    server, rs = FakeServer(), make_rs()

    written = await write_status(server, rs, status(3))

    assert (written.status.replicas, rs.status.replicas) == (3, 0)


async def test_whether_it_says_the_same_can_be_somebody_elses_to_say() -> None:
    server = FakeServer()

    await write_status(server, make_rs(), status(3), same=lambda current, new: current.replicas <= new.replicas)

    assert server.updated == []


async def test_a_conflict_is_retried_on_a_fresh_copy_as_often_as_set() -> None:
    fresh = make_rs(5)
    server = FakeServer(fresh)
    server.update_errors = [conflict(), conflict()]

    def rebase(obj: Any, new: V1ReplicaSetStatus) -> V1ReplicaSetStatus:
        return status(new.replicas + obj.spec.replicas)

    written = await write_status(server, make_rs(), status(1), rebase=rebase, retries=2)

    assert written.status.replicas == 11
    assert [it.metadata.resource_version for it in server.updated[1:]] == [fresh.metadata.resource_version] * 2


async def test_it_is_never_written_onto_another_object_of_the_name() -> None:
    server = FakeServer(make_rs(uid="anew"))
    server.update_errors = [conflict()]

    with pytest.raises(ObjectReplaced, match="ns/web was deleted and created again"):
        await write_status(server, make_rs(), status(1))
    assert len(server.updated) == 1


async def test_after_the_last_try_the_refusal_is_the_callers() -> None:
    server = FakeServer(make_rs())
    server.update_errors = [conflict(), conflict()]

    with pytest.raises(Exception, match="modified"):
        await write_status(server, make_rs(), status(1))


async def test_an_object_that_is_gone_is_not_found() -> None:
    server = FakeServer(None)
    server.update_errors = [not_found()]

    with pytest.raises(Exception, match="not found"):
        await write_status(server, make_rs(), status(1))


async def test_a_kind_without_a_status_is_an_error() -> None:
    server: Any = FakeServer()

    with pytest.raises(TypeError, match="V1ConfigMap has no status"):
        await update_status_if_changed(server, V1ConfigMap(metadata=V1ObjectMeta(name="a")), {})


async def test_a_status_that_others_have_written_is_never_overwritten(client: Client) -> None:
    pods = client.resource(V1Pod)
    seen = await pods.create(from_dict(V1Pod, POD))
    await pods.patch_status("web", {"phase": "Running"}, "default")

    with pytest.raises(Conflict):
        await update_status_if_changed(client, seen, V1PodStatus(phase="Failed"))

    assert (await pods.get("web", "default")).status.phase == "Running"


async def test_a_status_is_written_though_the_rest_has_changed(client: Client) -> None:
    pods = client.resource(V1Pod)
    seen = await pods.create(from_dict(V1Pod, POD))
    await pods.patch("web", {"metadata": {"labels": {"a": "b"}}}, "default")

    written = await update_status_if_changed(client, seen, V1PodStatus(phase="Running"))

    assert (written.status.phase, written.metadata.labels) == ("Running", {"a": "b"})
