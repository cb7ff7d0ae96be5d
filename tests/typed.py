"""Running mypy in tests without it reading all of kinformer each time."""

from __future__ import annotations

import shutil
from pathlib import Path

__all__ = ("copied_cache",)

_CACHE = Path(__file__).parents[1] / ".mypy_cache"


def copied_cache(folder: Path) -> Path:
    """
    A folder for ``--cache-dir`` that knows what ``make types`` found out about kinformer, if that was run.

    It is a copy, as a run with other options makes the checkout's own cache forget.

    :param folder: one that is not there yet
    """
    if _CACHE.is_dir():
        shutil.copytree(_CACHE, folder)
    return folder
