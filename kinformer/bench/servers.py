"""Servers to measure against. Each runs in a process of its own, so that only the client's process is measured.

- :func:`replay` sends prepared pods and events, as fast as they are read.
- :func:`api_server` is the embedded API server, as ``kinformer apiserver`` runs it.
- :func:`remote` is a function of a benchmark, which makes its own objects and obeys commands.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import anyio
import anyio.to_thread
import structlog
from anyio.abc import SocketStream

from kinformer.bench.measure import Stopwatch
from kinformer.bench.pods import USUAL
from kinformer.bench.results import BenchError, CannotRun
from kinformer.bench.runner import address_of, function_at

__all__ = ("Commands", "Remote", "Replay", "Serve", "Served", "api_server", "at_once", "remote", "replay")


@dataclass(frozen=True, slots=True)
class Replay:
    """
    A replay server in its own process.

    :param port: its port for plain HTTP
    :param objects: the number of its pods
    :param tls_port: its port for TLS, 0 if it has none; :attr:`url` has this port if there is one
    :param authority: the CA certificate for that port, in PEM; None without TLS
    """

    port: int
    objects: int
    tls_port: int = 0
    authority: bytes | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.tls_port}" if self.tls_port else f"http://127.0.0.1:{self.port}"

    async def load(self, events: int, rate: float = 0.0, *, last: bool = False, status: bool = True) -> None:
        """
        Let a watch send events: the open one, or the next one if none is open.

        :param events: the number of events
        :param rate: events a second; 0 for as fast as they are read
        :param last: whether the server ends the watch after these events
        :param status: whether each event changes its pod's status; if not, it changes only the resourceVersion
        """
        flags = f"last={str(last).lower()}&status={str(status).lower()}"
        async with await self.request(f"/load?events={events}&rate={rate}&{flags}") as stream:
            await stream.receive()

    async def sent(self) -> int:
        """How many bytes of lists and watches it has sent so far."""
        async with await self.request("/sent") as stream:
            return int((await stream.receive()).rpartition(b"\n")[2])

    async def request(self, target: str) -> SocketStream:
        """Send a GET request; returns the connection, from which the response can be read."""
        stream = await anyio.connect_tcp("127.0.0.1", self.port)
        await stream.send(f"GET {target} HTTP/1.1\r\nHost: replay\r\n\r\n".encode())
        return stream

    async def raw_read(self, events: int) -> Stopwatch:
        """Let a reader that ignores what it reads get events; returns a stopwatch that began before the first one."""
        async with await self.request("/api/v1/pods?watch=true") as stream:
            await stream.receive()
            watch = Stopwatch()
            await self.load(events, last=True)
            with suppress(anyio.EndOfStream):
                while True:
                    await stream.receive(1 << 18)
            return watch


@asynccontextmanager
async def replay(objects: int, *, alike: bool = True, size: str = USUAL, tls: bool = False) -> AsyncIterator[Replay]:
    """
    Run a replay server while the block runs.

    :param objects: the number of its pods
    :param alike: whether many pods have the same labels and owner; see :func:`kinformer.bench.pods.pod`
    :param size: the size of each pod; see :data:`kinformer.bench.pods.SIZES`
    :param tls: whether it has a port for TLS, too
    :raises CannotRun: if no certificate can be made for TLS
    """
    command = [sys.executable, "-m", "kinformer.bench.replay", str(objects), f"size={size}"]
    if not alike:
        command.append("unlike")
    with TemporaryDirectory() as folder:
        authority = None
        if tls:
            file = Path(folder) / "server.pem"
            authority = _write_certificate(file)
            command.append(f"tls={file}")
        async with await anyio.open_process(command, stderr=None) as process:
            try:
                assert process.stdout is not None
                line = b""
                while not line.endswith(b"\n"):
                    line += await process.stdout.receive()
                ports = map(int, line.split())
                yield Replay(next(ports), objects, next(ports, 0), authority)
            finally:
                process.kill()


def _write_certificate(file: Path) -> bytes:
    """Write a certificate for this machine, with its key; returns the CA certificate, in PEM."""
    from kinformer.envtest.certificates import Authority, CertificatesUnavailable

    try:
        authority = Authority()
    except CertificatesUnavailable as error:
        raise CannotRun(str(error)) from error
    pair = authority.issue("replay", hosts=("127.0.0.1",))
    file.write_bytes(pair.certificate + pair.key)
    return authority.certificate


@contextmanager
def api_server(fake_nodes: int = 0) -> Iterator[Path]:
    """
    Run ``kinformer apiserver`` while the block runs.

    :return: its kubeconfig
    :raises BenchError: if it ends before it is ready
    """
    with TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        command = [sys.executable, "-m", "kinformer", "apiserver", "--port", "0", "--fake-nodes", str(fake_nodes)]
        server = subprocess.Popen(
            [*command, "--kubeconfig-out", str(kubeconfig)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            while not kubeconfig.exists():
                if server.poll() is not None:
                    raise BenchError(f"the API server has ended with status {server.returncode} before it was ready")
                time.sleep(0.02)
            yield kubeconfig
        finally:
            server.terminate()
            server.wait(10)


T = TypeVar("T")


class Served(Protocol):
    """A server, such as :class:`kinformer.envtest.ApiServer`."""

    def write_kubeconfig(self, path: str, /) -> object:
        """Write the file by which clients find the server."""


#: What a server obeys, by name. Each command gets the words after its name.
Commands: TypeAlias = Mapping[str, Callable[..., Awaitable[object]]]

#: Runs a server, and gives it with its commands.
Serve: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[Served, Commands]]]


class Remote(NamedTuple):
    """
    A benchmark's server side in another process.

    :param process: the process
    :param kubeconfig: the kubeconfig of its API server
    """

    process: subprocess.Popen[str]
    kubeconfig: Path

    def do(self, command: str) -> Any:
        """
        Send a command with its arguments, and wait until it is done.

        :return: what the command returns
        :raises BenchError: if the process has ended
        """
        assert self.process.stdin is not None
        print(command, file=self.process.stdin, flush=True)
        return json.loads(_wait_for("done", self.process))


@contextmanager
def remote(serve: Serve, **arguments: object) -> Iterator[Remote]:
    """
    Run a benchmark's server side in another process while the block runs.

    :param serve: a function of a module
    :param arguments: its arguments; JSON must be able to represent them
    :raises BenchError: if the process ends before it is ready
    """
    with TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        command = [sys.executable, "-m", "kinformer.bench.servers", address_of(serve), str(kubeconfig)]
        process = subprocess.Popen(
            [*command, json.dumps(arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            _wait_for("ready", process)
            yield Remote(process, kubeconfig)
        finally:
            process.terminate()
            process.wait(10)


def _wait_for(answer: str, process: subprocess.Popen[str]) -> str:
    """Read the output of a process up to an answer, and return what follows it. Other lines are its log."""
    assert process.stdout is not None
    for line in process.stdout:
        word, _, rest = line.partition(" ")
        if word == answer:
            return rest
    raise BenchError(f"the process of the API server has ended before it was {answer}")


async def at_once(call: Callable[[T], Awaitable[object]], items: Iterable[T], most: int = 50) -> None:
    """
    Call a function for each item, such as an object to write.

    :param most: how many calls run at the same time
    """
    limit = anyio.CapacityLimiter(most)

    async def one(item: T) -> None:
        async with limit:
            await call(item)

    async with anyio.create_task_group() as tasks:
        for item in items:
            tasks.start_soon(one, item)


async def _serve(address: str, kubeconfig: str, arguments: str) -> None:
    """
    Serve until standard input ends. Each line of it is a command with its arguments. It is answered with `done` and
    what the command returns, in JSON.
    """
    serve: Serve = function_at(address)
    async with serve(**json.loads(arguments)) as (server, commands):
        server.write_kubeconfig(kubeconfig)
        _answer("ready", None)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            verb, *words = line.split()
            _answer("done", await commands[verb](*words))


def _answer(word: str, returned: object) -> None:
    sys.stdout.write(f"{word} {json.dumps(returned)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    _, _address, _kubeconfig, _arguments = sys.argv
    anyio.run(_serve, _address, _kubeconfig, _arguments)
