"""The command ``kinformer``: an embedded API server, controllers for any cluster, and a demonstration of both."""

from __future__ import annotations

from kinformer.cli.command import main

__all__ = ("main",)
