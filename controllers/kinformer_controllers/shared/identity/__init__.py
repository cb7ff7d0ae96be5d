"""What the controllers of service accounts and certificates share."""

from __future__ import annotations

__all__ = ()
