"""The file of a snapshot: blocks of bytes and an index of them, each with a checksum.

A file is written under another name in the same directory, flushed to the disk, and then renamed. So at any moment,
also after a crash, there is either the old file or the new one. Only its owner may read it (mode 0600).

The layout, with numbers in big-endian order::

    KINFSNAP, the format's number (4 bytes)
    the blocks
    the index, as JSON
    the index's length (8 bytes) and CRC-32 (4 bytes), KINFSNAP

A CRC-32 finds damage. It does not protect against attackers: they would need the rights of the file's owner.
"""

from __future__ import annotations

import errno
import glob
import mmap
import os
import struct
import tempfile
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

__all__ = ("Block", "SnapshotFile", "SnapshotUnusable", "write_snapshot")

I = TypeVar("I")  # noqa: E741  # the type of the index

_MAGIC: Final = b"KINFSNAP"
_FORMAT: Final = 1
_BEGIN: Final = struct.Struct(">8sI")
_END: Final = struct.Struct(">QI8s")

#: Seconds after which a file that was not renamed is removed, because its writer is surely gone.
_LEFT_BEHIND: Final = 3600.0


class SnapshotUnusable(Exception):
    """A snapshot cannot be used. The text says why."""


class Block(msgspec.Struct, frozen=True, array_like=True):
    """
    Where a block is in a file.

    :param count: the number of objects in it
    """

    offset: int
    length: int
    checksum: int
    count: int


def write_snapshot(path: Path, blocks: Callable[[Callable[[bytes, int], Block]], Any]) -> None:
    """
    Write a file, and put it in the place of an older one, to which a link may lead. Blocking: call it in a thread.

    :param blocks: called with a function that writes a block, which is given with its number of objects. It returns the
        index
    :raises OSError: if the file cannot be written. The older one then stays
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not (path.is_file() or path.is_dir()):  # a directory has an error of its own
        raise OSError(errno.EINVAL, "it is no file, and would be replaced by one", str(path))
    _clean_up(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_BEGIN.pack(_MAGIC, _FORMAT))

            def add(data: bytes, count: int) -> Block:
                offset = file.tell()
                file.write(data)
                return Block(offset, len(data), zlib.crc32(data), count)

            index = msgspec.json.encode(blocks(add))
            file.write(index)
            file.write(_END.pack(len(index), zlib.crc32(index), _MAGIC))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _sync_directory(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _clean_up(path: Path) -> None:
    """Remove the files of writers that were killed."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with suppress(FileNotFoundError):  # another process has renamed or removed it
            if time.time() - left.stat().st_mtime > _LEFT_BEHIND:
                left.unlink()


class SnapshotFile(Generic[I]):
    """
    A file and its index. Blocking: open and read it in a thread.

    The file is mapped into memory, because to copy 460 MB into fresh memory takes 0.35 s of CPU time. The mapping stays
    as long as an object refers to a part of it. :func:`write_snapshot` never changes an existing file. If another
    program truncates it, the kernel kills the processes that read it (SIGBUS).

    :param index: the index's type
    :raises SnapshotUnusable: if it is no such file, is damaged, is of another format or belongs to another user
    :raises FileNotFoundError: if there is none
    """

    def __init__(self, path: Path, index: type[I]):
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                if status.st_uid != os.geteuid():
                    raise SnapshotUnusable(f"it belongs to user {status.st_uid}")
                if status.st_size < _BEGIN.size + _END.size:
                    raise SnapshotUnusable("it is cut off")
                self._data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except FileNotFoundError:
            raise
        except OSError as error:
            raise SnapshotUnusable(f"it cannot be read: {error.strerror}") from None
        self.index = self._read_index(index)

    def read(self, block: Block) -> memoryview:
        """
        A block's bytes. Any thread may read, and several may.

        :raises SnapshotUnusable: if they are damaged
        """
        data = self._data[block.offset : block.offset + block.length]
        if zlib.crc32(data) != block.checksum:
            raise SnapshotUnusable(f"it is damaged at byte {block.offset}")
        return data

    def _read_index(self, type_: type[I]) -> I:
        magic, number = _BEGIN.unpack_from(self._data)
        if magic != _MAGIC:
            raise SnapshotUnusable("it is no snapshot")
        if number != _FORMAT:
            raise SnapshotUnusable(f"it has format {number}: want {_FORMAT}")
        end = len(self._data) - _END.size
        length, checksum, magic = _END.unpack_from(self._data, end)
        if magic != _MAGIC or length > end - _BEGIN.size:
            raise SnapshotUnusable("it is cut off")
        data = self._data[end - length : end]
        if zlib.crc32(data) != checksum:
            raise SnapshotUnusable("its index is damaged")
        try:
            return msgspec.json.decode(data, type=type_)
        except msgspec.MsgspecError as error:
            raise SnapshotUnusable(f"its index is damaged: {error}") from None
