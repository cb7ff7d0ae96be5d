"""``python -m kinformer``: the command ``kinformer``."""

from __future__ import annotations

from kinformer.cli import main

__all__ = ()

if __name__ == "__main__":
    main()
