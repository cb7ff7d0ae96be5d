"""Patches: applied as an API server does it, and made as a client does it.

There are three formats, on plain JSON values in Python: merge patches (RFC 7386), JSON patches (RFC 6902), and
strategic merge patches, which know the key by which entries of a list are the same. Each does what kube-apiserver does,
also where that differs from the RFC. Server-side apply is not here: it needs to know who owns which field.

Arguments are never changed. A result may share parts with them, so copy it before you change it in place.
"""

from __future__ import annotations

from kinformer.meta.patch.errors import MalformedPatchError, PatchError, go_text
from kinformer.meta.patch.json_patch import MAX_OPERATIONS, apply_json_patch, create_json_patch
from kinformer.meta.patch.merge import create_merge_patch, merge_patch
from kinformer.meta.patch.schema import TYPES, Field, Schema, schema_for
from kinformer.meta.patch.strategic import strategic_merge_patch

__all__ = (
    "MAX_OPERATIONS",
    "TYPES",
    "Field",
    "MalformedPatchError",
    "PatchError",
    "Schema",
    "apply_json_patch",
    "create_json_patch",
    "create_merge_patch",
    "go_text",
    "merge_patch",
    "schema_for",
    "strategic_merge_patch",
)
