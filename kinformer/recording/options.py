"""The options of a recording."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ("Recording",)

#: Bytes: a segment must hold some seconds at least.
_LEAST_SIZE: Final = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """
    How a manager records what happens, to replay it later with ``kinformer simulate replay``.

    :param path: the file. Older parts are in files of the same name with ``.1`` to ``.3`` behind it. Each process needs
        a file of its own
    :param minutes: the time that is kept at least, if it fits into the size
    :param size: the most bytes that all files have together
    :param redact: annotations whose values are left out, wherever they are. Data of Secrets are always left out
    :raises ValueError: if the time is not positive, or the size is smaller than 1 MiB
    """

    path: str | os.PathLike[str]
    minutes: float = 10.0
    size: int = 256 * 2**20
    redact: Collection[str] = ()

    def __post_init__(self) -> None:
        where = os.fspath(self.path)
        if not self.minutes > 0:
            raise ValueError(f"the recording {where} has {self.minutes} minutes: want a positive number")
        if self.size < _LEAST_SIZE:
            raise ValueError(f"the recording {where} has {self.size} bytes: want {_LEAST_SIZE} at least")
        if not Path(where).name:
            raise ValueError(f"the recording {where!r} is no file: want the name of one")
