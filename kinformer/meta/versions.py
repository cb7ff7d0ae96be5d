"""Resource versions: which of two states came first. Both are versions of one resource, on one server.

A version is a decimal number for everybody since Kubernetes 1.35 (KEP-5504). Older servers count in the same way and
did not promise it. Versions of two resources can be compared where both are kept in one etcd, as they usually are.
"""

from __future__ import annotations

__all__ = ("is_older",)


def is_older(version: str, than: str) -> bool:
    """Whether one resource version is before another; False where either is none that can be compared."""
    if not (version.isdecimal() and than.isdecimal()):
        return False
    return (len(version), version) < (len(than), than)
