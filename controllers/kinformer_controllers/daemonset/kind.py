"""The group, version and kind of a DaemonSet, as in owner references."""

from __future__ import annotations

from typing import Final

from kinformer.meta import GroupVersionKind

__all__ = ("KIND",)

KIND: Final = GroupVersionKind("apps", "v1", "DaemonSet")
