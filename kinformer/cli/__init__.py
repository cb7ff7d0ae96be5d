"""The command ``kinformer``: an embedded API server, controllers for any cluster, and a demonstration of both."""

from __future__ import annotations

import sys

__all__ = ("main",)


def main() -> None:
    """Run the command line, and exit."""
    # This catches Ctrl-C while Python still imports. After that, kinformer.cli.signals handles it.
    try:
        from kinformer.collector import relax

        # Before the imports, which make nothing but objects that stay: collections take 5 % of their time.
        relax()
        from kinformer.cli.command import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()
