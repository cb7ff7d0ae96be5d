"""The files of a recording: segments of blocks, each block with a checksum.

A segment begins with the state of the caches. Until that is written, the file has another name. Then it is renamed to
``FILE``, and from then on blocks are only appended. So at any moment, also after a crash, ``FILE`` has a whole
beginning. A reader ignores a last block that is not complete. The layout, with numbers in big-endian order::

    KINFREC and a zero byte, the format's number (4 bytes)
    blocks: length (4 bytes), CRC-32 (4 bytes), how it is compressed (1 byte), entries

A block has the entries of a quarter of a second, or a part of the caches at the beginning. It is compressed with
Zstandard if the extra ``kinformer[zstd]`` is installed, which takes a tenth of zlib's time. Otherwise small blocks and
the beginning are compressed with zlib, and large ones are not compressed.
"""

from __future__ import annotations

import errno
import glob
import os
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from kinformer.recording.entries import Asked, Begin, Cached, Entry, Opened, decode_entries, encode_entries

__all__ = (
    "SEGMENTS",
    "Recorded",
    "RecordingUnusable",
    "Segment",
    "SegmentFull",
    "check_place",
    "read_recording",
    "write_recording",
)

SEGMENTS: Final = 4
"""The number of segments that are kept. Those of earlier processes count, too."""

_MAGIC: Final = b"KINFREC\0"
_FORMAT: Final = 1
_BEGIN: Final = struct.Struct(">8sI")
_BLOCK: Final = struct.Struct(">IIB")
_RAW, _ZLIB, _ZSTD = range(3)
#: The largest block that zlib compresses, in bytes. 1 MB a second costs 0.3 % of a core; more would cost too much.
_FOR_ZLIB: Final = 2**18
#: The number of entries in a block of :func:`write_recording`.
_AT_ONCE: Final = 1000
#: The largest size of an unpacked block in bytes. Blocks that are written are smaller.
_MOST: Final = 2**30


class RecordingUnusable(Exception):
    """A recording cannot be written or read. The text names the file, and says why."""


class SegmentFull(Exception):
    """A segment has no room for another block."""


def check_place(path: Path) -> None:
    """
    Check that recordings can be written here, and that no other file is in the place. Blocking.

    :raises RecordingUnusable: if the place cannot be written, or has another file or the file of another process
    """
    if path.exists() and not (path.is_file() or path.is_dir()):  # a directory has an error of its own
        raise RecordingUnusable(f"cannot record to {path}: it is no file, and would be replaced by one")
    try:
        with path.open("rb") as file:
            begins = file.read(len(_MAGIC))
            if begins and begins != _MAGIC:
                raise RecordingUnusable(f"{path} is no recording: want another name, because it would be overwritten")
            import fcntl  # Windows has none, and a manager imports this module

            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RecordingUnusable(f"another process records to {path}: want a file of its own") from None
            except OSError:
                pass  # this file system knows no locks
    except FileNotFoundError:
        pass
    except OSError as error:
        raise RecordingUnusable(f"cannot record to {path}: {error.strerror}") from None
    try:
        handle, name = _new_file(path)
    except OSError as error:
        raise RecordingUnusable(f"cannot record to {path}: {error.strerror}") from None
    os.close(handle)
    Path(name).unlink(missing_ok=True)


def _new_file(path: Path) -> tuple[int, str]:
    return tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)  # mode 0600


def _older(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}") if number else path


class Segment:
    """
    A new segment. :meth:`publish` makes it the newest one of its recording. Only one thread may use it.

    :param path: the recording's file
    :param limit: the largest size of the file, in bytes
    :raises OSError: if it cannot be written
    """

    def __init__(self, path: Path, limit: int) -> None:
        for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
            # Of a process that was killed: only one writes here. Another recording's name may begin like this one.
            if "." not in left.name.removeprefix(f".{path.name}.").removesuffix(".tmp"):
                left.unlink(missing_ok=True)
        self._path = path
        self._limit = limit
        self._pack = _packer()
        handle, name = _new_file(path)
        self._name: str | None = name
        self._file = os.fdopen(handle, "wb", buffering=0)
        import fcntl

        with suppress(OSError):  # a file system that knows no locks
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._file.write(_BEGIN.pack(_MAGIC, _FORMAT))
        #: The size of the file, in bytes.
        self.size = _BEGIN.size

    def add(self, entries: Sequence[Entry]) -> None:
        """
        Append a block.

        :raises SegmentFull: if there is no room for it
        :raises OSError: if it cannot be written
        """
        packed, packed_as = self._pack(encode_entries(entries), self._name is not None)
        length = _BLOCK.size + len(packed)
        if self.size + length > self._limit:
            raise SegmentFull
        head = _BLOCK.pack(len(packed), zlib.crc32(packed), packed_as)
        written = self._file.write(head + packed)
        if written != length:  # the disk is full: a block that was cut is the last one of its segment
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.size += length

    def publish(self) -> None:
        """
        Make it the newest segment. The numbers of the others rise by one, and the oldest segment is removed.

        :raises OSError: if that fails
        """
        assert self._name is not None, "it is called once"
        path = self._path
        for number in range(SEGMENTS - 2, 0, -1):
            if _older(path, number).exists():
                _older(path, number).replace(_older(path, number + 1))
        if path.exists():
            _older(path, 1).unlink(missing_ok=True)
            try:
                os.link(path, _older(path, 1))
            except OSError:  # this file system knows no links: for a moment there is no newest segment
                path.replace(_older(path, 1))
        Path(self._name).replace(path)
        self._name = None

    def close(self) -> None:
        """Close the file. A segment that was not published is removed."""
        self._file.close()
        if self._name is not None:
            Path(self._name).unlink(missing_ok=True)


