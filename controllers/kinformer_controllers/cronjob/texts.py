"""Texts as Kubernetes quotes them in its messages."""

from __future__ import annotations

import json

__all__ = ("quoted",)


def quoted(text: str) -> str:
    """In double quotes, with what would break them escaped."""
    return json.dumps(text, ensure_ascii=False)
