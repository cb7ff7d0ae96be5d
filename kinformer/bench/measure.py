"""Measuring: a replay server to measure against, clocks, and the memory of this process."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from anyio.abc import SocketStream

from kinformer.bench.results import CannotRun

__all__ = ("Replay", "Stopwatch", "current_kib", "peak_kib", "replay", "reset_peak")


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

    async def request(self, target: str) -> SocketStream:
        """Send a GET request; returns the connection, from which the response can be read."""
        stream = await anyio.connect_tcp("127.0.0.1", self.port)
        await stream.send(f"GET {target} HTTP/1.1\r\nHost: replay\r\n\r\n".encode())
        return stream

    async def raw_rate(self, events: int) -> float:
        """Events a second for a reader that ignores what it reads. No client can be faster than this."""
        async with await self.request("/api/v1/pods?watch=true") as stream:
            await stream.receive()
            began = time.perf_counter()
            await self.load(events, last=True)
            with suppress(anyio.EndOfStream):
                while True:
                    await stream.receive(1 << 20)
            return events / (time.perf_counter() - began)


@asynccontextmanager
async def replay(objects: int, *, alike: bool = True, tls: bool = False) -> AsyncIterator[Replay]:
    """
    Run a replay server while the block runs.

    :param objects: the number of its pods
    :param alike: whether many pods have the same labels and owner; see :func:`kinformer.bench.pods.pod`
    :param tls: whether it has a port for TLS, too
    :raises CannotRun: if no certificate can be made for TLS
    """
    command = [sys.executable, "-m", "kinformer.bench.replay", str(objects), *([] if alike else ["unlike"])]
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


@dataclass(slots=True)
class Stopwatch:
    """Wall time and this process's CPU time, both in seconds since the stopwatch was made."""

    _wall: float = field(default_factory=time.perf_counter, init=False)
    _cpu: float = field(default_factory=time.process_time, init=False)
    _system: float = field(default_factory=lambda: os.times().system, init=False)

    @property
    def wall(self) -> float:
        return time.perf_counter() - self._wall

    @property
    def cpu(self) -> float:
        return time.process_time() - self._cpu

    @property
    def system(self) -> float:
        """The CPU time of this process in the kernel: it reads from sockets and hands out new memory."""
        return os.times().system - self._system


_PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024


def current_kib() -> int:
    """This process's resident memory in KiB (Linux only)."""
    with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123  # read often: this is faster
        return int(statm.read().split()[1]) * _PAGE_KIB


def peak_kib() -> int:
    """The highest value of :func:`current_kib` since the last :func:`reset_peak`, in KiB (Linux only)."""
    with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123  # as in current_kib()
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1])


def reset_peak() -> None:
    """Let :func:`peak_kib` begin anew (Linux only)."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as clear_refs:  # noqa: PTH123  # as in current_kib()
        clear_refs.write("5")
