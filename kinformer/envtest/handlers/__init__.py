"""From an HTTP request to an operation, and from its result to an answer."""

from __future__ import annotations
