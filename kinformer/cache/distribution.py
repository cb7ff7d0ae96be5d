"""Distribution: what an informer does with each change that its queue hands out.

The store comes first. Then the mutation detector sees the object, and each handler's ring buffer gets the notification.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kinformer.cache.controller import delta_processor
from kinformer.cache.mutation_detector import MutationDetector
from kinformer.cache.processor import ADD, DELETE, UPDATE, SharedProcessor
from kinformer.cache.queue import PopProcessFunc
from kinformer.cache.store import Indexer
from kinformer.meta import Accessor

__all__ = ("distributor",)

T = TypeVar("T")


def distributor(
    accessor: Accessor[T],
    indexer: Indexer[T],
    detector: MutationDetector,
    processor: SharedProcessor[T],
    *,
    in_order: bool,
) -> PopProcessFunc:
    """
    Make the function that processes each pop: it updates the store, the mutation detector, the listeners' buffers.

    :param in_order: whether it processes all changes of the store, so that each of them moves the store's version
    """
    same_version = accessor.same_version
    distribute, distribute_sync, everyone = processor.distribute, processor.distribute_sync, processor.everyone
    watch_over: Callable[[Any], None] | None = detector.add_object if detector.enabled else None

    def on_add(obj: T, is_in_initial_list: bool) -> None:
        if watch_over is not None:
            watch_over(obj)
        distribute((ADD, obj, is_in_initial_list))

    def on_update(old: T, new: T) -> None:
        if watch_over is not None:
            watch_over(new)
        # The same version again is a resync, or a list that found nothing new.
        if same_version(old, new):
            distribute_sync((UPDATE, old, new))
            return
        # distribute(...), written out: nearly all changes come here.
        notification = (UPDATE, old, new)
        for append in everyone:
            append(notification)

    def on_delete(obj: Any) -> None:
        distribute((DELETE, obj, None))

    return delta_processor(indexer, on_add, on_update, on_delete, in_order=in_order)
