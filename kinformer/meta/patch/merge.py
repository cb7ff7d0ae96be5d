"""JSON merge patches (RFC 7386): an object with the fields to set, and null for each field to remove.

They follow the API server, which differs from the RFC in one point: nulls in the new values of a patch are left out,
also within lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinformer.meta.patch._json import kind_of, same
from kinformer.meta.patch.errors import MalformedPatchError, refusing_depth

__all__ = ("create_merge_patch", "merge_patch")


def merge_patch(original: Mapping[str, Any], patch: Any) -> dict[str, Any]:
    """
    Apply a merge patch to `original` and return the resulting object.

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
    Make the merge patch that turns `original` into `modified`; empty if they are equal.

    Such a patch cannot set a field to null, so a null in `modified` counts as a missing field.
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
    """The value without null fields, at any depth."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
