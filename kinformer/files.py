"""Files that are written completely or not at all."""

from __future__ import annotations

import secrets
from pathlib import Path

__all__ = ("write_whole",)


def write_whole(path: Path, text: str, *, mode: int = 0o666) -> None:
    """
    Write a text to a file. If this fails, an older file stays as it was. A link, or a device such as /dev/stdout, is
    written to, not replaced.

    :param mode: the permissions of a new file, without those that the process never gives (its umask)
    :raises OSError: if that cannot be done; it names `path`
    """
    in_place = path.is_symlink() or (path.exists() and not path.is_file())
    beside = path if in_place else path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        beside.touch(mode=mode)
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        if not in_place:
            beside.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error
