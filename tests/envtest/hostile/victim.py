"""A server to be attacked, in a process of its own: what would crash or hang it, does so to nobody else.

It may use so much CPU time and so much memory; then the system ends it, and who attacks it finds it gone.
"""

from __future__ import annotations

import http.client
import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import anyio

from kinformer.envtest import ApiServer

__all__ = ("Answer", "Victim", "victim")

_CPU_SECONDS = 30
_BYTES = 2 << 30
_BEAT = 0.002
#: A strict reader's complaints are headers of an answer, up to a hundred.
_MOST_HEADERS = 1_000


class Answer(NamedTuple):
    code: int
    body: Any

    @property
    def message(self) -> str:
        return str(self.body["message"])


class Victim:
    """The other side of such a process."""

    def __init__(self, process: subprocess.Popen[str], port: int, token: str):
        self.process = process
        self._port = port
        self._token = token

    def __call__(
        self, method: str, path: str, body: Any = None, type_: str = "application/json", *, accept: str = "*/*"
    ) -> Answer:
        """
        The answer to a request.

        :raises OSError: if the server does not answer any more
        """
        http.client._MAXHEADERS = _MOST_HEADERS  # type: ignore[attr-defined]
        data = body if isinstance(body, bytes | str | None) else json.dumps(body)
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=200)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": type_, "Accept": accept}
        try:
            connection.request(method, path, data.encode() if isinstance(data, str) else data, headers)
            response = connection.getresponse()
            text = response.read()
            is_json = (response.getheader("Content-Type") or "").startswith("application/json")
            return Answer(response.status, json.loads(text) if is_json else text.decode())
        finally:
            connection.close()

    def is_well(self) -> bool:
        """Whether it lives and serves."""
        return self.process.poll() is None and self("GET", "/readyz").code == 200

    def longest_stall(self) -> float:
        """For how many seconds its event loop stood still at most since this was last asked."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("?\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


@contextmanager
def victim(cpu_seconds: int = _CPU_SECONDS) -> Iterator[Victim]:
    """
    A server of its own for the time of the block.

    :param cpu_seconds: how much CPU time it may use before the system ends it
    """
    command = [sys.executable, "-m", __name__, str(cpu_seconds)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            port, token = process.stdout.readline().split()
            yield Victim(process, int(port), token)
        finally:
            process.kill()


class _Pulse:
    """Measures how long the event loop stands still, in its process's CPU time, which no other one can take."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def beat(self) -> None:
        while True:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            await anyio.sleep(_BEAT)
            self.longest = max(self.longest, resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)

    def answer(self) -> None:
        """Tell it to whoever writes a line; in a thread, so that a loop that stands still does not matter."""
        for _ in sys.stdin:
            print(self.longest, flush=True)
            self.longest = 0.0


async def _serve() -> None:
    pulse = _Pulse()
    async with ApiServer(plugins=False) as server:
        print(server.port, server.token, flush=True)
        threading.Thread(target=pulse.answer, daemon=True).start()
        await pulse.beat()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]),) * 2)
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    anyio.run(_serve)
