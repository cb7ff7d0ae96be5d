"""Files of recordings: what is there after a crash, and what is said of files that are none."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kinformer.recording import RecordingUnusable, read_recording
from kinformer.recording.entries import Asked, Began, Begin, Cached, Came, Entry, Opened
from kinformer.recording.file import SEGMENTS, Segment, SegmentFull, check_place, write_recording


def begin(number: int = 0, *, run: str = "one", is_gapless: bool = False) -> Begin:
    return Begin(
        at=float(number),
        run=run,
        number=number,
        is_gapless=is_gapless,
        wall=1.0,
        version="1",
        controllers=["shops"],
        options={},
        namespaces=[],
        redact=[],
    )


def sync(number: int) -> Began:
    return Began(float(number), number, "shops", "default/corner", "added", "pods", "", "", 0.0)


def segment(path: Path, first: Begin, *entries: Entry, limit: int = 10_000) -> None:
    new = Segment(path, limit)
    new.add([first])
    for entry in entries:
        new.add([entry])
    new.publish()
    new.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shops.rec"


def test_only_the_owner_may_read_a_segment(path: Path) -> None:
    segment(path, begin())

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_recording_leaves_what_another_one_is_writing(path: Path) -> None:
    other, left = path.with_name(f".{path.name}.b.abcdefgh.tmp"), path.with_name(f".{path.name}.abcdefgh.tmp")
    for there in (other, left):
        there.touch()

    segment(path, begin())

    assert {it.name for it in path.parent.iterdir()} == {path.name, other.name}


def test_large_caches_are_compressed_without_zstandard(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    cached = Cached(0.0, "/api/v1/pods", "7", "", ("", ""), b"{}\n" * 2**18)
    segment(path, begin(), cached)

    assert read_recording(path).entries == [cached]
    assert path.stat().st_size < 10_000


def test_segments_of_one_process_are_read_as_one(path: Path) -> None:
    watch = Asked(0.0, 1, 0, "WATCH", "/api/v1/pods", {}, "", b"")
    segment(path, begin(), watch, Opened(0.0, 1), sync(1))
    cached = Cached(1.0, "/api/v1/pods", "7", "", ("", ""), b"{}\n")
    segment(path, begin(1, is_gapless=True), cached, watch, Opened(1.0, 1), Came(1.5, 1, b"{}\n"), sync(2))

    found = read_recording(path)

    assert found.begin == begin()
    assert found.entries == [watch, Opened(0.0, 1), sync(1), Came(1.5, 1, b"{}\n"), sync(2)]


@pytest.mark.parametrize("newer", [begin(1), begin(1, run="two", is_gapless=True), begin(2, is_gapless=True)])
def test_a_gap_between_segments_is_not_read_over(path: Path, newer: Begin) -> None:
    segment(path, begin(), sync(1))
    segment(path, newer, sync(2))

    assert read_recording(path).entries == [sync(2)]
    assert read_recording(path.with_name("shops.rec.1")).entries == [sync(1)]


def test_the_ring_has_four_segments(path: Path) -> None:
    for number in range(SEGMENTS + 3):
        segment(path, begin(number, is_gapless=True), sync(number))

    assert len(list(path.parent.iterdir())) == SEGMENTS
    assert [it.sync for it in read_recording(path).entries if isinstance(it, Began)] == [3, 4, 5, 6]


def test_a_segment_never_grows_beyond_its_limit(path: Path) -> None:
    new = Segment(path, 500)
    new.add([begin()])

    def fill() -> None:
        for number in range(100):
            new.add([Came(0.0, number, os.urandom(50))])

    with pytest.raises(SegmentFull):
        fill()

    new.publish()
    new.close()
    assert path.stat().st_size <= 500


@pytest.mark.parametrize("lost", [1, 8, 20])
def test_a_block_that_was_cut_is_left_out(path: Path, lost: int) -> None:
    segment(path, begin(), sync(1), sync(2))
    path.write_bytes(path.read_bytes()[:-lost])

    assert read_recording(path).entries == [sync(1)]


def test_the_file_before_stays_until_a_segment_has_its_beginning(path: Path) -> None:
    segment(path, begin(), sync(1))

    killed = Segment(path, 10_000)
    killed.add([begin(1)])

    assert read_recording(path).entries == [sync(1)]
    segment(path, begin(2))
    assert not list(path.parent.glob(".*.tmp"))
    killed.close()


def damaged(data: bytes) -> bytes:
    return data[:40] + bytes([data[40] ^ 1]) + data[41:]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda data: b"hello", "is no recording"),
        (lambda data: b"", "is no recording"),
        (lambda data: data[:10], "is cut off"),
        (lambda data: data[:30], "is cut off"),
        (lambda data: data[:11] + b"\x07" + data[12:], "has format 7: want 1"),
        (damaged, "is damaged at byte 12"),
        (lambda data: data[:20] + b"\x09" + data[21:], "is damaged at byte 12"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(path: Path, change: object, text: str) -> None:
    segment(path, begin(), sync(1))
    assert callable(change)
    path.write_bytes(change(path.read_bytes()))

    with pytest.raises(RecordingUnusable, match=rf"shops\.rec {text}"):
        read_recording(path)


def test_a_folder_and_a_missing_file_are_named_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(RecordingUnusable, match="Is a directory"):
        read_recording(tmp_path)
    with pytest.raises(RecordingUnusable, match="No such file"):
        read_recording(tmp_path / "none")


def test_a_file_that_is_no_recording_is_never_overwritten(path: Path) -> None:
    path.write_text("my diary")

    with pytest.raises(RecordingUnusable, match="is no recording: want another name"):
        check_place(path)


def test_two_processes_cannot_record_to_one_file(path: Path) -> None:
    other = Segment(path, 10_000)
    other.add([begin()])
    other.publish()

    with pytest.raises(RecordingUnusable, match="another process records to"):
        check_place(path)

    other.close()
    check_place(path)


@pytest.mark.parametrize("place", ["", "none/shops.rec"])
def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path, place: str) -> None:
    with pytest.raises(RecordingUnusable, match="cannot record to"):
        check_place(tmp_path / place)


def test_a_full_disk_ends_a_segment_with_a_whole_block(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = Segment(path, 10_000)
    new.add([begin()])
    new.publish()
    write = new._file.write
    with monkeypatch.context() as patched:
        patched.setattr(new, "_file", SimpleNamespace(write=lambda data: write(data[:9])))
        with pytest.raises(OSError, match="No space left") as caught:
            new.add([sync(1)])
    new.close()

    assert caught.value.errno == errno.ENOSPC
    assert read_recording(path).entries == []


def test_a_copy_has_everything_in_one_file(path: Path) -> None:
    for number in range(3):
        segment(path, begin(number, is_gapless=True), sync(number))
    copy = path.with_name("copy.rec")

    write_recording(copy, read_recording(path))

    assert [it.sync for it in read_recording(copy).entries if isinstance(it, Began)] == [0, 1, 2]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_what_is_no_file_is_never_replaced(path: Path) -> None:
    path.symlink_to(os.devnull)

    with pytest.raises(RecordingUnusable, match="it is no file, and would be replaced"):
        check_place(path)
