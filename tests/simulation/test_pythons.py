"""The same seed is the same run on every Python.

A small program that needs nothing but the loop has its digest stored here. So each Python is compared with all others,
and a change that gives every known seed another meaning is noticed: it may be meant, and is then stored by
``python -m tests.simulation.test_pythons``.

Whole worlds are compared where other Pythons are at hand with all that kinformer needs: ``make pythons`` makes them.
"""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import os
import random
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Final

import pytest

from kinformer.simulation.determinism import deterministic
from kinformer.simulation.loop import SimulatedLoop
from kinformer.simulation.network import Network

ROOT: Final = Path(__file__).parents[2]
STORED: Final = Path(__file__).with_name("digest_of_a_hundred_seeds.txt")
SEEDS: Final = 100


class _Source:
    """Time as the loop has it, from the first of January on."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.monotonic = loop.time

    def timestamp(self) -> float:
        return 1_767_225_600 + self.monotonic()

    def zone(self) -> datetime.timedelta:
        return datetime.timedelta()


class _Echo(asyncio.Protocol):
    """Gives back what it gets, a little later."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        asyncio.get_running_loop().call_later(random.random(), self._transport.write, data)


async def _talk(name: str, told: list[str]) -> None:
    """Send some words, read what comes back, and note when."""
    reader, writer = await asyncio.open_connection("10.0.0.1", 80)
    for number in range(4):
        writer.write(f"{name}{number}".encode() * random.randint(1, 50))
        await asyncio.sleep(random.random())
        told.append(f"{time.monotonic():.6f} {datetime.datetime.now(datetime.UTC).isoformat()} {name} {number}")
    try:
        while True:
            told.append(f"{name} read {len(await asyncio.wait_for(reader.read(1000), 2))} at {time.time():.6f}")
    except TimeoutError:
        writer.close()


async def _note(told: list[str]) -> None:
    told.append("begun")


async def _program(loop: SimulatedLoop) -> list[str]:
    told: list[str] = []
    server = await loop.create_server(_Echo, "10.0.0.1", 80)
    async with asyncio.TaskGroup() as tasks:
        for name in "abc":
            tasks.create_task(_talk(name, told))
        # Begins at once only if Python knows how, which no run may show.
        later = asyncio.Task(_note(told), loop=loop)
        results = await asyncio.gather(later, asyncio.sleep(0.5, "slept"), tasks.create_task(asyncio.sleep(0, "done")))
        told.append(f"{results} {uuid.uuid4()} {os.urandom(4).hex()} {random.Random().random()}")
        told.append(str(await asyncio.gather(later, return_exceptions=True)))
    server.close()
    return told


def digest() -> str:
    """Of what the program tells, over all seeds."""
    sum_ = hashlib.sha256()
    for seed in range(SEEDS):
        loop = SimulatedLoop(seed)
        Network(loop, seed)
        with deterministic(_Source(loop), seed):
            told = loop.run_and_close(lambda loop=loop: _program(loop))  # type: ignore[misc]
        sum_.update("\n".join([*told, str(loop.steps), ""]).encode())
    return sum_.hexdigest()


def pythons() -> list[Path]:
    """Interpreters that have all that kinformer needs: of ``make pythons``, and those that a variable names."""
    named = [Path(name) for name in os.environ.get("KINFORMER_PYTHONS", "").split(os.pathsep) if name]
    return [*sorted(ROOT.glob(".venv-3.*/bin/python")), *named]


def test_a_hundred_seeds_mean_what_they_meant_on_every_python_before() -> None:
    assert digest() == STORED.read_text().strip()


@pytest.mark.timeout(600)  # a hundred worlds for each Python
def test_a_hundred_worlds_are_the_same_on_the_other_pythons() -> None:
    others = pythons()
    if not others:
        pytest.skip("no other Python is at hand with what kinformer needs: `make pythons` makes them")
    command = ["-m", "tests.simulation.digests", "0", str(SEEDS)]
    running = [
        subprocess.Popen([python, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for python in (Path(sys.executable), *others)
    ]

    here, *there = [process.communicate()[0].splitlines() for process in running]

    assert len(set(here)) == SEEDS
    for python, lines in zip(others, there, strict=True):
        assert lines == here, f"{python} plays them otherwise"


if __name__ == "__main__":
    STORED.write_text(f"{digest()}\n")
