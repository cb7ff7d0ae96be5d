from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from restart_notifier import NotPosted, make_controller, post_to

from kinformer.client import Client
from kinformer.clock import FakeClock
from kinformer.envtest import eventually, running
from kinformer.manager import Manager
from kinformer.models import V1Pod


class Chat:
    def __init__(self) -> None:
        self.messages: list[str] = []
        self.failures = 0

    async def post(self, text: str) -> None:
        if self.failures:
            self.failures -= 1
            raise NotPosted("the chat is down")
        self.messages.append(text)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def chat() -> Chat:
    return Chat()


@pytest.fixture
async def manager(operator_client: Client, clock: FakeClock, chat: Chat) -> AsyncIterator[Manager]:
    known = {"restart-notifier": lambda context: make_controller(context, chat.post)}
    async with running(Manager(operator_client, known=known, clock=clock)) as manager:
        controller: Any = manager.controllers["restart-notifier"]
        await controller.started.wait()
        yield manager


async def make_pod(client: Client, name: str = "web") -> None:
    spec = {"containers": [{"name": "app", "image": "app:1"}, {"name": "proxy", "image": "proxy:1"}]}
    await client.resource(V1Pod).create({"metadata": {"name": name, "namespace": "default"}, "spec": spec})


async def restarts(client: Client, count: int, name: str = "web", reason: str = "OOMKilled") -> None:
    def status(container: str, restart_count: int) -> dict[str, Any]:
        made = {"name": container, "image": "i", "imageID": "i", "ready": True, "restartCount": restart_count}
        ended = {"terminated": {"exitCode": 137, "reason": reason}}
        return {**made, "lastState": ended} if restart_count else made

    containers = [status("app", count), status("proxy", 0)]
    await client.resource(V1Pod).patch_status(name, {"containerStatuses": containers}, "default")


async def test_each_restart_is_told_once_with_its_reason(
    kinformer_client: Client, manager: Manager, chat: Chat, clock: FakeClock
) -> None:
    await make_pod(kinformer_client)
    await restarts(kinformer_client, 1)
    await eventually(lambda: len(chat.messages) == 1, clock=clock)
    await kinformer_client.resource(V1Pod).patch("web", {"metadata": {"labels": {"a": "b"}}}, "default")
    await restarts(kinformer_client, 3, reason="Error")
    await eventually(lambda: len(chat.messages) == 2, clock=clock)

    assert chat.messages == [
        "default/web: app restarted, 1 times by now (OOMKilled, exit code 137)",
        "default/web: app restarted, 3 times by now (Error, exit code 137)",
    ]


async def test_what_restarted_before_it_started_is_no_news(
    kinformer_client: Client, operator_client: Client, chat: Chat, clock: FakeClock
) -> None:
    await make_pod(kinformer_client)
    await restarts(kinformer_client, 7)
    known = {"restart-notifier": lambda context: make_controller(context, chat.post)}

    async with running(Manager(operator_client, known=known, clock=clock)) as manager:
        controller: Any = manager.controllers["restart-notifier"]
        await controller.started.wait()
        await make_pod(kinformer_client, "other")
        await restarts(kinformer_client, 1, "other")
        await eventually(lambda: chat.messages, clock=clock)
        await restarts(kinformer_client, 8)
        await eventually(lambda: len(chat.messages) == 2, clock=clock)

    assert [message.partition(":")[0] for message in chat.messages] == ["default/other", "default/web"]


async def test_a_chat_that_is_down_is_tried_again_and_told_all_at_once(
    kinformer_client: Client, manager: Manager, chat: Chat, clock: FakeClock
) -> None:
    chat.failures = 3
    await make_pod(kinformer_client)
    await restarts(kinformer_client, 1)
    await eventually(lambda: chat.failures < 3, clock=clock)
    await restarts(kinformer_client, 2)
    began = clock.monotonic()
    await eventually(lambda: chat.messages, clock=clock, seconds=30)

    assert chat.messages == ["default/web: app restarted, 2 times by now (OOMKilled, exit code 137)"]
    assert clock.monotonic() - began < 8


async def test_messages_are_posted_as_json() -> None:
    bodies: list[Any] = []

    async def take(request: web.Request) -> web.Response:
        bodies.append(await request.json())
        return web.Response(status=200 if len(bodies) == 1 else 500)

    app = web.Application()
    app.add_routes([web.post("/hook", take)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
        await post_to(url)("hello")
        with pytest.raises(NotPosted, match="the chat answered 500"):
            await post_to(url)("hello again")
    finally:
        await runner.cleanup()
    with pytest.raises(NotPosted, match="the chat cannot be reached"):
        await post_to(url)("is anybody there")

    assert bodies == [{"text": "hello"}, {"text": "hello again"}]
