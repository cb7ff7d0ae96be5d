"""Compressed parts: the bytes of a lazy field, compressed with a dictionary that other parts of their type gave.

The parts of many objects are alike, so a dictionary makes them far smaller than they could be alone: 4,000 bytes of a
pod's spec and status take 100 to 1,000. A part is an extension of MessagePack, so a file can hold it as it is. It has a
header, the number of its dictionary, a fingerprint of its JSON, and a frame of Zstandard.

The fingerprint shows whether other JSON is the same, without expanding the part. It is of use only in the process that
made it.

A dictionary's number is a digest of its content, so it is the same in each process. Dictionaries stay in memory until
the process ends, because a part may outlive the cache that it was in. :mod:`kinformer.models._compression` limits how
many are made.
"""

from __future__ import annotations

import hashlib
import struct
import threading
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kinformer.models._fingerprints import fingerprint

if TYPE_CHECKING:
    import zstandard

__all__ = (
    "COMPRESSION_MISSING",
    "SHORTEST",
    "Dictionary",
    "compression_is_possible",
    "dictionaries",
    "dictionary_of",
    "expanded",
    "holds",
)

#: Why nothing can be compressed or expanded, where the package is not installed.
COMPRESSION_MISSING: Final = "compression needs the package `zstandard`: pip install 'kinformer[zstd]'"

#: MessagePack's extension with a length of 32 bits: a fixed header.
_CODE: Final = 0xC9
_EXTENSION: Final = 1
#: Code, length of what follows the type, type; number of the dictionary, fingerprint.
_HEADER: Final = struct.Struct(">BIbIq")
_NUMBER: Final = struct.Struct(">I")
_NUMBER_AT: Final = 6
_FINGERPRINT: Final = struct.Struct(">q")
_FINGERPRINT_AT: Final = 10
_COUNTED: Final = _NUMBER.size + _FINGERPRINT.size

#: Bytes: parts that are shorter stay as they are. With their header and Python's own, they would hardly be smaller.
SHORTEST: Final = 200

#: Higher levels take more time, and give parts that are at most a tenth smaller.
_LEVEL: Final = 1

#: All dictionaries of this process by their numbers. Without any, no part that was compressed can be read.
dictionaries: Final[dict[int, Dictionary]] = {}


def compression_is_possible() -> bool:
    """Whether the package that compresses is installed."""
    try:
        import zstandard  # noqa: F401  # an extra
    except ImportError:
        return False
    return True


class _Codecs(threading.local):
    """What compresses and expands with one dictionary. Neither may be used by two threads at once."""

    compressor: zstandard.ZstdCompressor | None = None
    decompressor: zstandard.ZstdDecompressor | None = None


class Dictionary:
    """
    A dictionary. From then on, parts that were compressed with it can be read, here and in any thread.

    :ivar content: its bytes, from which another process can make it
    :raises ImportError: if the package that compresses is not installed
    :raises ValueError: if the content is no dictionary
    """

    __slots__ = ("_codecs", "_dictionary", "_zstandard", "content", "number")

    def __init__(self, content: bytes):
        try:
            import zstandard  # an extra
        except ImportError as error:
            raise ImportError(COMPRESSION_MISSING) from error
        self._zstandard = zstandard
        self.content = content
        (self.number,) = _NUMBER.unpack(hashlib.blake2b(content, digest_size=_NUMBER.size).digest())
        try:
            self._dictionary = zstandard.ZstdCompressionDict(content)
            self._dictionary.precompute_compress(level=_LEVEL)
        except zstandard.ZstdError as error:
            raise ValueError(f"the dictionary is damaged: {error}") from None
        self._codecs = _Codecs()
        dictionaries[self.number] = self

    def compress(self, part: msgspec.Raw | bytes, *, marked: bool = True) -> msgspec.Raw:
        """
        Compress a part, which is JSON.

        :param marked: give it a fingerprint, for :func:`holds`
        """
        codecs = self._codecs
        compressor = codecs.compressor
        if compressor is None:
            compressor = codecs.compressor = self._zstandard.ZstdCompressor(
                level=_LEVEL, dict_data=self._dictionary, write_dict_id=False
            )
        frame = compressor.compress(part)
        header = _HEADER.pack(_CODE, _COUNTED + len(frame), _EXTENSION, self.number, fingerprint(part) if marked else 0)
        return msgspec.Raw(header + frame)

    def expand(self, frame: memoryview) -> bytes:
        """
        The JSON of a frame.

        :raises msgspec.DecodeError: if it is damaged
        """
        codecs = self._codecs
        decompressor = codecs.decompressor
        if decompressor is None:
            decompressor = codecs.decompressor = self._zstandard.ZstdDecompressor(dict_data=self._dictionary)
        try:
            return decompressor.decompress(frame)
        except self._zstandard.ZstdError:
            pass
        raise msgspec.DecodeError("its compressed bytes are damaged")


def dictionary_of(part: msgspec.Raw) -> Dictionary | None:
    """The dictionary that a part was compressed with; None if it is not compressed, or the dictionary is not here."""
    view: memoryview[Any] = memoryview(part)
    if len(view) <= _HEADER.size or view[0] != _CODE:
        return None
    return dictionaries.get(_NUMBER.unpack_from(view, _NUMBER_AT)[0])


def holds(part: msgspec.Raw, json: msgspec.Raw) -> bool:
    """Whether a part is compressed and marked, and has this JSON. False for one that another process compressed."""
    view: memoryview[Any] = memoryview(part)
    return (
        len(view) > _HEADER.size
        and view[0] == _CODE
        and _FINGERPRINT.unpack_from(view, _FINGERPRINT_AT)[0] == fingerprint(json)
    )


def expanded(part: memoryview) -> bytes | None:
    """
    The JSON of a compressed part; None if it is not compressed.

    :raises msgspec.DecodeError: if it is damaged, or its dictionary is not here
    """
    if part[0] != _CODE or len(part) <= _HEADER.size:
        return None
    (number,) = _NUMBER.unpack_from(part, _NUMBER_AT)
    dictionary = dictionaries.get(number)
    if dictionary is None:
        raise msgspec.DecodeError("the dictionary that it was compressed with is not here")
    return dictionary.expand(part[_HEADER.size :])
