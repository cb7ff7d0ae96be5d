"""Other clients, measured with the same replay server. Each has a small script and its own virtual environment.

``benchmarks/peers/peers.toml`` lists the clients. Beside it, ``run_NAME.py`` is the script of a client, and
``NAME.txt`` has its requirements with pinned versions. The environment is made before its first use. A script gets the
port of the replay server, the number of pods and the number of events; it prints its figures as one line of JSON. If a
client cannot run, its row of the table says why.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import anyio

import kinformer
from kinformer.bench.measure import replay
from kinformer.bench.results import FAILED, BenchError, Figures, Row

__all__ = ("Peer", "peers", "run_peer")

_OBJECTS = 10_000
_INSTALL_SECONDS = 300
_RUN_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Peer:
    """
    Another client.

    :param name: its name in ``peers.toml``
    :param title: the label of its row in the table
    :param events: the number of events: a run with so many takes about ten seconds
    :param script: the script that measures it
    :param requirements: the file with the script's requirements; if it does not exist, the script needs none
    """

    name: str
    title: str
    events: int
    script: Path
    requirements: Path


def peers() -> list[Peer]:
    """
    All clients, in the order of ``peers.toml``.

    :raises BenchError: if kinformer does not run from a checkout
    """
    folder = Path(kinformer.__file__).resolve().parents[1] / "benchmarks" / "peers"
    try:
        found = tomllib.loads((folder / "peers.toml").read_text(encoding="utf-8"))
    except OSError as error:
        raise BenchError("the other clients' benchmarks are in a checkout of kinformer, not in the package") from error
    return [
        Peer(name, peer["title"], peer["events"], folder / f"run_{name}.py", folder / f"{name}.txt")
        for name, peer in found.items()
    ]


async def run_peer(peer: Peer, *, quick: bool) -> AsyncIterator[Row]:
    """
    Measure a client once, in its own environment.

    :param quick: whether to use a tenth of the pods and events
    """
    try:
        python = await _environment(peer)
        figures = await _measure(peer, python, quick)
    except _CannotRun as error:
        figures = {FAILED: str(error)}
    yield Row(peer.title, figures)


class _CannotRun(Exception):
    """A client cannot run. The text says why, in one line."""


async def _environment(peer: Peer) -> Path:
    """
    The Python of a client's environment, which is made if it is missing or out of date.

    A client without requirements has no environment of its own and uses this process's Python.
    """
    if not peer.requirements.exists():
        return Path(sys.executable)
    venv = peer.script.parents[1] / ".peers" / peer.name
    python = venv / "bin" / "python"
    made = venv / "made-from"
    wanted = f"{sys.version}\n{hashlib.sha256(peer.requirements.read_bytes()).hexdigest()}\n"
    if not made.exists() or made.read_text(encoding="utf-8") != wanted:
        await _run([sys.executable, "-m", "venv", "--clear", str(venv)], _INSTALL_SECONDS)
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", str(peer.requirements)]
        await _run(pip, _INSTALL_SECONDS)
        made.write_text(wanted, encoding="utf-8")
    return python


async def _measure(peer: Peer, python: Path, quick: bool) -> Figures:
    objects, events = (_OBJECTS // 10, peer.events // 10) if quick else (_OBJECTS, peer.events)
    async with replay(objects) as server:
        printed = await _run([str(python), str(peer.script), str(server.port), str(objects), str(events)], _RUN_SECONDS)
    try:
        figures: Figures = json.loads(printed.splitlines()[-1])
    except (ValueError, IndexError) as error:
        raise _CannotRun(f"it printed no figures but {printed[-200:]!r}") from error
    return figures


async def _run(command: list[str], seconds: float) -> str:
    """
    Run a command; returns its standard output.

    :raises _CannotRun: if it fails, with the last line of its standard error; or if it takes too long
    """
    # Variables such as PYTHONPATH are meant for this process's Python, not for the client's.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    try:
        with anyio.fail_after(seconds):
            done = await anyio.run_process(command, check=False, stderr=subprocess.PIPE, env=environment)
    except TimeoutError as error:
        raise _CannotRun(f"not over after {seconds:.0f} s") from error
    if done.returncode:
        raise _CannotRun(_reason(done.stderr.decode(errors="replace")) or f"it ended with status {done.returncode}")
    return done.stdout.decode(errors="replace")


def _reason(complaint: str) -> str:
    """The last line of standard error. In a traceback, this line is the error."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip() and not line.startswith("WARNING")]
    return lines[-1][:200] if lines else ""
