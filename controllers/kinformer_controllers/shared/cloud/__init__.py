"""The interface to a cloud, and code that the cloud's controllers share."""

from __future__ import annotations

__all__ = ()
