"""The command ``kinformer``: an embedded API server, controllers for any cluster, and a demonstration of both."""

from __future__ import annotations

import sys

__all__ = ("main",)


def main() -> None:
    """Run the command line, and exit."""
    # Ctrl-C while Python is still importing; later it is caught where it can end things in their order.
    try:
        from kinformer.cli.command import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()
