"""Commands in containers: exec and attach over WebSockets, to an embedded server whose commands are functions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import aiohttp
import anyio
import pytest
from aiohttp import web

from kinformer.client import (
    BadRequest,
    Client,
    ClientError,
    CommandFailed,
    ConnectionLost,
    Forbidden,
    Impersonation,
    InternalError,
    MethodNotSupported,
    NotFound,
    Resource,
    ServerUnreachable,
    TooManyRequests,
    connect,
)
from kinformer.clock import FakeClock, RealClock
from kinformer.envtest import ApiServer
from kinformer.envtest.containers import FakeProcess
from kinformer.leaderelection.guard import Guard, WriteRefused, guarded_client
from kinformer.models import V1Pod
from tests.client.conftest import ScriptedServer, eventually
from tests.client.pods import running_pod
from tests.turning import turn


async def cat(process: FakeProcess) -> None:
    while data := await process.read():
        await process.write(data)


async def test_a_command_gives_what_it_wrote_and_its_exit_code(api: ApiServer, pods: Resource[V1Pod]) -> None:
    async def ls(process: FakeProcess) -> int:
        assert process.command == ("ls", "-l", "a b")
        assert (process.namespace, process.pod, process.container) == ("default", "web", "app")
        await process.write("out")
        await process.write_error("err")
        return 3

    api.containers.command("web", ls, name="ls")
    result = await pods.run("web", ["ls", "-l", "a b"], "default")
    assert (result.stdout, result.stderr, result.exit_code) == (b"out", b"err", 3)


async def test_a_command_that_must_succeed_raises_if_it_fails(api: ApiServer, pods: Resource[V1Pod]) -> None:
    async def fail(process: FakeProcess) -> int:
        await process.write_error("first\nno such file\n")
        return 2

    api.containers.command("web", fail)
    with pytest.raises(CommandFailed, match="'rm x' ended with exit code 2: no such file") as caught:
        await pods.run("web", ["rm", "x"], "default", check=True)
    assert caught.value.result.exit_code == 2


async def test_a_command_reads_its_input_to_the_end(api: ApiServer, pods: Resource[V1Pod]) -> None:
    api.containers.command("web", cat)
    data = bytes(range(256)) * 4096  # 1 MiB: many messages, in both directions at once
    result = await pods.run("web", ["cat"], "default", input=data)
    assert result.stdout == data
    assert result.exit_code == 0


async def test_empty_input_is_an_end_at_once(api: ApiServer, pods: Resource[V1Pod]) -> None:
    api.containers.command("web", cat)
    assert (await pods.run("web", ["cat"], "default", input=b"")).stdout == b""


async def test_a_command_without_input_finds_its_end(api: ApiServer, pods: Resource[V1Pod]) -> None:
    api.containers.command("web", cat)
    assert (await pods.run("web", ["cat"], "default")).stdout == b""


async def test_a_command_may_end_and_leave_its_input_unread(api: ApiServer, pods: Resource[V1Pod]) -> None:
    async def head(process: FakeProcess) -> None:
        await process.write((await process.read())[:4])

    api.containers.command("web", head)
    with anyio.fail_after(60):
        result = await pods.run("web", ["head"], "default", input=b"x" * 2**24)
    assert result.stdout == b"xxxx"


async def test_one_talks_to_a_command_while_it_runs(api: ApiServer, pods: Resource[V1Pod]) -> None:
    api.containers.command("web", cat)
    async with pods.exec("web", ["cat"], "default", stdin=True) as session:
        await session.write(b"one")
        assert await anext(session) == ("stdout", b"one")
        assert session.exit_code is None
        await session.write(b"two")
        assert await anext(session) == ("stdout", b"two")
        await session.close_stdin()
        assert await session.wait() == 0
        with pytest.raises(StopAsyncIteration):
            await anext(session)


async def test_a_terminal_has_a_size_and_one_stream(api: ApiServer, pods: Resource[V1Pod]) -> None:
    async def size(process: FakeProcess) -> None:
        assert process.tty
        await process.read()
        await process.write_error(str(process.size))

    api.containers.command("web", size)
    async with pods.exec("web", ["size"], "default", stdin=True, tty=True) as session:
        await session.resize(80, 24)
        await session.write(b"\n")
        assert await anext(session) == ("stdout", b"(80, 24)")
        assert await session.wait() == 0


async def test_one_attaches_to_what_runs_already(api: ApiServer, pods: Resource[V1Pod]) -> None:
    async def main(process: FakeProcess) -> None:
        assert process.command == ()
        await process.write("tick")

    api.containers.process("web", main)
    async with pods.attach("web", "default") as session:
        assert [output async for output in session] == [("stdout", b"tick")]


async def test_the_end_of_a_connection_without_an_exit_code_is_an_error(api: ApiServer, pods: Resource[V1Pod]) -> None:
    async def endless(process: FakeProcess) -> None:
        await process.write("begun")
        await anyio.sleep_forever()

    api.containers.command("web", endless)
    async with pods.exec("web", ["endless"], "default") as session:
        assert (await anext(session)).data == b"begun"
        api.faults.cut_streams()
        with pytest.raises(ConnectionLost):
            await anext(session)
        assert session.exit_code is None


async def test_a_function_is_cancelled_when_its_client_goes_away(api: ApiServer, pods: Resource[V1Pod]) -> None:
    ended = anyio.Event()

    async def endless(process: FakeProcess) -> None:
        try:
            await process.write("begun")
            await anyio.sleep_forever()
        finally:
            ended.set()

    api.containers.command("web", endless)
    async with pods.exec("web", ["endless"], "default") as session:
        await anext(session)
    with anyio.fail_after(60):
        await ended.wait()


async def test_a_command_that_could_not_be_run_is_the_servers_error(api: ApiServer, pods: Resource[V1Pod]) -> None:
    async def broken(process: FakeProcess) -> None:
        raise RuntimeError("a mistake")

    api.containers.command("web", broken)
    with pytest.raises(InternalError, match="a mistake"):
        await pods.run("web", ["broken"], "default")


async def test_refusals_are_the_servers_own_words(api: ApiServer, here: Client, pods: Resource[V1Pod]) -> None:
    api.containers.command("*", cat, name="cat")
    await running_pod(here, "two", "a", "b")
    await pods.create({"metadata": {"name": "new"}, "spec": {"containers": [{"name": "a", "image": "i"}]}}, "default")

    with pytest.raises(NotFound, match='pods "gone" not found'):
        await pods.run("gone", ["cat"], "default")
    with pytest.raises(BadRequest, match="choose one of"):
        await pods.run("two", ["cat"], "default")
    with pytest.raises(BadRequest, match="does not have a host assigned"):
        await pods.run("new", ["cat"], "default")
    with pytest.raises(MethodNotSupported, match=r'server\.containers\.command\("web", function, name="ls"\)'):
        await pods.run("web", ["ls"], "default")


async def test_who_may_only_read_pods_runs_no_commands(api: ApiServer, here: Client, pods: Resource[V1Pod]) -> None:
    api.containers.command("web", cat)
    role = {
        "metadata": {"name": "reader", "namespace": "default"},
        "rules": [{"apiGroups": [""], "resources": ["pods", "pods/exec"], "verbs": ["get"]}],
    }
    binding = {
        "metadata": {"name": "reader", "namespace": "default"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    group = ("rbac.authorization.k8s.io", "v1")
    await here.resource(dict, (*group, "roles")).create(role)
    await here.resource(dict, (*group, "rolebindings")).create(binding)
    async with aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bearer {api.token}", "Impersonate-User": "eve"}
        url = f"{api.url}/api/v1/namespaces/default/pods/web/exec?command=cat&stdout=true"
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(url, headers=headers, protocols=["v5.channel.k8s.io"])
        assert refused.value.status == 403
    async with connect(url=api.url, token=api.token, impersonate=Impersonation(user="eve")) as eve:
        with pytest.raises(Forbidden, match='cannot create resource "pods/exec"'):
            await eve.resource(V1Pod).run("web", ["cat"], "default")


async def test_a_leader_that_lost_its_lease_runs_no_commands(api: ApiServer, here: Client) -> None:
    api.containers.command("web", cat)
    await running_pod(here)
    guard = Guard("kube-system/me", RealClock().monotonic)
    guarded = guarded_client(here, guard).resource(V1Pod)
    with pytest.raises(WriteRefused, match="CONNECT"):
        await guarded.run("web", ["cat"], "default")
    guard.open_until(RealClock().monotonic() + 60)
    assert (await guarded.run("web", ["cat"], "default")).exit_code == 0


async def test_a_command_is_not_started_twice_when_the_connection_breaks(
    server: ScriptedServer, client: Client
) -> None:
    server.hang_up()
    with pytest.raises(ConnectionLost):
        await client.resource(V1Pod).run("web", ["rm"], "default")
    assert len(server.requests) == 1


async def test_a_busy_server_is_asked_again_when_it_says(
    server: ScriptedServer, client: Client, clock: FakeClock
) -> None:
    server.answer(b"", 429, headers={"Retry-After": "5"})
    server.refuse(429, "TooManyRequests")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(turn, clock, 5.0)
        with pytest.raises(TooManyRequests):
            await client.resource(V1Pod).run("web", ["rm"], "default")
    assert len(server.requests) == 2


async def test_a_server_that_opens_no_websocket_is_an_error(server: ScriptedServer, client: Client) -> None:
    server.answer({}, 200)
    with pytest.raises(ClientError, match="was to open a WebSocket, and answered 200"):
        await client.resource(V1Pod).run("web", ["rm"], "default")


async def test_a_refusal_that_does_not_end_costs_no_connection(server: ScriptedServer, client: Client) -> None:
    stream = server.stream()
    stream._head = b"HTTP/1.1 403 X\r\nContent-Length: 9\r\n\r\n{"

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.resource(V1Pod).run, "web", ["ls"], "default")
        await server.wait_for_requests(1)
        await eventually(lambda: client._transport.connections.connector._acquired)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()

    assert not client._transport.connections.connector._acquired


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with connect(url="http://127.0.0.1:1") as client:
        with pytest.raises(ServerUnreachable):
            await client.resource(V1Pod).run("web", ["rm"], "default")


async def test_a_string_is_no_command(client: Client) -> None:
    with pytest.raises(ValueError, match=r'a command is a list of words: \["sh", "-c", \'ls -l\'\]'):
        client.resource(V1Pod).exec("web", "ls -l", "default")
    with pytest.raises(ValueError, match="at least one of"):
        client.resource(V1Pod).exec("web", ["ls"], "default", stdout=False, stderr=False)


@pytest.fixture
async def old_server() -> AsyncIterator[Client]:
    """A kubelet that knows v4 of the protocol and no other."""

    async def exec_(request: web.BaseRequest) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",))
        await socket.prepare(request)
        for channel in range(4):
            await socket.send_bytes(bytes((channel,)))
        await socket.send_bytes(b"\x01hello")
        status = {"status": "Failure", "reason": "NonZeroExitCode"}
        status["details"] = {"causes": [{"reason": "ExitCode", "message": "7"}]}  # type: ignore[assignment]
        data = json.dumps(status).encode()
        await socket.send_bytes(b"\x03" + data[:10])
        await socket.send_bytes(b"\x03" + data[10:])
        await socket.close()
        return socket

    runner = web.ServerRunner(web.Server(exec_))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0]
    async with connect(url=f"http://{host}:{port}") as client:
        yield client
    await runner.cleanup()


async def test_a_server_that_speaks_only_v4_is_understood(old_server: Client) -> None:
    result = await old_server.resource(V1Pod).run("web", ["sh"], "default")
    assert (result.stdout, result.exit_code) == (b"hello", 7)


async def test_v4_cannot_close_stdin_and_says_so(old_server: Client) -> None:
    pods = old_server.resource(V1Pod)
    with pytest.raises(ClientError, match=r"v4\.channel\.k8s\.io, in which standard input cannot be closed"):
        await pods.run("web", ["sh"], "default", input=b"x")
