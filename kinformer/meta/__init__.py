"""The common parts of all objects: names, metadata, selectors, quantities, owners, patches. Nothing here does I/O.

Some parts are modules of their own: patches (:mod:`kinformer.meta.patch`), arithmetic on resource lists
(:mod:`kinformer.meta.resourcelist`), field selectors (:mod:`kinformer.meta.fields`), and the rules for names and labels
(:mod:`kinformer.meta.validation`).
"""

from __future__ import annotations

from kinformer.meta.accessor import Accessor, accessor_for, accessor_of, meta_namespace_key
from kinformer.meta.integers import scaled_value
from kinformer.meta.names import (
    GroupKind,
    GroupResource,
    GroupVersion,
    GroupVersionKind,
    GroupVersionResource,
    ObjectName,
    split_key,
)
from kinformer.meta.owners import OwnerRef, get_controller_of, is_controlled_by, new_controller_ref
from kinformer.meta.quantity import Quantity, QuantityError
from kinformer.meta.selectors import (
    Everything,
    Nothing,
    Selector,
    SelectorError,
    label_selector_as_selector,
    parse_selector,
    selector_from_set,
)
from kinformer.meta.shards import ShardSelector, ShardSelectorError, parse_shard_selector, shard_selectors
from kinformer.meta.versions import is_older

__all__ = (
    "Accessor",
    "Everything",
    "GroupKind",
    "GroupResource",
    "GroupVersion",
    "GroupVersionKind",
    "GroupVersionResource",
    "Nothing",
    "ObjectName",
    "OwnerRef",
    "Quantity",
    "QuantityError",
    "Selector",
    "SelectorError",
    "ShardSelector",
    "ShardSelectorError",
    "accessor_for",
    "accessor_of",
    "get_controller_of",
    "is_controlled_by",
    "is_older",
    "label_selector_as_selector",
    "meta_namespace_key",
    "new_controller_ref",
    "parse_selector",
    "parse_shard_selector",
    "scaled_value",
    "selector_from_set",
    "shard_selectors",
    "split_key",
)
