"""Handlers turn an HTTP request into an operation on the storage, and its result into an answer."""

from __future__ import annotations
