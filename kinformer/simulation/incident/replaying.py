"""Replay a recording, and say what came of it."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from kinformer.logs import silenced
from kinformer.manager import ControllerFactory
from kinformer.recording import RecordingUnusable, read_recording
from kinformer.simulation.determinism import deterministic
from kinformer.simulation.incident.differences import Difference
from kinformer.simulation.incident.player import Player, ReplayClock, SyncRun
from kinformer.simulation.incident.tape import RecordedSync, Tape
from kinformer.simulation.loop import Deadlock, Livelock, SimulatedLoop
from kinformer.simulation.user import controllers_of

__all__ = ("Replay", "replay_recording")


@dataclass(frozen=True, slots=True)
class Replay:
    """
    What came of a replay.

    :param recorded: the recorded syncs of the controllers that were replayed
    :param syncs: the syncs of the replay, in their order
    :param differences: where they differ, in the order of time
    :param seconds: the time that the recording covers
    :param begins_with_process: whether it begins with the start of the process
    """

    recorded: Sequence[RecordedSync]
    syncs: Sequence[SyncRun]
    differences: Sequence[Difference]
    seconds: float
    begins_with_process: bool

    @property
    def is_same(self) -> bool:
        return not self.differences

    def sync(self, number: int) -> SyncRun:
        """
        The replayed sync of a recorded one.

        :param number: the number of the recorded sync
        :raises LookupError: if it was not replayed
        """
        for run in self.syncs:
            if run.number == number:
                return run
        raise LookupError(f"sync {number} was not replayed")

    def about(self, key: str) -> list[Difference]:
        """The differences in syncs of a key, which may have wildcards."""
        return [it for it in self.differences if fnmatchcase(it.key, key)]


def replay_recording(
    path: str | Path,
    controllers: ControllerFactory | str | Sequence[str] | Mapping[str, ControllerFactory] = (),
    *,
    options: Mapping[str, Any] | None = None,
) -> Replay:
    """
    Replay a recording. Call this where no event loop runs.

    :param path: its file
    :param controllers: a factory, names of installed controllers, ``package.module:factory``, or factories by name;
        those of the recording if left out. They may be mended ones
    :param options: options of the controllers, in place of recorded ones
    :raises RecordingUnusable: if the file cannot be read, or has not what is needed
    :raises LookupError: if no controller with a name is installed
    :raises ImportError: if a module cannot be imported
    :raises AttributeError: if a module has no such factory
    """
    return replay_tape(Tape(read_recording(Path(path))), controllers, options)


def replay_tape(
    tape: Tape,
    controllers: ControllerFactory | str | Sequence[str] | Mapping[str, ControllerFactory] = (),
    options: Mapping[str, Any] | None = None,
) -> Replay:
    """Replay a recording that was read. See :func:`replay_recording`."""
    factories = controllers_of(controllers or tape.begin.controllers)
    if not factories:
        raise RecordingUnusable(f"{tape.recorded.path} does not say which controllers ran: name them")
    collects = gc.isenabled()
    gc.disable()  # finalizers would run at times that nothing decides
    try:
        player = _played(tape, factories, options or {})
    finally:
        if collects:
            gc.enable()
    recorded = [sync for sync in tape.syncs.values() if sync.began.controller in player.controllers]
    differences = sorted(player.differences, key=lambda it: it.at)
    return Replay(recorded, player.runs, differences, tape.seconds, tape.begins_with_process)


def _played(tape: Tape, factories: Mapping[str, ControllerFactory], options: Mapping[str, Any]) -> Player:
    loop = SimulatedLoop("recording")
    clock = ReplayClock(loop, tape.begin.wall)
    players: list[Player] = []

    async def play() -> None:
        players.append(Player(tape, factories, options, loop, clock))
        await players[0].play()

    try:
        with deterministic(clock, "recording"), silenced():
            loop.run_and_close(play)
    except (Deadlock, Livelock) as error:
        raise RecordingUnusable(f"{tape.recorded.path} cannot be replayed: {error}") from error
    return players[0]
