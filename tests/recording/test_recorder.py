"""A recorder with a disk that is slow, full or gone: nothing of a manager waits for it."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from structlog.testing import capture_logs

from kinformer.clock import FakeClock
from kinformer.recording import Recorder, Recording, read_recording
from kinformer.recording import recorder as recorder_module
from kinformer.recording.entries import Came, Wall
from kinformer.recording.file import Segment

LINE = b'{"type":"MODIFIED"}\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shops.rec"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@asynccontextmanager
async def recording(path: Path, clock: FakeClock, **options: Any) -> AsyncIterator[Recorder]:
    recorder = Recorder(Recording(path=path, **options), clock)
    recorder.describe(list, controllers=["shops"], options={}, namespaces=[])
    await recorder.open()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(recorder.run)
        try:
            yield recorder
        finally:
            tasks.cancel_scope.cancel()
            await recorder.finish()


async def turned(clock: FakeClock) -> None:
    """Let a quarter of a second pass, and wait until the thread has written what there was."""
    await clock.advance(0.25)
    with anyio.fail_after(60):
        while clock.next_due is None:  # the recorder does not sleep yet
            await anyio.to_thread.run_sync(lambda: None)


async def next_segment(path: Path, clock: FakeClock) -> None:
    """Let time pass until a segment begins. The one before stays as another file."""
    before = inode(path)
    for _ in range(1000):
        await turned(clock)
        if inode(path) != before:
            return
    pytest.fail("no segment has begun")


def inode(path: Path) -> int:
    return path.stat().st_ino


def watch(recorder: Recorder) -> int:
    number = recorder.asked("WATCH", "/api/v1/pods", {}, "", b"")
    recorder.opened(number)
    return number


def data(path: Path) -> bytes:
    return b"".join(entry.data for entry in read_recording(path).entries if isinstance(entry, Came))


async def test_a_cancelled_recorder_writes_what_it_has(path: Path, clock: FakeClock) -> None:
    async with recording(path, clock) as recorder:
        recorder.came(watch(recorder), [LINE])

    assert data(path) == LINE


@pytest.fixture
def place(path: Path) -> Path:
    """Where a link leads to that is in the place of the recording."""
    place = path.parent / "volume" / "shops.rec"
    place.parent.mkdir()
    path.symlink_to(place)
    return place


async def test_a_link_to_another_place_is_followed(path: Path, place: Path, clock: FakeClock) -> None:
    for _ in range(2):
        async with recording(path, clock) as recorder:
            recorder.came(watch(recorder), [LINE])

    assert inode(path) == inode(place)
    assert {it.name for it in place.parent.iterdir()} == {"shops.rec", "shops.rec.1"}
    assert data(path) == LINE


async def test_only_whole_lines_are_written(path: Path, clock: FakeClock) -> None:
    async with recording(path, clock) as recorder:
        number = watch(recorder)
        for piece in (LINE[:5], LINE[5:] + LINE + LINE[:3], LINE[3:], LINE[:7]):
            recorder.came(number, [memoryview(piece)])

    assert data(path) == LINE * 3


@pytest.mark.parametrize("rest_comes", ["before the segment", "in the segment"])
async def test_a_disk_that_hangs_holds_up_neither_the_loop_nor_the_memory(
    path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, rest_comes: str
) -> None:
    monkeypatch.setattr(recorder_module, "_MOST_WAITING", 100_000)
    hangs, goes_on = threading.Event(), threading.Event()
    add = Segment.add

    def slow(self: Segment, entries: Any) -> None:
        hangs.set()
        assert goes_on.wait(10)
        add(self, entries)

    with capture_logs() as logs:
        async with recording(path, clock) as recorder:
            with monkeypatch.context() as patched:
                patched.setattr(Segment, "add", slow)
                number = watch(recorder)
                await clock.advance(0.25)
                assert await anyio.to_thread.run_sync(hangs.wait, 10)
                for _ in range(100):
                    recorder.came(number, [LINE * 100])
                recorder.came(number, [LINE[:4]])
                told = [log["reason"] for log in logs]
                goes_on.set()
            if rest_comes == "before the segment":
                recorder.came(number, [LINE[4:]])
            await next_segment(path, clock)
            if rest_comes == "in the segment":
                recorder.came(number, [LINE[4:]])
            recorder.came(number, [LINE])

    assert told == ["the disk is slower than the events"]
    assert data(path) == LINE
    assert not read_recording(path).begin.is_gapless


async def test_after_a_full_disk_a_segment_is_begun_again(
    path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Segment, entries: Any) -> None:
        raise OSError(28, "No space left on device")

    with capture_logs() as logs:
        async with recording(path, clock) as recorder:
            number = watch(recorder)
            with monkeypatch.context() as patched:
                patched.setattr(Segment, "add", full)
                await turned(clock)
            recorder.came(number, [LINE])
            await next_segment(path, clock)
            recorder.came(number, [LINE, LINE])

    assert [(log["log_level"], log["reason"]) for log in logs] == [("warning", "No space left on device")]
    assert data(path) == LINE * 2
    assert not read_recording(path).begin.is_gapless


async def test_a_block_that_has_no_place_leaves_a_gap(path: Path, clock: FakeClock) -> None:
    noise = random.Random(0).randbytes(2**19).hex().encode()

    with capture_logs() as logs:
        async with recording(path, clock, size=2**20) as recorder:
            recorder.came(watch(recorder), [noise + b"\n"])
            await turned(clock)

    assert [log["reason"] for log in logs] == [
        "a segment is full before the next one may begin: want a larger size",
    ]


async def test_a_wall_clock_that_was_set_is_recorded(path: Path, clock: FakeClock) -> None:
    async with recording(path, clock):
        clock.start += timedelta(hours=1)

    (wall,) = [entry for entry in read_recording(path).entries if isinstance(entry, Wall)]
    assert wall.wall == pytest.approx(clock.now().timestamp())


@pytest.mark.parametrize("size", [2**20, 2**21])
async def test_all_files_together_never_have_more_than_the_size(path: Path, clock: FakeClock, size: int) -> None:
    noise = random.Random(0)
    sizes = []

    async with recording(path, clock, size=size) as recorder:
        number = watch(recorder)
        for _ in range(60):
            recorder.came(number, [noise.randbytes(size // 64).hex().encode() + b"\n"])
            await turned(clock)
            sizes.append(written_to(path))

    assert max(sizes) <= size
    assert len(there(path)) == 4


_WRITING = """
import anyio, sys
from pathlib import Path
from kinformer.clock import RealClock
from kinformer.recording import Recorder, Recording, recorder as module
module._FLUSH = 0.001

