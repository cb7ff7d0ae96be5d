"""The interface to a cloud, and what its controllers share."""

from __future__ import annotations

__all__ = ()
