"""Processes that are started again when they end, as a Deployment's pods are, each behind a proxy of its own."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import yaml
from anyio.abc import Process

from kinformer.bench.measure import current_kib
from tests.endurance.member import now
from tests.endurance.proxy import Proxy

__all__ = ("ROOT", "Kept", "Life", "address_of", "apiserver", "behind", "kill_now_and_then", "starved", "until")

ROOT = Path(__file__).parents[2]
#: Seconds from the end of a process until it is started again.
PAUSE = 1.0
#: Seconds that a process may take to end after SIGTERM.
PATIENCE = 60.0


@dataclass(slots=True)
class Life:
    """
    One process, from its start to its end.

    :ivar name: the process's name and the number of its life: ``m1-3``
    :ivar died: when it had ended
    :ivar status: as :class:`subprocess.Popen` has it; None while it runs
    """

    name: str
    process: Process
    began: float = field(default_factory=now)
    died: float = float("inf")
    status: int | None = None


class Kept:
    """
    A process that is kept running.

    :param name: its name
    :param command: returns the command of a life, for the name of this life
    :param folder: what it prints is there, in ``NAME.log``
    :param evidence: the folder of what its lives note: a file for each
    :ivar proxy: what is between it and the server; None if nothing is
    :ivar lives: all that it has had
    """

    def __init__(
        self,
        name: str,
        command: Callable[[str], Sequence[str]],
        folder: Path,
        environment: Mapping[str, str] = {},  # never changed
        between: Proxy | None = None,
        evidence: Path | None = None,
    ) -> None:
        self.name = name
        self.proxy = between
        self.evidence = evidence or folder
        self.lives: list[Life] = []
        self._command, self._folder, self._environment = command, folder, {**os.environ, **environment}
        self._is_over = False

    @property
    def life(self) -> Life:
        """The life that it has, or had last."""
        return self.lives[-1]

    @property
    def mib(self) -> float:
        """Its resident memory; 0 if it does not run."""
        return current_kib(self.life.process.pid) / 1024 if self.life.status is None else 0.0

    def send(self, number: signal.Signals) -> Life:
        """Send a signal to the present process, if there is one."""
        if self.life.status is None:
            with suppress(ProcessLookupError):  # it has ended at this moment
                self.life.process.send_signal(number)
        return self.life

    async def ended(self, life: Life) -> None:
        """Wait until a process has ended."""
        if not await until(lambda: life.status is not None, PATIENCE):
            raise TimeoutError(f"{life.name} has not ended")

    async def is_up(self, settled: float) -> bool:
        """
        Wait until it runs, and its manager was made some seconds ago; returns whether that came about.

        :param settled: seconds
        """
        return await until(lambda: self.life.status is None and self._is_made(settled), PATIENCE + settled)

    def _is_made(self, settled: float) -> bool:
        evidence = self.evidence / self.life.name
        if not evidence.exists():
            return False
        with evidence.open() as lines:
            words = next(lines, "").split()
        return len(words) == 4 and now() - float(words[1]) > settled

    async def end(self) -> int:
        """End it in order, for good; returns its status."""
        self._is_over = True
        life = self.send(signal.SIGTERM)
        await self.ended(life)
        assert life.status is not None
        return life.status

    async def run(self) -> None:
        """Start it, and again whenever it has ended."""
        while not self._is_over:
            name = f"{self.name}-{len(self.lives) + 1}"
            with (self._folder / f"{self.name}.log").open("ab") as log:
                process = await anyio.open_process(
                    self._command(name), cwd=ROOT, env=self._environment, stdout=log, stderr=subprocess.STDOUT
                )
            self.lives.append(life := Life(name, process))
            try:
                status = await process.wait()
            finally:
                with anyio.CancelScope(shield=True):
                    if process.returncode is None:
                        process.kill()
                        await process.wait()
                life.died = now()
            life.status = status
            await anyio.sleep(PAUSE)


async def until(true: Callable[[], bool], seconds: float) -> bool:
    """Wait for what other processes do; returns whether they have done it in time."""
    with anyio.move_on_after(seconds):
        while not true():  # noqa: ASYNC110  # other processes
            await anyio.sleep(0.1)
        return True
    return False


async def kill_now_and_then(processes: Sequence[Kept], every: float, rng: random.Random, outcome: Any) -> None:
    """Kill one of them every so many seconds, and count it in ``kills``."""
    while True:
        await anyio.sleep(every)
        rng.choice(processes).send(signal.SIGKILL)
        outcome.kills += 1


def starved() -> float:
    """The share of the time since this process began for which it was ready to run, and no processor was free."""
    waited = int(Path("/proc/self/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    started = int(Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])
    return waited / (now() - started / os.sysconf("SC_CLK_TCK"))


def address_of(kubeconfig: Path) -> tuple[str, int]:
    """Host and port of the server of a kubeconfig."""
    url = urlsplit(yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"])
    assert url.hostname is not None
    assert url.port is not None
    return url.hostname, url.port


def behind(kubeconfig: Path, between: Proxy, file: Path) -> Path:
    """Write a kubeconfig for a process that has a proxy between itself and the server."""
    found = yaml.safe_load(kubeconfig.read_text())
    cluster = found["clusters"][0]["cluster"]
    cluster["server"] = f"{urlsplit(cluster['server']).scheme}://127.0.0.1:{between.port}"
    file.write_text(yaml.safe_dump(found))
    file.chmod(0o600)
    return file


@asynccontextmanager
async def apiserver(folder: Path, *command: str) -> AsyncIterator[tuple[Path, Kept]]:
    """
    An embedded API server in a process of its own, which is kept running; gives its kubeconfig and the process.

    :param command: the module to run and its arguments; ``kinformer apiserver`` if none is given
    """
    kubeconfig = folder / "server.kubeconfig"
    words = command or ("kinformer", "apiserver", "--port", "0")
    server = Kept("server", lambda _: [sys.executable, "-m", *words, "--kubeconfig-out", str(kubeconfig)], folder)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run)
        if not await until(kubeconfig.exists, PATIENCE):
            raise TimeoutError(f"the server has not started: see {folder}")
        yield kubeconfig, server
        tasks.cancel_scope.cancel()
