"""``kinformer simulate replay``: replay a recording, show where it differs, and make a test of a recorded failure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from kinformer.cli.modules import search_here
from kinformer.cli.simulate import FOUND, SimulateError, check_controllers
from kinformer.cli.simulation_flags import ReplayFlags
from kinformer.logs import escaped
from kinformer.recording import read_recording
from kinformer.simulation.incident.keeping import keep_as_test, wrongs
from kinformer.simulation.incident.replaying import Replay, replay_tape
from kinformer.simulation.incident.tape import RecordedSync, Tape

__all__ = ("run",)

#: How many differences, and how many syncs of a key, are shown as text.
_SHOWN = 20
#: How it is said why a sync has begun for which no object is named.
_WHY = {
    "asked": " (asked for by the controller itself)",
    "due": " (the time that was set had come)",
    "retry": " (a retry after a failure)",
}


def run(*, file: Path, controllers: Sequence[str], flags: ReplayFlags) -> int:
    """
    Replay a recording, and print what differs.

    :param file: the recording
    :param controllers: the controllers; those of the recording if there are none
    :return: the exit status: 0, or :data:`~kinformer.cli.simulate.FOUND` if there are differences
    :raises RecordingUnusable: if the recording cannot be used
    :raises SimulateError: if a controller cannot be used, or there is nothing to compare or to make a test of
    :raises OSError: if the test cannot be written
    """
    search_here()
    tape = Tape(read_recording(file))
    names = list(controllers or tape.begin.controllers)
    check_controllers(names)
    replay = replay_tape(tape, names)
    key, test, wrong = flags.key, flags.test, flags.wrong
    if test is not None:
        if test.suffix != ".py":
            raise SimulateError(f"{test} is no name of a test: want one that ends with .py")
        found = wrongs(replay.recorded, key, flags.syncs, wrong)
        if not found:
            what = f"no recorded sync of {key} sent {wrong}" if wrong else f"no recorded sync of {key} failed"
            raise SimulateError(f"{what}: name the wrong request, as in --wrong 'DELETE */pods/*'")
        copy = keep_as_test(test, tape, names, found)
        fails = any(it.happens_in(replay) for it in found)
        until = "fails until the controller is mended" if fails else "passes: these controllers do not do it again"
        click.echo(f"{test} and {copy} are written. The test {until}: pytest {test}")
    if not replay.about(key) and not any(fnmatchcase(it.began.key, key) for it in replay.recorded):
        about_key = "" if key == "*" else f" of {key}"
        raise SimulateError(f"{file} has no sync{about_key} of these controllers: nothing can be compared")
    if flags.output == "json":
        click.echo(json.dumps(_as_json(replay, key), indent=2))
    else:
        _show(replay, key)
    return FOUND if replay.about(key) else 0


def _show(replay: Replay, key: str) -> None:
    console = Console(highlight=False, markup=False, soft_wrap=True)
    failed = sum(sync.ended is not None and bool(sync.ended.error) for sync in replay.recorded)
    console.print(
        f"{len(replay.recorded)} recorded syncs in {replay.seconds:.1f} seconds, of which {failed} failed. "
        f"{len(replay.syncs)} were replayed."
    )
    if not replay.begins_with_process:
        console.print("The recording does not begin with the process: what controllers remembered is not in it.")
    if key != "*":
        for sync in [it for it in replay.recorded if fnmatchcase(it.began.key, key)][-_SHOWN:]:
            console.print(_sync_text(sync))
    found = replay.about(key)
    if not found:
        console.print("Nothing differs.")
        return
    first = found[0]
    console.print(f"{len(found)} difference{'' if len(found) == 1 else 's'}. Later ones may follow from the first one.")
    for difference in found[:_SHOWN]:
        console.print(escaped(str(difference)))
    if len(found) > _SHOWN:
        console.print(f"and {len(found) - _SHOWN} more: -o json shows all")
    recorded = next((sync for sync in replay.recorded if sync.began.sync == first.sync), None)
    if recorded is not None and key == "*":
        console.print("Recorded was:")
        console.print(_sync_text(recorded))


def _sync_text(sync: RecordedSync) -> str:
    """A recorded sync with its requests."""
    began = sync.began
    why = f" for {began.informer} {began.object} {began.event}" if began.informer else _WHY.get(began.event, "")
    lines = [f"sync {began.sync} of {began.controller} {began.key}{why}: {sync.result or 'not ended'}"]
    lines += [f"    {exchange.text} -> {exchange.outcome or 'no answer'}" for exchange in sync.requests]
    return "\n".join(map(escaped, lines))


def _as_json(replay: Replay, key: str) -> Mapping[str, Any]:
    return {
        "seconds": round(replay.seconds, 3),
        "recordedSyncs": len(replay.recorded),
        "replayedSyncs": len(replay.syncs),
        "beginsWithProcess": replay.begins_with_process,
        "differences": [
            {
                "at": round(it.at, 6),
                "controller": it.controller,
                "key": it.key,
                "sync": it.sync,
                "kind": it.kind,
                "text": it.text,
            }
            for it in replay.about(key)
        ],
    }
