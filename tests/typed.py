"""Run mypy in tests without checking all of kinformer each time."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

__all__ = ("copied_cache",)

_CACHE = Path(__file__).parents[1] / ".mypy_cache"


def copied_cache(folder: Path) -> Path:
    """
    A folder for ``--cache-dir`` with the results of ``make types`` for kinformer, if that was run.

    It is a copy, because a run with other options would replace the results in the checkout's own cache.

    :param folder: where the copy is made, if nothing is there yet
    """
    if _CACHE.is_dir() and not folder.exists():
        with suppress(shutil.Error):  # `make types` may write at the same time: what is missing is checked again
            shutil.copytree(_CACHE, folder)
    return folder
