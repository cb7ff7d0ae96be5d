"""Secrets stay out of what is logged and raised: every error path is run with canaries in it, and its output searched.

The canaries are the data of Secrets, tokens, and what exec plug-ins print. Each scenario runs at the highest verbosity
and says which events it must have logged, so that one that no longer goes wrong does not pass for one that keeps quiet.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml

from kinformer.cache import CacheMutationDetector, InformerOptions, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.client import Client, ListOptions, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.informers import SharedInformerFactory
from kinformer.logs import configure_logging, get_logger
from kinformer.manager import Controller, Manager
from kinformer.models import V1ObjectMeta, V1Pod, V1ReplicationController, V1Secret, from_dict
from kinformer.record import EventBroadcaster
from tests.client.conftest import ScriptedServer
from tests.turning import eventually

CANARY = "c4n4ry-7f3a"
TOKEN = f"t0k3n-{CANARY}"
ENCODED = base64.b64encode(f"{CANARY}-data".encode()).decode()
#: What must not be seen, also where it was cut, quoted or encoded.
HIDDEN = (CANARY, ENCODED[:12], "t0k3n")

SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {
        "name": "s",
        "namespace": "default",
        "uid": "u",
        "resourceVersion": "5",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": CANARY},
    },
    "data": {"password": ENCODED},
}
LISTED = {"kind": "SecretList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": [SECRET]}


class Output:
    """All that can be seen from outside: the log, and the texts of what was raised."""

    def __init__(self) -> None:
        self.log = io.StringIO()
        self.raised: list[BaseException] = []

    async def raises(self, call: Callable[[], Awaitable[object]]) -> None:
        """Call something that is to fail."""
        try:
            await call()
        except Exception as error:
            self.raised.append(error)
        else:
            raise AssertionError(f"{call} did not fail")

    @property
    def text(self) -> str:
        lines = [self.log.getvalue()]
        for error in self.raised:
            whole: BaseException | None = error
            while whole is not None:
                lines += [str(whole), repr(whole)]
                # As a traceback shows it.
                whole = whole.__cause__ or (None if whole.__suppress_context__ else whole.__context__)
        return "\n".join(lines)

    @property
    def events(self) -> list[str]:
        return [json.loads(line)["event"] for line in self.log.getvalue().splitlines()]

    def check(self, *events: str) -> None:
        """Nothing hidden is seen, and these events are."""
        assert [event for event in events if event not in self.events] == [], self.events
        text = self.text
        assert [f"…{text[max(0, text.index(it) - 300) :][:600]}…" for it in HIDDEN if it in text] == []


@pytest.fixture
def output() -> Output:
    output = Output()
    configure_logging(10, "json", file=output.log)
    return output


@asynccontextmanager
async def scripted(token: str = TOKEN, **options: Any) -> AsyncIterator[tuple[ScriptedServer, Client, FakeClock]]:
    server, clock = ScriptedServer(), FakeClock()
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    host, port = listener.sockets[0].getsockname()[:2]
    server.url = f"http://{host}:{port}"
    try:
        async with connect(url=server.url, token=token, clock=clock, **options) as client:
            yield server, client, clock
    finally:
        listener.close()
        server.close()


def secret(**changes: Any) -> dict[str, Any]:
    return {**SECRET, **changes}


DEEP = b'{"a":' * 3000 + b'"%s"' % CANARY.encode() + b"}" * 3000

BROKEN_BODIES = {
    "no JSON": json.dumps(LISTED).encode()[:-9],
    "not UTF-8": json.dumps(LISTED).encode() + b"\xff",
    "another shape": json.dumps({**LISTED, "items": CANARY}).encode(),
    "a field of another type": json.dumps(
        {**LISTED, "items": [secret(data={"password": 5, "other": ENCODED})]}
    ).encode(),
    "a key": json.dumps({**LISTED, "items": [secret(metadata={CANARY: [], "name": {CANARY: 1}})]}).encode(),
    "an enum": json.dumps({**LISTED, "items": [secret(immutable=CANARY)]}).encode(),
    "a time": json.dumps({**LISTED, "items": [secret(metadata={"creationTimestamp": CANARY})]}).encode(),
    "deep": json.dumps({**LISTED, "items": [secret(data={})]}).encode().replace(b"{}", DEEP),
    "nothing": b"",
}


@pytest.mark.parametrize("body", BROKEN_BODIES.values(), ids=BROKEN_BODIES)
@pytest.mark.parametrize("status", [200, 409, 500])
async def test_an_answer_that_cannot_be_understood_is_not_quoted(output: Output, body: bytes, status: int) -> None:
    async with scripted() as (server, client, clock):
        server.answer(body, status, headers={"X-Secret": CANARY}, times=20)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turning, clock)
            for type_ in (V1Secret, dict):
                secrets = client.resource(type_, ("", "v1", "secrets"), kind="Secret")
                for call in (secrets.list, lambda it=secrets: it.get("s", "default")):
                    try:
                        await call()
                    except Exception as error:
                        output.raised.append(error)
            tasks.cancel_scope.cancel()
    output.check()
    assert output.raised or status == 200


EVENTS = {
    "no JSON": b'{"type":"ADDED","object":{"kind":"Secret","data":{"a":"%s"' % ENCODED.encode(),
    "another type": json.dumps({"type": "ADDED", "object": secret(data={"password": [ENCODED]})}).encode(),
    "no object": json.dumps({"type": "MODIFIED", "object": CANARY}).encode(),
    "no type": json.dumps({"type": CANARY, "object": SECRET}).encode(),
    "no name": json.dumps({"type": "ADDED", "object": secret(metadata={})}).encode(),
    "an error that is none": json.dumps({"type": "ERROR", "object": SECRET}).encode(),
}


@pytest.mark.parametrize("line", EVENTS.values(), ids=EVENTS)
@pytest.mark.parametrize("eager", [True, False])
async def test_an_event_that_cannot_be_understood_is_not_quoted(output: Output, line: bytes, eager: bool) -> None:
    async with (
        scripted() as (server, client, clock),
        SharedInformerFactory(
            client, clock=clock, informer_options=InformerOptions(eager=eager, use_watch_list=False)
        ) as informers,
    ):
        server.answer(LISTED)
        stream = server.stream()
        informer = informers.informer_for(V1Secret)
        informers.start()
        with anyio.fail_after(60):
            await informer.wait_synced()
            await stream.send(line + b"\n")
            await stream.end()
            # Once more a watch, or a list: it has gone on.
            await eventually(lambda: len(server.requests) >= 4, clock)
    output.check("watch_opened")


async def turning(clock: FakeClock) -> None:
    """Let time pass as long as anybody waits for it."""
    while True:
        await anyio.lowlevel.checkpoint()
        if (wait := clock.next_due) is not None:
            clock.turn(wait)


class Failing(Exception):
    """What a user's code raises; the message is its own."""


