"""Keeping: a test of a recorded failure, in a file that a user keeps.

The test replays a copy of the recording beside it. It fails as long as the controller does again what was wrong: it
sends the wrong request in the same sync, or the sync fails in the same way. What was wrong is a request that the user
names. If the user names none, it is each recorded sync that failed.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from kinformer.recording.file import write_recording
from kinformer.simulation.incident.replaying import Replay
from kinformer.simulation.incident.tape import RecordedSync, Tape

__all__ = ("Wrong", "keep_as_test", "wrongs")

_TEST: Final = '''"""An incident of {day}, recorded by kinformer."""

from pathlib import Path

from kinformer.simulation.testing import replay_recording

RECORDING = Path(__file__).with_name({recording})
CONTROLLERS = {controllers}


def test_the_incident_does_not_happen_again() -> None:
    replay = replay_recording(RECORDING, CONTROLLERS)
{asserts}
'''


#: Characters of a line with its comment.
_LONGEST: Final = 160
#: The least status of a refusal.
_REFUSED: Final = 400


@dataclass(frozen=True, slots=True)
class Wrong:
    """
    What a recorded sync did wrong.

    :param request: the request that must not be sent again; empty if the sync failed without one
    """

    sync: RecordedSync
    request: str

    @property
    def statement(self) -> str:
        began = self.sync.began
        sync = f"replay.sync({began.sync})"
        what = f"  # {began.controller} {began.key}: {self.sync.result}"
        check = f"    assert not {sync}.error"
        if self.request:
            check = f"    assert {json.dumps(self.request)} not in {sync}.requests"
        # A carriage return would end the comment, and what a server has said would be code.
        comment = "".join(one if one.isprintable() else " " for one in what)
        return check + comment[: max(_LONGEST - len(check), 0)]

    def happens_in(self, replay: Replay) -> bool:
        """Whether a replay does it again, so that the test fails."""
        run = next((run for run in replay.syncs if run.number == self.sync.began.sync), None)
        return run is not None and (self.request in run.requests if self.request else bool(run.error))


def wrongs(recorded: Iterable[RecordedSync], key: str, numbers: Collection[int], request: str) -> list[Wrong]:
    """
    What was wrong in recorded syncs.

    :param key: only in syncs of this key, which may have wildcards
    :param numbers: only in the syncs with these numbers; in all if there are none
    :param request: a request with wildcards, such as ``DELETE */pods/*``; empty: what failed
    """
    syncs = [it for it in recorded if fnmatchcase(it.began.key, key) and (not numbers or it.began.sync in numbers)]
    if request:
        return [Wrong(sync, text) for sync in syncs for text in _texts(sync) if fnmatchcase(text, request)]
    return [wrong for sync in syncs if sync.ended is not None and sync.ended.error for wrong in _failure(sync)]


def _texts(sync: RecordedSync) -> list[str]:
    return [exchange.text for exchange in sync.requests]


def _failure(sync: RecordedSync) -> Iterator[Wrong]:
    if not sync.is_whole:
        return
    refused = [it.text for it in sync.requests if it.over is not None and it.over.status >= _REFUSED]
    yield Wrong(sync, refused[-1] if refused else "")


def keep_as_test(test: Path, tape: Tape, controllers: Sequence[str], found: Sequence[Wrong]) -> Path:
    """
    Write a test, and a copy of the recording beside it.

    :return: the copy
    :raises FileExistsError: if there is a file in the place of the test, or of the copy
    :raises OSError: if it cannot be written
    """
    copy = test.with_suffix(".rec")
    for place in (test, copy):
        if place.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place))
    text = _TEST.format(
        day=datetime.fromtimestamp(tape.begin.wall, UTC).date(),
        recording=json.dumps(copy.name),
        controllers=json.dumps(list(controllers)),
        asserts="\n".join(dict.fromkeys(it.statement for it in found)),
    )
    with test.open("x", encoding="utf-8") as file:
        file.write(text)
    write_recording(copy, tape.recorded)
    return copy
