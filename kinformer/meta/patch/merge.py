"""JSON merge patches (RFC 7386): an object with what is to be set, and null for what is to go.

In one point they are the API server's rather than the RFC's: nulls inside what a patch brings new are left out within
lists too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinformer.meta.patch._json import kind_of, same
from kinformer.meta.patch.errors import MalformedPatchError, refusing_depth

__all__ = ("create_merge_patch", "merge_patch")


def merge_patch(original: Mapping[str, Any], patch: Any) -> dict[str, Any]:
    """
    The object that a merge patch makes of `original`.

    :raises MalformedPatchError: if the patch is not an object
    """
    if not isinstance(patch, dict):
        raise MalformedPatchError(f"a merge patch is an object, not {kind_of(patch)}")
    with refusing_depth():
        return _merge(original, patch)


def _merge(original: Mapping[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    merged = dict(original)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif not isinstance(current := merged.get(key), dict):
            merged[key] = without_nulls(value)
        elif isinstance(value, dict):
            merged[key] = _merge(current, value)
        else:
            merged[key] = value
    return merged


def create_merge_patch(original: Mapping[str, Any], modified: Mapping[str, Any]) -> dict[str, Any]:
    """
    The merge patch that makes `modified` of `original`; empty if they are the same.

    A null in `modified` cannot be said in such a patch: it is as if it were not there.
    """
    with refusing_depth():
        return _diff(original, modified)


def _diff(original: Mapping[str, Any], modified: Mapping[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    for key, value in modified.items():
        current = original.get(key)
        if isinstance(current, dict) and isinstance(value, dict):
            if difference := _diff(current, value):
                patch[key] = difference
        elif not (key in original and same(current, value)):
            patch[key] = value
    patch.update((key, None) for key in original if key not in modified)
    return patch


def without_nulls(value: Any) -> Any:
    """A value without the null fields of objects, however deep."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
