"""Code that the controllers of PersistentVolumes and PersistentVolumeClaims share."""

from __future__ import annotations

__all__ = ()
