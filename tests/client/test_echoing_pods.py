"""Pods for which a test has registered nothing echo."""

from __future__ import annotations

import pytest

from kinformer.client import Client, MethodNotSupported, Resource
from kinformer.envtest import ApiServer
from kinformer.models import V1Pod


async def test_a_command_is_written_and_cat_writes_its_input(pods: Resource[V1Pod]) -> None:
    done = await pods.run("web", ["sh", "-c", "a b"], "default", input=b"more")
    assert (done.stdout, done.stderr, done.exit_code) == (b"sh -c a b\n", b"", 0)

    assert (await pods.run("web", ["cat"], "default", input=b"more")).stdout == b"more"


async def test_a_port_sends_back_what_it_receives(pods: Resource[V1Pod]) -> None:
    async with pods.port_forward("web", 80, "default") as stream:
        for said in (b"one", b"two"):
            await stream.send(said)
            assert await stream.receive() == said


async def test_a_log_is_the_command_line_and_then_ends(here: Client, pods: Resource[V1Pod]) -> None:
    talker = {"name": "app", "image": "i", "command": ["echo"], "args": ["hello", "you"]}
    spec = {"nodeName": "n", "containers": [talker]}
    await pods.create({"metadata": {"name": "talker"}, "spec": spec}, "default")
    state = {"name": "app", "image": "i", "imageID": "", "ready": True, "restartCount": 0, "state": {"running": {}}}
    await pods.patch("talker", {"status": {"containerStatuses": [state]}}, "default", subresource="status")

    async with pods.logs("talker", "default", follow=True) as lines:
        assert [line async for line in lines] == ["echo hello you"]
    assert await pods.read_logs("web", "default") == ""


async def test_a_pod_with_anything_registered_does_not_echo(api: ApiServer, pods: Resource[V1Pod]) -> None:
    api.containers.log("web", ["one"])

    with pytest.raises(MethodNotSupported):
        await pods.run("web", ["ls"], "default")
