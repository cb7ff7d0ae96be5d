"""Resource versions: decides which of two states came first. Both must be versions of one resource, on one server.

Since Kubernetes 1.35 a version is a decimal number that clients may compare (KEP-5504). Older servers count in the same
way, but did not promise it. Versions of two resources can be compared if both are stored in one etcd, as is usual.
"""

from __future__ import annotations

__all__ = ("is_older",)


def is_older(version: str, than: str) -> bool:
    """Whether one resource version is before another. False if one of them is not a decimal number."""
    if not (version.isdecimal() and than.isdecimal()):
        return False
    return (len(version), version) < (len(than), than)
