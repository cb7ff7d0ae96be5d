"""Compression: what is known of a type's parts, so that the parts of its objects can be compressed.

The first parts of a type are samples, of which a dictionary is made. Later parts are compressed with it. If they do not
become small, or become twice as large as at first, another dictionary is made of other samples. A type has four at
most. If its parts still do not become small, as those of Secrets with random content, it is not compressed any more.

There is one for each type in a process, so that all caches of pods, also of several clusters, share their dictionaries.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any, Final, cast

import msgspec

from kinformer.logs import get_logger
from kinformer.models._base import Model
from kinformer.models._complete import unread
from kinformer.models._compressed import SHORTEST, Dictionary
from kinformer.models._keeping import has_object_meta
from kinformer.models._lazy import LazyField, filling

__all__ = ("Compression", "compression_of")

log = get_logger(__name__)

#: Samples are enough when there are so many, or so many bytes of them. Four times as many take 50 ms instead of 10, and
#: make parts 5 % smaller.
_SAMPLES: Final = 192
_SAMPLE_BYTES: Final = 1 << 19
#: Bytes: the size of a dictionary.
_DICTIONARY: Final = 32 << 10
#: Bytes: what a dictionary is put together from. Parts of objects are alike over long stretches.
_SEGMENT: Final = 2000

#: Bytes that are compressed from one judgement to the next.
_WINDOW: Final = 1 << 20
#: A dictionary is good enough while parts become at least so small, as a share of their size.
_GOOD: Final = 0.6
#: Another dictionary is made if parts become so many times larger than they did at first, and are not tiny either.
_WORSE: Final = 2.0
_TINY: Final = 0.05
#: The most dictionaries of a type. Those that another process made count. Each takes some 0.4 MB in all.
_MOST: Final = 4


class Compression:
    """
    Compresses the parts of one type's objects, in any thread.

    :ivar dictionaries: those that were made or taken over. The last one is in use
    :ivar is_over: whether no part is compressed any more, because it does not pay
    """

    def __init__(self, type_: type[Any]):
        self._type = type_
        #: The lazy fields of a model of a top-level kind; None for other types.
        self._fields: tuple[LazyField, ...] | None = None
        if issubclass(type_, Model) and has_object_meta(type_):
            self._fields = tuple(type_.__lazy_fields__.values())
        self.dictionaries: list[Dictionary] = []
        self.is_over = False
        #: Held while it is decided which dictionaries there are, and from which samples.
        self._learning = threading.Lock()
        self._samples: list[bytes | bytearray | memoryview] | None = []
        self._sampled = 0
        #: The number of dictionaries that were taken over, or that were to be made.
        self._made = 0
        self._before = self._after = 0
        #: The share of their size that parts had after the dictionary in use was made; None: not known yet.
        self._share: float | None = None

    def adopt(self, content: bytes) -> None:
        """
        Take over a dictionary that another process made.

        :raises ImportError: if the package that compresses is not installed
        :raises ValueError: if it is damaged
        """
        with self._learning:
            if all(known.content != content for known in self.dictionaries):
                self.dictionaries.append(Dictionary(content))
                self._made += 1
                self._samples = None

    def begin_pass(self) -> None:
        """Note that objects will come that have been samples before. Types with few objects never get a dictionary."""
        with self._learning:
            if self._samples and not self.dictionaries:
                self._samples, self._sampled = [], 0

    def compress(self, obj: Any) -> None:
        """
        Compress the unread parts of an object, at any depth. Other threads may read the object meanwhile.

        The object may have another type, as a transformer can give it.

        While there is no dictionary, the parts are its samples, and stay as they are. Then it is made, in 10 ms.
        """
        if self.is_over:
            return
        if self._fields is not None and type(obj) is self._type and not self._has_more(obj):
            for field in self._fields:
                self._compress_part(obj, field)
        else:
            for item, found in unread(obj):
                if found is not None:
                    self._compress_part(item, found)
        if self._before >= _WINDOW:
            self._judge()

    def _has_more(self, obj: Any) -> bool:
        """Whether a model may have unread parts besides its own fields: in one that was read, or in its metadata."""
        for field in self._fields or ():
            value = field.peek(obj)
            if type(value) is not msgspec.Raw and value is not None:
                return True
        meta = obj.metadata
        return meta is not None and type(meta).__lazy_fields__["managed_fields"].peek(meta) is not None

    def _compress_part(self, item: Any, field: LazyField) -> None:
        raw = field.peek(item)
        # Short parts stay, and so do parts that have another form than JSON.
        if type(raw) is not msgspec.Raw or len(raw) < SHORTEST or memoryview(raw)[0] > 0x7F:
            return
        if self._samples is not None:
            self._sample(raw)
        if self.dictionaries:
            made = self.dictionaries[-1].compress(raw)
            self._before += len(raw)
            self._after += len(made)
            with filling:
                if field.peek(item) is raw:
                    field.poke(item, made)
                    item._source = None

    def _sample(self, raw: msgspec.Raw) -> None:
        with self._learning:
            if self._samples is None:
                return
            self._samples.append(bytes(raw))
            self._sampled += len(raw)
            if len(self._samples) >= _SAMPLES or self._sampled >= _SAMPLE_BYTES:
                self._learn(self._samples)

    def _learn(self, samples: list[bytes | bytearray | memoryview]) -> None:
        import zstandard  # an extra

        # A dictionary is of use if it is small beside what it is made of.
        size = min(_DICTIONARY, self._sampled // 8)
        self._samples, self._sampled = None, 0
        self._made += 1
        try:
            made = zstandard.train_dictionary(size, samples, k=min(_SEGMENT, size // 4), d=8, level=1)
        except zstandard.ZstdError as error:
            # The samples have nothing in common.
            log.debug("dictionary_not_made", type=self._type.__name__, samples=len(samples), error=str(error))
            self._judge_badly()
            return
        self._before = self._after = 0
        self._share = None
        self.dictionaries.append(Dictionary(made.as_bytes()))
        log.debug("dictionary_made", type=self._type.__name__, samples=len(samples), bytes=size)

    def _judge(self) -> None:
        """Decide, by what the last parts became, whether the dictionary is good."""
        with self._learning:
            if self._before < _WINDOW:  # another thread was faster
                return
            share = self._after / self._before
            self._before = self._after = 0
            if self._share is None:
                self._share = share
            if share > _GOOD:
                self._judge_badly()
            elif share > max(self._share * _WORSE, _TINY) and self._made < _MOST:
                log.debug(
                    "dictionary_is_old",
                    type=self._type.__name__,
                    share=round(share, 2),
                    at_first=round(self._share, 2),
                )
                self._samples, self._sampled = [], 0

    def _judge_badly(self) -> None:
        if self._made < _MOST:
            self._samples, self._sampled = [], 0
        else:
            self.is_over = True
            log.info(
                "compression_given_up", type=self._type.__name__, reason="the parts of its objects do not become small"
            )


@cache
def _compression_of(type_: Any) -> Compression:
    return Compression(type_)


def compression_of(type_: type[Any]) -> Compression:
    """The compression of a type, of which there is one."""
    made: Compression = _compression_of(cast("Any", type_))
    return made
