"""The same replay for other clients: a small script each, in an environment of its own that is made when first wanted.

``benchmarks/peers/peers.toml`` says which there are, ``run_NAME.py`` beside it is the script, and ``NAME.txt`` what
that needs, every version pinned. A script is run with the port of the replay server, the number of pods and the number
of events; it prints its figures as one line of JSON. What cannot run says why, in its row of the table.
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
    :param title: what is measured, as its row calls it
    :param events: so many that a run takes some ten seconds
    :param script: what measures it
    :param requirements: what that needs; the file need not be there
    """

    name: str
    title: str
    events: int
    script: Path
    requirements: Path


def peers() -> list[Peer]:
    """
    All that there are, in the order in which they are told.

    :raises BenchError: if this is no checkout
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
    """One run, in the peer's own environment, which is made first if it has to be."""
    try:
        python = await _environment(peer)
        figures = await _measure(peer, python, quick)
    except _CannotRun as error:
        figures = {FAILED: str(error)}
    yield Row(peer.title, figures)


class _CannotRun(Exception):
    """The text says why, in a line."""


async def _environment(peer: Peer) -> Path:
    """Its Python; the one at hand for who needs nothing else."""
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
    """What a command prints. What it complains of is the reason if it fails."""
    # This environment's variables are for this environment's Python.
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
    """The last thing said, which of a traceback is the error."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip() and not line.startswith("WARNING")]
    return lines[-1][:200] if lines else ""