def _packer() -> Callable[[bytes, bool], tuple[bytes, int]]:
    """
    Return the function that compresses a block, and says how.

    Its second argument says whether the block belongs to the beginning, which has to fit into the segment.
    """
    try:
        import zstandard
    except ImportError:
        return lambda data, begins: (
            (zlib.compress(data, 1), _ZLIB) if begins or len(data) <= _FOR_ZLIB else (data, _RAW)
        )
    compress = zstandard.ZstdCompressor(level=1).compress
    return lambda data, _: (compress(data), _ZSTD)


def write_recording(path: Path, recorded: Recorded) -> None:
    """
    Write a recording to one file that can be read without Zstandard, for a test. Blocking.

    :raises OSError: if it cannot be written
    """
    handle, name = _new_file(path)
    every = [recorded.begin, *recorded.entries]
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_BEGIN.pack(_MAGIC, _FORMAT))
            for at in range(0, len(every), _AT_ONCE):
                packed = zlib.compress(encode_entries(every[at : at + _AT_ONCE]), 9)
                file.write(_BLOCK.pack(len(packed), zlib.crc32(packed), _ZLIB) + packed)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _unpacker(path: Path) -> Callable[[bytes, int], bytes]:
    def unpack(data: bytes, packed_as: int) -> bytes:
        if packed_as == _RAW:
            return data
        if packed_as == _ZLIB:
            return zlib.decompressobj().decompress(data, _MOST)
        if packed_as == _ZSTD:
            try:
                import zstandard
            except ImportError:
                raise RecordingUnusable(f"{path} is compressed with Zstandard: install kinformer[zstd]") from None
            try:
                return zstandard.ZstdDecompressor().decompress(data, max_output_size=_MOST)
            except zstandard.ZstdError as error:
                raise ValueError(str(error)) from None
        raise ValueError(f"compression {packed_as} is not known")

    return unpack


# -- reading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Recorded:
    """
    The content of a recording.

    :param path: its file
    :param begin: the beginning of its first segment
    :param entries: everything after it, of all segments
    """

    path: Path
    begin: Begin
    entries: list[Entry]


def read_recording(path: Path) -> Recorded:
    """
    Read a recording, and its older segments back to the first gap. Blocking.

    :raises RecordingUnusable: if it is no recording, is damaged, or is of another format
    """
    first, *rest = _read(path)
    segments = [(first, rest)]
    name = Path(os.path.realpath(path))
    number = int(name.suffix[1:]) if name.suffix[1:].isdecimal() and len(name.suffix) == 2 else 0
    name = name.with_suffix("") if number else name
    while segments[0][0].is_gapless and number < SEGMENTS - 1:
        number += 1
        if not _older(name, number).exists():
            break
        begin, *entries = _read(_older(name, number))
        newer = segments[0][0]
        if begin.run != newer.run or begin.number != newer.number - 1:
            break
        segments.insert(0, (begin, entries))
    begin, entries = segments[0]
    joined: list[Entry] = []
    known: set[tuple[type[Any], int]] = set()
    for _, more in segments:
        # A later segment begins with the caches, and with requests that an earlier one has already: these are skipped.
        for entry in more:
            if more is not entries and isinstance(entry, Cached):
                continue
            if isinstance(entry, Asked | Opened):
                if (type(entry), entry.exchange) in known:
                    continue
                known.add((type(entry), entry.exchange))
            joined.append(entry)
    return Recorded(path, begin, joined)


def _read(path: Path) -> list[Any]:
    """The entries of one segment. The first is its beginning."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordingUnusable(f"{path} cannot be read: {error.strerror}") from None
    if not data.startswith(_MAGIC):
        raise RecordingUnusable(f"{path} is no recording")
    if len(data) < _BEGIN.size:
        raise RecordingUnusable(f"{path} is cut off")
    if (number := _BEGIN.unpack_from(data)[1]) != _FORMAT:
        raise RecordingUnusable(f"{path} has format {number}: want {_FORMAT}")
    entries: list[Entry] = []
    for block in _blocks(path, data):
        entries += block
    if not entries:
        raise RecordingUnusable(f"{path} is cut off")
    if not isinstance(entries[0], Begin):
        raise RecordingUnusable(f"{path} is damaged: it has no beginning")
    return entries


def _blocks(path: Path, data: bytes) -> Iterator[list[Entry]]:
    unpack, at = _unpacker(path), _BEGIN.size
    while at + _BLOCK.size <= len(data):
        length, checksum, packed_as = _BLOCK.unpack_from(data, at)
        begins = at + _BLOCK.size
        packed = data[begins : begins + length]
        if len(packed) < length:
            return  # the process was killed while it wrote this
        try:
            if zlib.crc32(packed) != checksum:
                raise ValueError("the checksum is another one")
            yield decode_entries(unpack(packed, packed_as))
        except (ValueError, zlib.error, msgspec.MsgspecError) as error:
            raise RecordingUnusable(f"{path} is damaged at byte {at}: {error}") from None
        at = begins + length
