"""Other clients ask for logs, run commands and forward ports at the embedded server."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest
from anyio.abc import ByteStream
from kubernetes_asyncio.client import ApiClient, Configuration, CoreV1Api
from kubernetes_asyncio.stream import WsApiClient

from kinformer.client import Client, connect
from kinformer.envtest import ApiServer
from kinformer.envtest.containers import FakeProcess
from tests.client.pods import running_pod


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer(tls=True, plugins=False, controllers=False) as server:
        yield server


@pytest.fixture
async def client(server: ApiServer) -> AsyncIterator[Client]:
    assert server.authority is not None
    async with connect(url=server.url, token=server.token, ca_data=server.authority.certificate) as client:
        await running_pod(client)
        yield client


async def upper(process: FakeProcess) -> int:
    while data := await process.read():
        await process.write(data.upper())
    await process.write(" ".join(process.command))
    await process.write_error("!")
    return 4


@pytest.fixture
def configuration(server: ApiServer, tmp_path: Path) -> Configuration:
    assert server.authority is not None
    authority = tmp_path / "ca.crt"
    authority.write_bytes(server.authority.certificate)
    configuration = Configuration(host=server.url)
    configuration.ssl_ca_cert = str(authority)
    configuration.api_key = {"BearerToken": f"Bearer {server.token}"}
    return configuration


async def test_kubernetes_asyncio_runs_a_command(
    server: ApiServer, client: Client, configuration: Configuration, caplog: pytest.LogCaptureFixture
) -> None:
    server.containers.command("web", upper)
    async with WsApiClient(configuration) as api:
        v1 = CoreV1Api(api)
        said = await v1.connect_get_namespaced_pod_exec(
            "web", "default", command=["say", "it twice"], stderr=True, stdin=False, stdout=True, tty=False
        )
        assert said == "say it twice!"
    assert caplog.messages == []


async def test_kubernetes_asyncio_reads_the_exit_code_and_writes_input(
    server: ApiServer, client: Client, configuration: Configuration
) -> None:
    async def line(process: FakeProcess) -> int:
        await process.write((await process.read()).upper())
        return 4

    server.containers.command("web", line)
    async with WsApiClient(configuration) as api:
        opened = await CoreV1Api(api).connect_get_namespaced_pod_exec(
            "web", "default", command="line", stderr=True, stdin=True, stdout=True, tty=False, _preload_content=False
        )
        async with opened as socket:
            await socket.send_bytes(b"\x00hello")
            received: dict[int, bytes] = {}
            async for message in socket:
                channel, data = message.data[0], message.data[1:]
                received[channel] = received.get(channel, b"") + data
    assert received[1] == b"HELLO"
    assert WsApiClient.parse_error_data(received[3]) == 4


async def test_kubernetes_asyncio_follows_a_log(
    server: ApiServer, client: Client, configuration: Configuration
) -> None:
    log = server.containers.log("web", ["one", "two"])
    async with ApiClient(configuration) as api:
        v1 = CoreV1Api(api)
        assert await v1.read_namespaced_pod_log("web", "default", tail_lines=1) == "two\n"
        response = await v1.read_namespaced_pod_log("web", "default", follow=True, _preload_content=False)
        assert await response.content.readline() == b"one\n"
        assert await response.content.readline() == b"two\n"
        log.write("three")
        assert await response.content.readline() == b"three\n"
        log.end()
        assert await response.content.readline() == b""


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl here")
class TestKubectl:
    async def _kubectl(self, server: ApiServer, tmp_path: Path, *words: str, stdin: str = "") -> tuple[str, int]:
        config = tmp_path / "kubeconfig"
        server.write_kubeconfig(config)
        process = await asyncio.create_subprocess_exec(
            "kubectl",
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "KUBECONFIG": str(config), "HOME": str(tmp_path)},
        )
        out, _ = await process.communicate(stdin.encode())
        return out.decode(), process.returncode or 0

    async def test_kubectl_shows_logs(self, server: ApiServer, client: Client, tmp_path: Path) -> None:
        log = server.containers.log("web", ["one", "two"])
        log.end()
        assert await self._kubectl(server, tmp_path, "logs", "web", "--tail=1") == ("two\n", 0)
        assert await self._kubectl(server, tmp_path, "logs", "web", "-f") == ("one\ntwo\n", 0)

    async def test_kubectl_runs_a_command_with_input(self, server: ApiServer, client: Client, tmp_path: Path) -> None:
        server.containers.command("web", upper)
        said, code = await self._kubectl(server, tmp_path, "exec", "-i", "web", "--", "say", "it", stdin="hello ")
        assert code == 4
        # kubectl copies both streams at the same time, so the "!" may stand anywhere.
        assert "HELLO say it" in said.replace("!", "")
        assert "command terminated with exit code 4" in said

    async def test_kubectl_attaches(self, server: ApiServer, client: Client, tmp_path: Path) -> None:
        async def main(process: FakeProcess) -> None:
            await process.write("tick\n")

        server.containers.process("web", main)
        said, code = await self._kubectl(server, tmp_path, "attach", "web")
        assert "tick" in said
        assert code == 0

    async def test_kubectl_forwards_a_port(self, server: ApiServer, client: Client, tmp_path: Path) -> None:
        async def upper_case(stream: ByteStream) -> None:
            heard = b""
            async for data in stream:
                heard += data
            await stream.send(heard.upper() * 20_000)

        server.containers.port("web", 8080, upper_case)
        async with self._forwarding(server, tmp_path, "8080") as (port, _):

            async def ask(text: bytes) -> None:
                async with await anyio.connect_tcp("127.0.0.1", port) as connection:
                    await connection.send(text)
                    await connection.send_eof()
                    answer = b"".join([data async for data in connection])
                assert answer == text.upper() * 20_000

            async with anyio.create_task_group() as tasks:
                for text in (b"one", b"two", b"three"):
                    tasks.start_soon(ask, text)
            await ask(b"four")

    async def test_kubectl_is_told_that_nobody_listens_on_a_port(
        self, server: ApiServer, client: Client, tmp_path: Path
    ) -> None:
        server.containers.log("web")
        async with self._forwarding(server, tmp_path, "9") as (port, output):
            with suppress(OSError, anyio.BrokenResourceError):
                async with await anyio.connect_tcp("127.0.0.1", port) as connection:
                    assert b"".join([data async for data in connection]) == b""
            told = await output()
        assert "error forwarding port 9 to pod web: dial tcp4 127.0.0.1:9: connect: connection refused" in told

    @asynccontextmanager
    async def _forwarding(
        self, server: ApiServer, tmp_path: Path, port: str
    ) -> AsyncIterator[tuple[int, Callable[[], Awaitable[str]]]]:
        """The local port, and what says what kubectl says up to its next error."""
        config = tmp_path / "kubeconfig"
        server.write_kubeconfig(config)
        process = await asyncio.create_subprocess_exec(
            "kubectl",
            *("port-forward", "pod/web", f":{port}", "--address=127.0.0.1"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "KUBECONFIG": str(config), "HOME": str(tmp_path)},
        )
        assert process.stdout is not None
        lines = process.stdout

        async def output() -> str:
            said = ""
            while "error" not in said and (line := await lines.readline()):
                said += line.decode()
            return said

        try:
            with anyio.fail_after(60):
                first = (await lines.readline()).decode()
                found = re.match(rf"Forwarding from 127\.0\.0\.1:(\d+) -> {port}", first)
                assert found is not None, first + (await lines.read()).decode()
                yield int(found[1]), output
        finally:
            process.kill()
            await process.wait()
