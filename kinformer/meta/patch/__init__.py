"""Patches: changing an object by saying what is to change, as an API server applies it and as a client makes it.

Three forms are here, on plain JSON as Python has it: merge patches (RFC 7386), JSON patches
(RFC 6902), and strategic merge patches, which know by which field the entries of a list are the same. Each does what
kube-apiserver does, where that is not what the RFC says too. Server-side apply is no patch in this sense: it needs to
know who owns which field.

What is given is never changed. A result may share parts with it: whoever goes on to change a result in place copies it
first.
"""

from __future__ import annotations

from kinformer.meta.patch.errors import MalformedPatchError, PatchError, go_text
from kinformer.meta.patch.json_patch import MAX_OPERATIONS, apply_json_patch
from kinformer.meta.patch.merge import create_merge_patch, merge_patch
from kinformer.meta.patch.schema import TYPES, Field, Schema, schema_for
from kinformer.meta.patch.strategic import strategic_merge_patch
from kinformer.meta.patch.strategic_diff import create_two_way_merge_patch

__all__ = (
    "MAX_OPERATIONS",
    "TYPES",
    "Field",
    "MalformedPatchError",
    "PatchError",
    "Schema",
    "apply_json_patch",
    "create_merge_patch",
    "create_two_way_merge_patch",
    "go_text",
    "merge_patch",
    "schema_for",
    "strategic_merge_patch",
)
