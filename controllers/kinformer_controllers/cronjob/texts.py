"""Quoting texts as in Kubernetes' messages."""

from __future__ import annotations

import json

__all__ = ("quoted",)


def quoted(text: str) -> str:
    """Put a text into double quotes, with the necessary escapes."""
    return json.dumps(text, ensure_ascii=False)