def fail(*objects: Any) -> Any:
    kept = [getattr(it, "data", it) for it in objects]
    raise Failing(f"{len(kept)} objects")


@pytest.mark.parametrize("part", ["handler", "transform", "index", "sync", "key", "watcher", "mutated"])
async def test_what_users_code_raises_shows_no_object(output: Output, part: str) -> None:
    clock = FakeClock()
    async with scripted() as (server, client, _):
        server.answer(LISTED)
        stream = server.stream()
        detector = CacheMutationDetector("secrets", clock=clock) if part == "mutated" else None
        options: dict[str, Any] = {"transform": fail} if part == "transform" else {}
        if part == "index":
            options["indexers"] = {"data": fail}
        informers = SharedInformerFactory(client, informer_options=InformerOptions(use_watch_list=False))
        informer = informers.informer_for(V1Secret)
        informer = SharedIndexInformer(
            informer.lister_watchers[0],
            V1Secret,
            options=InformerOptions(use_watch_list=False),
            clock=clock,
            mutation_detector=detector,
            **options,
        )
        if part == "handler":
            informer.add_event_handler(ResourceEventHandlerFuncs(add=fail))

        async def sync(key: str) -> None:
            fail(informer.indexer.get_by_key(key))

        controller = Controller("secrets", sync, clock=clock)
        if part == "sync":
            controller.watch(informer)
        if part == "key":
            controller.watch_mapped(informer, fail)
        broadcaster = EventBroadcaster(clock=clock)
        broadcaster.start_event_watcher(fail)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:

                async def run() -> None:
                    try:
                        await informer.run()
                    except Exception as error:
                        output.raised.append(error)

                tasks.start_soon(run)
                tasks.start_soon(broadcaster.run)
                await informer.wait_synced()
                tasks.start_soon(controller.run)
                await stream.send({"type": "MODIFIED", "object": secret(data={"password": ENCODED * 2})})
                if part == "watcher":
                    about: Any = V1Secret(metadata=V1ObjectMeta(name="s", namespace="default"), data={"p": ENCODED})
                    broadcaster.new_recorder("test").event(about, "Normal", "Seen", "It is here")
                for _ in range(200):
                    await anyio.lowlevel.checkpoint()
                if part == "mutated":
                    stored = informer.indexer.list()[0]
                    stored.data["password"] = CANARY
                    stored.metadata.annotations["more"] = CANARY
                    await clock.advance(5)
                tasks.cancel_scope.cancel()
    expected = {"transform": "object_left_out", "index": "object_left_out", "sync": "sync_failed"}
    expected |= {"handler": "event_handler_failed", "key": "event_handler_failed", "watcher": "event_listener_failed"}
    output.check(*([expected[part]] if part in expected else []))
    assert (part == "mutated") == bool(output.raised)


