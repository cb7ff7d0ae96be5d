"""What objects of the API have in common: names, metadata, selectors, quantities, owners, patches. No I/O."""

from __future__ import annotations

from kinformer.meta.accessor import Accessor, accessor_for, accessor_of, meta_namespace_key
from kinformer.meta.names import (
    GroupKind,
    GroupResource,
    GroupVersion,
    GroupVersionKind,
    GroupVersionResource,
    ObjectName,
    split_key,
)

__all__ = (
    "Accessor",
    "GroupKind",
    "GroupResource",
    "GroupVersion",
    "GroupVersionKind",
    "GroupVersionResource",
    "ObjectName",
    "accessor_for",
    "accessor_of",
    "meta_namespace_key",
    "split_key",
)
