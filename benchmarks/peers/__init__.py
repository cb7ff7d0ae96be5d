"""Other clients, measured with the same replay server. Each has a small script and its own virtual environment.

``peers.toml`` lists the clients. Beside it, ``run_NAME.py`` is the script of a client, and ``NAME.txt`` has its
requirements with pinned versions. The environment is made before its first use. A script gets the port of the replay
server, the number of pods and the number of events; it prints its figures as one line of JSON. If a client cannot run,
its row of the table says why.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import anyio

from kinformer.bench.results import FAILED, Figures
from kinformer.bench.runner import Case, each
from kinformer.bench.servers import replay

__all__ = ("CASES", "Peer", "measure", "measure_peer", "peers")

_FOLDER = Path(__file__).parent
_OBJECTS = 10_000
_INSTALL_SECONDS = 300
_RUN_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Peer:
    """
    Another client.

    :param title: the label of its row in the table
    :param events: the number of events: a run with so many takes about ten seconds
    :param script: the script that measures it
    :param requirements: the file with the script's requirements; if it does not exist, the script needs none
    """

    title: str
    events: int
    script: Path
    requirements: Path


def peers() -> dict[str, Peer]:
    """All clients by name, in the order of ``peers.toml``."""
    found = tomllib.loads((_FOLDER / "peers.toml").read_text(encoding="utf-8"))
    return {
        name: Peer(peer["title"], peer["events"], _FOLDER / f"run_{name}.py", _FOLDER / f"{name}.txt")
        for name, peer in found.items()
    }


async def measure(peer: str, share: float) -> Figures:
    """
    Measure a client once, in its own environment.

    :param peer: its name in ``peers.toml``
    :param share: the share of the pods and events
    """
    return await measure_peer(peers()[peer], share)


async def measure_peer(peer: Peer, share: float) -> Figures:
    """Measure a client; see :func:`measure`."""
    try:
        return await _measure(peer, await _environment(peer), share)
    except _CannotRun as error:
        return {FAILED: str(error)}


class _CannotRun(Exception):
    """A client cannot run. The text says why, in one line."""


async def _environment(peer: Peer) -> Path:
    """
    The Python of a client's environment, which is made if it is missing or out of date.

    A client without requirements has no environment of its own and uses this process's Python.
    """
    if not peer.requirements.exists():
        return Path(sys.executable)
    venv = _FOLDER.parent / ".peers" / peer.requirements.stem
    python = venv / "bin" / "python"
    made = venv / "made-from"
    wanted = f"{sys.version}\n{hashlib.sha256(peer.requirements.read_bytes()).hexdigest()}\n"
    if not made.exists() or made.read_text(encoding="utf-8") != wanted:
        await _run([sys.executable, "-m", "venv", "--clear", str(venv)], _INSTALL_SECONDS)
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", str(peer.requirements)]
        await _run(pip, _INSTALL_SECONDS)
        made.write_text(wanted, encoding="utf-8")
    return python


async def _measure(peer: Peer, python: Path, share: float) -> Figures:
    objects, events = int(_OBJECTS * share), int(peer.events * share)
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


CASES = {
    "peers": Case(
        "The same pods and events for other clients",
        measure,
        each("peer", tuple(peers()), share=1.0),
        each("peer", tuple(peers()), share=0.1),
        ("events/CPU-s",),
        labels=tuple(peer.title for peer in peers().values()),
        is_repeated=False,
    )
}
