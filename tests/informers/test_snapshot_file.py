from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinformer.informers import snapshot_file
from kinformer.informers.snapshot_file import Block, SnapshotFile, SnapshotUnusable, write_snapshot


class Killed(BaseException):
    """The process was killed."""


def write(path: Path, *blocks: bytes) -> None:
    write_snapshot(path, lambda add: [add(block, 1) for block in blocks])


def read(path: Path) -> list[bytes]:
    file = SnapshotFile(path, list[Block])
    return [bytes(file.read(block)) for block in file.index]


def test_a_crash_at_any_step_leaves_the_old_or_the_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, found = tmp_path / "caches", []
    for last in range(9):
        write(path, b"old")
        steps: list[str] = []

        def step(name: str, function: Callable[..., Any], steps: list[str] = steps, last: int = last) -> Any:
            def taken(*args: Any) -> Any:
                if len(steps) == last:
                    raise Killed
                steps.append(name)
                return function(*args)

            return taken

        class Written:
            """A file each of whose writes is a step."""

            def __init__(self, handle: int, mode: str) -> None:
                self.file = open(handle, mode, buffering=0)  # noqa: SIM115  # closed by __exit__
                self.write = step("write", self.file.write)

            def __enter__(self) -> Any:
                return self

            def __exit__(self, *_: object) -> None:
                self.file.close()

            def __getattr__(self, name: str) -> Any:
                return getattr(self.file, name)

        with monkeypatch.context() as patched:
            patched.setattr(snapshot_file.os, "fdopen", Written)
            patched.setattr(snapshot_file.os, "fsync", step("sync", os.fsync))
            patched.setattr(Path, "replace", step("rename", Path.replace))
            patched.setattr(Path, "unlink", lambda *_, **__: None)  # nobody tidies up after a kill
            try:
                write(path, b"new", b"er")
            except Killed:
                found.append(read(path))

    assert steps == ["write"] * 5 + ["sync", "rename", "sync"]
    assert found == [[b"old"]] * 7 + [[b"new", b"er"]]


def test_a_disk_that_is_full_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "caches"
    write(path, b"old")
    monkeypatch.setattr(snapshot_file.os, "fsync", full)

    with pytest.raises(OSError, match="No space left"):
        write(path, b"new")

    assert read(path) == [b"old"]
    assert [left.name for left in tmp_path.iterdir()] == ["caches"]


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "caches"
    write(path, b"theirs")
    monkeypatch.setattr(snapshot_file.os, "geteuid", lambda: 4711)

    with pytest.raises(SnapshotUnusable, match="it belongs to user"):
        read(path)


def test_what_killed_writers_have_left_is_removed_after_an_hour(tmp_path: Path) -> None:
    path = tmp_path / "caches[1]"
    young, old = tmp_path / ".caches[1].young.tmp", tmp_path / ".caches[1].old.tmp"
    for left in (young, old):
        left.touch()
    os.utime(old, (0, 0))

    write(path, b"new")

    assert sorted(left.name for left in tmp_path.iterdir()) == [".caches[1].young.tmp", "caches[1]"]


def test_another_writer_may_rename_a_file_while_old_ones_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "caches"
    monkeypatch.setattr(Path, "glob", lambda folder, _: [folder / ".caches.renamed.tmp"])

    write(path, b"new")

    assert read(path) == [b"new"]


def test_a_link_to_another_place_is_followed(tmp_path: Path) -> None:
    path, place = tmp_path / "caches", tmp_path / "volume" / "caches"
    place.parent.mkdir()
    path.symlink_to(place)

    write(path, b"new")

    assert path.is_symlink()
    assert read(place) == [b"new"]


def test_what_is_no_file_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    path.symlink_to(os.devnull)

    with pytest.raises(OSError, match="it is no file, and would be replaced"):
        write_snapshot(path, lambda add: [add(b"block", 1)])

    assert path.is_symlink()