async def main():
    recorder = Recorder(Recording(path=sys.argv[1], minutes=0.001), RealClock())
    recorder.describe(list, controllers=[], options={}, namespaces=[])
    await recorder.open()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(recorder.run)
        watch = recorder.asked("WATCH", "/api/v1/pods", {}, "", b"")
        recorder.opened(watch)
        print("begins", flush=True)
        while True:
            recorder.came(watch, [b'{"type":"MODIFIED"}\\n' * 500])
            await anyio.sleep(0)

anyio.run(main)
"""


@pytest.mark.parametrize("written", [2_000, 20_000, 60_000])
def test_a_process_that_is_killed_leaves_a_file_that_can_be_read(path: Path, written: int) -> None:
    with subprocess.Popen([sys.executable, "-c", _WRITING, path], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begins\n"
            while written_to(path) < written and len(there(path)) < 3:
                assert process.poll() is None
        finally:
            process.kill()

    lines = data(path)
    assert lines == LINE * (len(lines) // len(LINE))
    assert lines or read_recording(path).begin.number


def there(path: Path) -> list[Path]:
    return list(path.parent.glob(f"{path.name}*"))


def written_to(path: Path) -> int:
    try:
        return sum(file.stat().st_size for file in there(path))
    except FileNotFoundError:  # it has been moved meanwhile
        return 0
