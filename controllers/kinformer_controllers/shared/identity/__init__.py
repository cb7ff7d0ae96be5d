"""Code that the controllers of ServiceAccounts and certificates share."""

from __future__ import annotations

__all__ = ()
