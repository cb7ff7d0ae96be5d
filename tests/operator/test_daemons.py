from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from prometheus_client import REGISTRY

from kinformer.client import Client
from kinformer.clock import FakeClock
from kinformer.envtest import eventually, running
from kinformer.manager import ControllerContext, Manager, Sharding
from kinformer.manager.inspection import explain
from kinformer.models import V1Namespace, V1ObjectMeta
from kinformer.operator import Reconciler
from tests.operator.web_apps import WebApp, web_app


class Diary:
    """What the reconciler below and its daemons did, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.failures = 0


class Followed(Reconciler[WebApp]):
    """Follows each web app by a daemon."""

    name = "followed"

    def __init__(self, context: ControllerContext, diary: Diary) -> None:
        super().__init__(context)
        self.diary = diary

    async def reconcile(self, obj: WebApp) -> None:
        if await self.finalizer("example.com/followed").ensure(obj, self.clean_up) is not None:
            self.diary.lines.append(f"reconciled {obj.spec.image}")

    async def clean_up(self, app: WebApp) -> None:
        self.diary.lines.append(f"cleaned up {app.spec.image}")

    async def daemon(self, obj: WebApp) -> None:
        if self.diary.failures:
            self.diary.failures -= 1
            raise OSError("the stream has ended")
        self.diary.lines.append(f"follows {obj.spec.image}")
        try:
            await anyio.sleep_forever()
        finally:
            self.diary.lines.append(f"leaves {obj.spec.image}")


@pytest.fixture
def diary() -> Diary:
    return Diary()


@asynccontextmanager
async def followed(client: Client, diary: Diary, clock: FakeClock | None = None) -> AsyncIterator[None]:
    known = {"followed": lambda context: Followed(context, diary).controller()}
    async with running(Manager(client, known=known, clock=clock)):
        yield


async def test_a_daemon_is_left_before_a_new_spec_and_a_clean_up(client: Client, diary: Diary) -> None:
    apps = client.resource(WebApp)
    async with followed(client, diary):
        await apps.create(web_app())
        await eventually(lambda: "follows shop:1" in diary.lines)
        await apps.patch("shop", {"metadata": {"labels": {"a": "b"}}}, "default")
        await eventually(lambda: diary.lines.count("reconciled shop:1") > 1)
        await apps.patch("shop", {"spec": {"image": "shop:2"}}, "default")
        await eventually(lambda: "follows shop:2" in diary.lines)
        await apps.delete("shop", "default")
        await eventually(lambda: "cleaned up shop:2" in diary.lines)

    first = "reconciled shop:1"
    assert [line for line in diary.lines if line != first] == [
        *("follows shop:1", "leaves shop:1", "reconciled shop:2", "follows shop:2", "leaves shop:2"),
        "cleaned up shop:2",
    ]


async def test_a_daemon_ends_with_its_object_and_with_the_controller(client: Client, diary: Diary) -> None:
    apps = client.resource(WebApp)
    async with followed(client, diary):
        await apps.create(web_app(image="gone"))
        await apps.create(web_app("other", image="stays"))
        await eventually(lambda: {"follows gone", "follows stays"} <= set(diary.lines))
        # Somebody removes the object and its finalizer at once, so no sync sees that it is being deleted.
        await apps.patch("shop", {"metadata": {"finalizers": None}}, "default")
        await apps.delete("shop", "default")
        await eventually(lambda: "leaves gone" in diary.lines)
        assert "leaves stays" not in diary.lines

    assert diary.lines[-1] == "leaves stays"


async def test_a_daemon_that_fails_is_started_again_after_growing_waits(client: Client, diary: Diary) -> None:
    clock = FakeClock()
    diary.failures = 5
    async with followed(client, diary, clock):
        await client.resource(WebApp).create(web_app())
        await eventually(lambda: diary.failures == 4, clock=clock)
        began = clock.monotonic()

        await eventually(lambda: "follows shop:1" in diary.lines, clock=clock, seconds=100)

    assert 31 <= clock.monotonic() - began <= 63
    assert "leaves shop:1" in diary.lines


def metric(state: str) -> float | None:
    labels = {"name": "followed", "kind": "daemons", "state": state}
    return REGISTRY.get_sample_value("kinformer_tasks", labels)


async def test_daemons_are_shown_with_the_error_of_one_that_fails(client: Client, diary: Diary) -> None:
    clock = FakeClock()
    diary.failures = 1
    known = {"followed": lambda context: Followed(context, diary).controller()}
    manager = Manager(client, known=known, clock=clock)
    async with running(manager):
        await client.resource(WebApp).create(web_app())
        await eventually(lambda: metric("failed") == 1, clock=clock)
        (shown,) = manager.inspector.snapshot().tasks
        (why,) = explain(manager.inspector, "default/shop").controllers

        assert (shown.name, shown.kind, shown.running, shown.failing, shown.errors) == ("followed", "daemons", 0, 1, 1)
        assert (shown.key, shown.error) == ("default/shop", "the stream has ended")
        assert why.daemon is not None
        assert (why.daemon.state, why.daemon.error) == ("failed", "the stream has ended")
        assert why.daemon.due_seconds is not None

        await eventually(lambda: metric("running") == 1, clock=clock, seconds=10)
        (shown,) = manager.inspector.snapshot().tasks
        assert (shown.running, shown.failing, shown.error) == (1, 0, "")

    assert (metric("running"), metric("failed")) == (0, 0)


async def test_daemons_move_with_the_keys_to_another_process(client: Client) -> None:
    clock, held = FakeClock(), {"a": set[str](), "b": set[str]()}
    namespaces = {f"team-{number}" for number in range(12)}
    for namespace in namespaces:
        await client.resource(V1Namespace).create(V1Namespace(metadata=V1ObjectMeta(name=namespace)))
        await client.resource(WebApp).create(web_app(namespace=namespace))

    def process(name: str) -> Manager:
        class Holds(Reconciler[WebApp]):
            name = "holds"

            async def reconcile(self, obj: WebApp) -> None: ...

            async def daemon(self, obj: WebApp) -> None:
                held[name].add(obj.metadata.namespace or "")
                try:
                    await anyio.sleep_forever()
                finally:
                    held[name].remove(obj.metadata.namespace or "")

        return Manager(client, known={"holds": Holds.make_controller}, clock=clock, sharding=Sharding(identity=name))

    async with running(process("a")):
        await eventually(lambda: held["a"] == namespaces, clock=clock, seconds=100)
        async with running(process("b")):
            await eventually(lambda: held["b"] and held["a"] == namespaces - held["b"], clock=clock, seconds=100)
            assert held["a"]
