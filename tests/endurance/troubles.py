"""Troubles: what goes wrong with processes, drawn from a seed, one after the other.

The seed names the order of troubles and whom they meet. When one begins depends on the machine: all keys are synced and
all processes are up before.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import anyio

from tests.endurance.running import Kept, Life

__all__ = ("Trouble", "play", "troubles")


@dataclass(frozen=True, slots=True)
class Trouble:
    """
    :param kind: what happens
    :param names: the processes that it happens to
    :param seconds: how long it takes; 0 if it happens at once
    """

    kind: str
    names: tuple[str, ...]
    seconds: float = 0.0

    @property
    def row(self) -> str:
        """Its row in a table."""
        return f"{self.kind} {self.seconds:g} s" if self.seconds else self.kind

    def __str__(self) -> str:
        return f"{self.row} ({', '.join(self.names)})"


#: How many seconds later a proxy passes everything on. Beyond 2.5 s a write may come after the Lease is another's.
DELAY = 0.5
#: What happens to one process, and how many seconds it takes.
_ONE = (
    ("SIGKILL", 0.0),
    ("SIGSTOP", 10.0),
    ("SIGSTOP", 25.0),
    ("SIGSTOP", 60.0),
    ("cut off", 10.0),
    ("cut off", 25.0),
    ("silence", 10.0),
    ("silence", 25.0),
    ("delay of 0.5 s for", 20.0),
    ("clock leaps", 0.0),
)
_MANY = ("SIGKILL of two", "rolling update")


def troubles(seed: int, shards: Sequence[str], candidates: Sequence[str]) -> Iterator[Trouble]:
    """
    An endless plan. Each kind of trouble comes once before any comes again.

    :param shards: the names of the members of a group of shards
    :param candidates: the names of those that may lead
    """
    rng = random.Random(seed)
    while True:
        kinds: list[tuple[str, float]] = [*_ONE, *((kind, 0.0) for kind in _MANY)]
        rng.shuffle(kinds)
        for kind, seconds in kinds:
            if kind == "rolling update":
                yield Trouble(kind, (*shards, *candidates))
            elif kind == "SIGKILL of two":
                # Not both candidates: the next one would have to see the Lease, and wait for as long as it lasts.
                yield Trouble(kind, (*rng.sample(shards, 1), rng.choice(candidates)))
            else:
                yield Trouble(kind, (rng.choice((*shards, *candidates)),), seconds)


async def play(trouble: Trouble, processes: Sequence[Kept], settled: float = 3.0) -> None:
    """
    Let it happen, and return when it is over.

    :param processes: those that it happens to
    :param settled: in a rolling update, seconds from the start of a process until the next one is ended
    """
    killed: list[tuple[Kept, Life]] = []
    for process in processes:
        match trouble.kind:
            case "SIGKILL" | "SIGKILL of two":
                killed.append((process, process.send(signal.SIGKILL)))
            case "clock leaps":
                process.send(signal.SIGUSR2)
            case "rolling update":
                await process.ended(process.send(signal.SIGTERM))
                await process.is_up(settled)
            case _:
                with _lasting(trouble.kind, process):
                    await anyio.sleep(trouble.seconds)
    for process, life in killed:
        await process.ended(life)


def _lasting(kind: str, process: Kept) -> AbstractContextManager[None]:
    """A trouble that takes some time."""
    assert process.proxy is not None
    match kind:
        case "SIGSTOP":
            return _stopped(process)
        case "cut off":
            return process.proxy.cutting()
        case "silence":
            return process.proxy.holding()
        case _:
            return process.proxy.slowing(DELAY)


@contextmanager
def _stopped(process: Kept) -> Iterator[None]:
    life = process.send(signal.SIGSTOP)
    try:
        yield
    finally:
        if life.status is None:
            life.process.send_signal(signal.SIGCONT)
