"""A server that answers what a test has scripted, over real sockets on loopback; and an embedded server."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import yaml

from kinformer.client import Client, Resource, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.models import V1Pod
from tests.client.authority import Authority
from tests.client.pods import running_pod

Write = Callable[..., str]


async def eventually(condition: Callable[[], object]) -> None:
    """Give the loop its turn until something is so: bytes are on their way, and nothing tells when they are there."""
    with anyio.fail_after(60):
        while not condition():
            await anyio.lowlevel.checkpoint()


@dataclass
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    def json(self) -> Any:
        return json.loads(self.body)


class Stream:
    """An answer that the test writes bit by bit, as chunks unless it says otherwise."""

    def __init__(self, head: bytes, *, chunked: bool = True):
        self._head = head
        self._chunked = chunked
        self._writer: asyncio.StreamWriter | None = None
        self.opened = anyio.Event()
        self.closed = anyio.Event()

    async def run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        writer.write(self._head)
        self.opened.set()
        try:
            await reader.read(1)  # nothing more is sent on a watch: this returns when the client is gone
        except OSError:
            pass
        finally:
            self.closed.set()

    async def send(self, *events: Any, split: bool = True) -> None:
        lines = [event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n" for event in events]
        for data in lines if split else [b"".join(lines)]:
            await self.send_raw(b"%x\r\n%s\r\n" % (len(data), data) if self._chunked else data)

    async def send_raw(self, data: bytes) -> None:
        with anyio.fail_after(60):
            await self.opened.wait()
        assert self._writer is not None
        self._writer.write(data)
        await self._writer.drain()

    async def end(self) -> None:
        if self._chunked:
            await self.send_raw(b"0\r\n\r\n")
        else:
            await self.cut()

    async def cut(self) -> None:
        await self.send_raw(b"")
        assert self._writer is not None
        self._writer.close()


@dataclass
class ScriptedServer:
    url: str = ""
    requests: list[Request] = field(default_factory=list)
    _script: deque[Any] = field(default_factory=deque)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def answer(
        self, body: Any = b"", status: int = 200, *, headers: dict[str, str] | None = None, times: int = 1
    ) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        content_type = "text/plain" if isinstance(body, bytes) else "application/json"
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}", f"Content-Type: {content_type}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self._script.extend(["\r\n".join(lines).encode() + b"\r\n\r\n" + data] * times)

    def refuse(self, code: int, reason: str = "", message: str = "no", **details: Any) -> None:
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message}
        self.answer({**status, "reason": reason, "code": code, "details": details, "metadata": {}}, code)

    def hang_up(self, partial: bytes = b"") -> None:
        """Close the connection in place of an answer, or in the middle of one."""
        self._script.append(("hang up", partial))

    def hang(self) -> None:
        """Take the request, and say nothing."""
        self._script.append(Stream(b""))

    def stream(self, *, chunked: bool = True, headers: str = "") -> Stream:
        how = "Transfer-Encoding: chunked" if chunked else "Connection: close"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{how}\r\n{headers}\r\n".encode()
        stream = Stream(head, chunked=chunked)
        self._script.append(stream)
        return stream

    async def wait_for_requests(self, count: int) -> Request:
        await eventually(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while await self._serve_one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        method, target, _ = first.split(" ")
        self.requests.append(Request(method, target, headers, body))
        step = self._script.popleft() if self._script else b"HTTP/1.1 500 X\r\nContent-Length: 10\r\n\r\nunscripted"
        if isinstance(step, Stream):
            await step.run(reader, writer)
            return False
        if isinstance(step, tuple):
            writer.write(step[1])
            return False
        writer.write(step)
        return True

    def close(self) -> None:
        for writer in self._writers:
            writer.close()


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    scripted = ScriptedServer()
    listener = await asyncio.start_server(scripted.serve, "127.0.0.1", 0)
    host, port = listener.sockets[0].getsockname()
    scripted.url = f"http://{host}:{port}"
    yield scripted
    listener.close()
    scripted.close()
    await anyio.wait_all_tasks_blocked()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def client(server: ScriptedServer, clock: FakeClock) -> AsyncIterator[Client]:
    async with connect(url=server.url, token="secret", clock=clock) as connected:
        yield connected


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    """An embedded server without controllers, for tests of what needs more than scripted answers."""
    async with ApiServer(plugins=False, controllers=False) as server:
        yield server


@pytest.fixture
async def here(api: ApiServer) -> AsyncIterator[Client]:
    async with connect(url=api.url, token=api.token) as client:
        yield client


@pytest.fixture
async def pods(here: Client) -> Resource[V1Pod]:
    """The verbs of pods, where the pod web runs."""
    return await running_pod(here)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Write:
    def write(
        server: str = "http://127.0.0.1:1", name: str = "config", user: Any = None, cluster: Any = None, **top: Any
    ) -> str:
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": server, **(cluster or {})}}],
            "users": [{"name": "u", "user": user or {}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            **top,
        }
        path = tmp_path / name
        path.write_text(yaml.safe_dump({key: value for key, value in content.items() if value is not None}))
        return str(path)

    return write


@pytest.fixture(autouse=True)
def _no_cluster_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    proxies = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", *proxies):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture
async def tls_server(server: ScriptedServer, authority: Authority) -> AsyncIterator[str]:
    """The scripted server behind TLS, for clients with a certificate; it is called kube.example there."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.ca))
    context.load_cert_chain(*authority.server)
    context.verify_mode = ssl.CERT_REQUIRED
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
    yield f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    listener.close()
