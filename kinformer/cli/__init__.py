"""The command ``kinformer``: an embedded API server, controllers for any cluster, and a demonstration of both."""

from __future__ import annotations

import errno
import os
import sys

__all__ = ("main",)


def main() -> None:
    """Run the command line, and exit."""
    # Python has None for an output that is closed (``>&-``). The next file or socket would get its number and its text.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115, PTH123
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115, PTH123
    # This catches Ctrl-C while Python still imports. After that, kinformer.cli.signals handles it.
    try:
        from kinformer.collector import relax

        # Before the imports, which make nothing but objects that stay: collections take 5 % of their time.
        relax()
        from kinformer.cli.command import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    try:
        run()
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python still writes at its end
        sys.exit(f"kinformer: the output cannot be written: {error.strerror}")
