"""InformerOptions: how an informer follows the server, as one value.

A program gives it to an informer, or to a factory for all its informers. It goes unchanged through the informer to each
reflector, which acts on it. What differs from one informer to the next (its name, indexes, transform) is no part of it.
"""

from __future__ import annotations

import random as _random
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Literal

from kinformer.backoff import Backoff
from kinformer.cache.pager import DEFAULT_MAX_OBJECTS
from kinformer.cache.watch_errors import WatchErrorHandler
from kinformer.models import COMPRESSION_MISSING, compression_is_possible

__all__ = ("DEFAULT_MIN_WATCH_TIMEOUT", "DEFAULT_OPTIONS", "InformerOptions", "QueueKind", "check_options")

#: The queue between the reflector and the store. ``delta`` gathers the changes of each object. ``real`` keeps all
#: changes in the server's order.
QueueKind = Literal["delta", "real"]

#: Seconds. Watches end after a time drawn from this to twice this, so that they do not all end at once.
DEFAULT_MIN_WATCH_TIMEOUT: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InformerOptions:
    """
    :param eager: decode every field of a model as it arrives, not when it is first read. Reading then takes no time,
        and an object that does not fit its type is left out at once. It takes three times the memory.
    :param early: the fields of a model that are decoded as a new object arrives, such as ``("status",)``, although
        `eager` is not set: those that handlers read of every object. They then take less time, and 0.3 to 0.6 KiB of a
        pod less memory, than if they are decoded when they are first read. Heavy parts in them, such as containers,
        wait for their first read.
    :param compress: compress the parts of models that nobody reads, such as ``spec`` and ``status``. The cache takes
        less than half of the memory. A list takes 40 % more CPU, and the first read of a part three times as much.
        Not compressed are dicts, Structs without models in them, the objects of an eager informer, and those of a
        reflector that is used alone.
    :param keep_managed_fields: keep ``metadata.managedFields``, which is dropped otherwise
    :param queue: the queue between the reflector and the store; client-go 1.36 has the ``real`` one only. A reflector
        that is used alone has none.
    :param use_watch_list: whether to ask for a streaming list; a server that does not know it gets a plain list.
        ``"auto"``: not where a plain list of the most recent state costs the server less, see
        :attr:`ListWatch.lists_at_once <kinformer.cache.ListWatch>`
    :param page_size: how many objects to ask for at once when listing; 0 leaves it to client-go's rules (500, or all
        where the server can answer from its watch cache)
    :param max_objects: the greatest number of objects in a list; a longer one is an error, because it has no end
    :param min_watch_timeout: seconds; values under 300 count as 300, to spare the server
    :param max_internal_error_retry: seconds for which a watch that fails with InternalError is opened again without a
        new list
    :param backoff: how long to wait after failures; each reflector waits by a copy of it. A wait ends early when a
        server that could not be reached is back.
    :param relax_collector: whether Python's cycle collector is made to start less often once the cache is large, for
        the whole process; see :mod:`kinformer.collector`
    :param watch_error_handler: called for each failure of a list or watch, before the wait; None: it is logged
    :param random: draws the time after which a watch ends, and the jitter of waits
    :raises ValueError: if `use_watch_list` is none of the three
    :raises TypeError: if `early` is one text
    :raises ImportError: if `compress` is set, and the extra ``kinformer[zstd]`` is not installed
    """

    eager: bool = False
    early: Collection[str] = ()
    compress: bool = False
    keep_managed_fields: bool = False
    queue: QueueKind = "delta"
    use_watch_list: bool | Literal["auto"] = True
    page_size: int = 0
    max_objects: int = DEFAULT_MAX_OBJECTS
    min_watch_timeout: float = DEFAULT_MIN_WATCH_TIMEOUT
    max_internal_error_retry: float = 0.0
    backoff: Backoff | None = None
    relax_collector: bool = True
    watch_error_handler: WatchErrorHandler | None = None
    random: Callable[[], float] = _random.random

    def __post_init__(self) -> None:
        if self.use_watch_list not in (True, False, "auto"):
            raise ValueError(f"use_watch_list is {self.use_watch_list!r}: want True, False or 'auto'")
        if isinstance(self.early, str):
            raise TypeError(f"early is {self.early!r}: want names of fields, as in ({self.early!r},)")
        if self.compress and not compression_is_possible():
            raise ImportError(COMPRESSION_MISSING)


DEFAULT_OPTIONS: Final = InformerOptions()


def check_options(given: object) -> None:
    """
    Refuse anything else than InformerOptions. A dict would fail only when an informer reads its first option.

    :raises TypeError: if they are not InformerOptions
    """
    if not isinstance(given, InformerOptions):
        raise TypeError(f"informer options are a {type(given).__name__}: want InformerOptions(page_size=100)")
