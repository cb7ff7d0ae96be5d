"""Stores, queues, reflectors and informers: a cache of the server's objects that is kept up to date."""

from __future__ import annotations

from kinformer.cache.catching_up import CATCH_UP_TIMEOUT, CacheBehind
from kinformer.cache.consistency import InconsistentList
from kinformer.cache.controller import Controller, new_informer
from kinformer.cache.delta_fifo import DeltaFIFO
from kinformer.cache.deltas import BookmarkInfo, Delta, Deltas, DeltaType, ReplacedAllInfo
from kinformer.cache.expiration_cache import ExpirationCache, ExpirationPolicy, TimestampedEntry, TTLPolicy
from kinformer.cache.fifo import FIFO
from kinformer.cache.freshness import (
    is_as_new_as,
    wait_until_as_new_as,
    wait_until_current,
    wait_until_each_is_as_new_as,
)
from kinformer.cache.handlers import (
    Deleted,
    FilteringResourceEventHandler,
    ResourceEventHandler,
    ResourceEventHandlerDetailedFuncs,
    ResourceEventHandlerFuncs,
)
from kinformer.cache.heap import Heap
from kinformer.cache.index import (
    NAMESPACE_INDEX,
    IndexerConflict,
    Indexers,
    IndexFunc,
    IndexFuncError,
    IndexNotFound,
    index_func_to_key_func,
    meta_namespace_index_func,
    namespace_index_func,
)
from kinformer.cache.keys import (
    DeletedFinalStateUnknown,
    ExplicitKey,
    KeyFunc,
    ObjectKeyError,
    deletion_handling_key,
    deletion_handling_object_name,
    last_state,
    meta_namespace_key_func,
)
from kinformer.cache.listers import list_all, list_all_by_namespace
from kinformer.cache.listwatch import ListerWatcher, ListWatch
from kinformer.cache.mutation_detector import (
    CacheMutatedError,
    CacheMutationDetector,
    Mutation,
    MutationDetector,
    NoMutationDetector,
    new_mutation_detector,
)
from kinformer.cache.objects import Objects
from kinformer.cache.options import InformerOptions
from kinformer.cache.processor import ProcessorListener
from kinformer.cache.queue import (
    FIFOClosed,
    PopProcessFunc,
    ProcessBatchFunc,
    Queue,
    QueueWithBatch,
    tombstones_of_missing,
)
from kinformer.cache.real_fifo import RealFIFO
from kinformer.cache.reflector import Reflector
from kinformer.cache.shared_informer import InformerStateError, SharedIndexInformer
from kinformer.cache.store import (
    Indexer,
    KeyListerGetter,
    ReflectorStore,
    Store,
    Transaction,
    TransactionError,
    TransactionType,
    TransformFunc,
)
from kinformer.cache.thread_safe_store import ThreadSafeStore
from kinformer.cache.undelta_store import UndeltaStore
from kinformer.cache.waiting import CacheNotSynced, HasSynced, wait_for_cache_sync
from kinformer.cache.watch_errors import ListNotStored, VeryShortWatch, WatchErrorHandler, default_watch_error_handler

__all__ = (
    "CATCH_UP_TIMEOUT",
    "FIFO",
    "NAMESPACE_INDEX",
    "BookmarkInfo",
    "CacheBehind",
    "CacheMutatedError",
    "CacheMutationDetector",
    "CacheNotSynced",
    "Controller",
    "Deleted",
    "DeletedFinalStateUnknown",
    "Delta",
    "DeltaFIFO",
    "DeltaType",
    "Deltas",
    "ExpirationCache",
    "ExpirationPolicy",
    "ExplicitKey",
    "FIFOClosed",
    "FilteringResourceEventHandler",
    "HasSynced",
    "Heap",
    "InconsistentList",
    "IndexFunc",
    "IndexFuncError",
    "IndexNotFound",
    "Indexer",
    "IndexerConflict",
    "Indexers",
    "InformerOptions",
    "InformerStateError",
    "KeyFunc",
    "KeyListerGetter",
    "ListNotStored",
    "ListWatch",
    "ListerWatcher",
    "Mutation",
    "MutationDetector",
    "NoMutationDetector",
    "ObjectKeyError",
    "Objects",
    "PopProcessFunc",
    "ProcessBatchFunc",
    "ProcessorListener",
    "Queue",
    "QueueWithBatch",
    "RealFIFO",
    "Reflector",
    "ReflectorStore",
    "ReplacedAllInfo",
    "ResourceEventHandler",
    "ResourceEventHandlerDetailedFuncs",
    "ResourceEventHandlerFuncs",
    "SharedIndexInformer",
    "Store",
    "TTLPolicy",
    "ThreadSafeStore",
    "TimestampedEntry",
    "Transaction",
    "TransactionError",
    "TransactionType",
    "TransformFunc",
    "UndeltaStore",
    "VeryShortWatch",
    "WatchErrorHandler",
    "default_watch_error_handler",
    "deletion_handling_key",
    "deletion_handling_object_name",
    "index_func_to_key_func",
    "is_as_new_as",
    "last_state",
    "list_all",
    "list_all_by_namespace",
    "meta_namespace_index_func",
    "meta_namespace_key_func",
    "namespace_index_func",
    "new_informer",
    "new_mutation_detector",
    "tombstones_of_missing",
    "wait_for_cache_sync",
    "wait_until_as_new_as",
    "wait_until_current",
    "wait_until_each_is_as_new_as",
)