@pytest.mark.parametrize("how", ["refused", "away", "moved", "cut", "throttled"])
async def test_tokens_are_not_told_whatever_the_server_does(output: Output, how: str) -> None:
    async with scripted() as (server, client, clock):
        if how == "refused":
            server.refuse(401, "Unauthorized")
            server.refuse(401, "Unauthorized")
        elif how == "moved":
            server.answer(b"", 302, headers={"Location": "http://127.0.0.1:1/elsewhere"}, times=3)
        elif how == "cut":
            for _ in range(20):
                server.hang_up(b"HTTP/1.1 200 OK\r\nX: ")
        elif how == "throttled":
            server.answer(b"later", 429, headers={"Retry-After": "1"}, times=40)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turning, clock)
            if how == "away":
                async with connect(url="http://127.0.0.1:1", token=TOKEN, clock=clock) as nobody:
                    await output.raises(nobody.resource(V1Secret).list)
            else:
                await output.raises(client.resource(V1Secret).list)
            tasks.cancel_scope.cancel()
    output.check()
    assert output.raised


@pytest.mark.parametrize("token", [f"{TOKEN}\nX-Evil: 1", f"{TOKEN}é€", f"{TOKEN}\0"])
async def test_a_token_that_no_header_can_hold_is_refused_and_not_told(output: Output, token: str) -> None:
    async def use() -> None:
        async with connect(url="http://127.0.0.1:1", token=token) as client:
            await client.server_version()

    await output.raises(use)
    output.check()


def _prints(**status: Any) -> str:
    credential = {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": status}
    return f"print({json.dumps(credential)!r})"


PLUGINS = {
    "fails": f"import sys; print({TOKEN!r}); print({TOKEN!r}, file=sys.stderr); sys.exit(3)",
    "prints no JSON": f"print({TOKEN!r})",
    "prints another kind": f"print({json.dumps({'kind': TOKEN, 'status': {'token': TOKEN}})!r})",
    "prints a number for a token": _prints(token=5, clientKeyData=TOKEN),
    "prints a broken key": _prints(clientCertificateData=TOKEN, clientKeyData=TOKEN),
}


@pytest.mark.parametrize("program", PLUGINS.values(), ids=PLUGINS)
async def test_what_an_exec_plugin_prints_is_not_told(output: Output, program: str, tmp_path: Path) -> None:
    plugin = tmp_path / "plugin.py"
    plugin.write_text(program)
    run = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": [str(plugin)],
        "env": [{"name": "PASSWORD", "value": CANARY}],
        "interactiveMode": "Never",
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"exec": run}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
    }
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(config))

    async def use() -> None:
        async with connect(kubeconfig) as client:
            await client.server_version()

    await output.raises(use)
    output.check()


async def test_a_kubeconfig_that_is_broken_is_not_quoted(output: Output, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    for text in (
        f"users: [{{name: u, user: {{token: {TOKEN}}}}}\n  clusters: {TOKEN}",
        f"users:\n- name: u\n  user: {TOKEN}\n",
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "a",
                "users": [{"name": "u", "user": {"token": [TOKEN]}}],
                "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
            }
        ),
    ):
        kubeconfig.write_text(text)

        async def use() -> None:
            async with connect(kubeconfig) as client:
                await client.server_version()

        await output.raises(use)
    output.check()


async def test_a_server_and_its_controllers_log_nothing_of_what_they_hold(output: Output) -> None:
    container = {"name": "c", "image": "i", "env": [{"name": "PASSWORD", "value": CANARY}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    rc = {
        "metadata": {"name": "rc", "namespace": "default"},
        "spec": {"replicas": 2, "selector": {"a": "b"}, "template": template},
    }
    async with (
        ApiServer(token=TOKEN) as server,
        connect(url=server.url, token=TOKEN) as client,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(Manager(client, controllers=["replicationcontroller"]).run)
        secrets = client.resource(V1Secret)
        await secrets.create({"metadata": {"name": "s", "namespace": "default"}, "stringData": {"p": CANARY}})
        await client.resource(V1ReplicationController).create(from_dict(V1ReplicationController, rc))
        for wrong in (
            client.resource(dict, ("", "v1", "secrets"), kind="Secret").create(
                {"metadata": {"name": "s2", "namespace": "default"}, "data": {"p": 5, "q": ENCODED}}
            ),
            secrets.list("default", ListOptions(resource_version=f"not-{CANARY[:0]}a-number")),
        ):

            async def use(wrong: Awaitable[object] = wrong) -> None:
                await wrong

            await output.raises(use)
        async with connect(url=server.url, token=f"wrong-{TOKEN}") as stranger:
            await output.raises(stranger.resource(V1Secret).list)
        with anyio.fail_after(60):
            while len((await client.resource(V1Pod).list("default")).items) < 2:
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    output.check("manager_starting", "controller_started")


async def test_a_canary_would_be_found(output: Output) -> None:
    get_logger(__name__).debug("event", shown={"deep": [f"before {TOKEN} after"]})
    with pytest.raises(AssertionError, match="before t0k3n"):
        output.check("event")

    async def leak() -> None:
        raise Failing("wrapped") from ValueError(ENCODED)

    quiet = Output()
    await quiet.raises(leak)
    with pytest.raises(AssertionError):
        quiet.check()
