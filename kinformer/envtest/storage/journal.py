"""The journal: stores the objects in a SQLite file, so that they are kept after the process has ended.

All writes of one turn of the event loop are one transaction, in WAL mode. If the process is killed after the commit,
nothing is lost. A power failure may lose the last moments, because `synchronous` is NORMAL. The file contains the
objects and not their history. So after a restart, watches from older versions are refused as expired.

The file contains secrets, for example the key of the server's certificate authority. Only its owner can read it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from kinformer.envtest.storage.history import DELETED, Change, Version
from kinformer.meta.names import GroupResource

__all__ = ("Journal", "JournalError")

_FORMAT = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (
    api_group TEXT NOT NULL, plural TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, raw BLOB NOT NULL,
    PRIMARY KEY (api_group, plural, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS keys (name TEXT PRIMARY KEY, certificate BLOB, key BLOB) WITHOUT ROWID;
INSERT OR IGNORE INTO about VALUES ('format', 1), ('version', 0);
"""


class JournalError(Exception):
    """The file cannot be used. The text has its name and the reason."""


class Journal:
    """
    One file. Only one server can use it at a time.

    :raises JournalError: if the file is not a journal, or another server uses it
    """

    def __init__(self, path: str | Path):
        self._path = path
        self._connection: sqlite3.Connection | None = None
        try:
            # SQLite gives the files beside it the same mode. A file that exists is not opened here. If another server
            # in this process uses the file, closing it would end that server's locks.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            self._connection = connection = sqlite3.connect(path, isolation_level=None, timeout=0)
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_TABLES)
            (found,) = connection.execute("SELECT value FROM about WHERE name = 'format'").fetchone()
        except (sqlite3.Error, OSError) as error:
            self.close()
            why = getattr(error, "strerror", None) or str(error)
            why = "another server has it open" if "locked" in why else why
            raise JournalError(f"cannot keep data in {path}: {why}") from error
        if found != _FORMAT:
            self.close()
            raise JournalError(f"cannot keep data in {path}: its format is {found}, this version reads {_FORMAT}")
        for file in (str(path), f"{path}-wal", f"{path}-shm"):
            with suppress(FileNotFoundError):
                Path(file).chmod(0o600)  # an earlier server may have left them readable for all users

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise JournalError(f"cannot keep data in {self._path}: it was closed")
        return self._connection

    @property
    def authority(self) -> tuple[bytes, bytes] | None:
        """The certificate and the key of the server's certificate authority. None if none are stored."""
        found = self._open.execute("SELECT certificate, key FROM keys WHERE name = 'authority'").fetchone()
        return (found[0], found[1]) if found is not None else None

    def keep_authority(self, certificate: bytes, key: bytes) -> None:
        self._open.execute("INSERT OR REPLACE INTO keys VALUES ('authority', ?, ?)", (certificate, key))

    def read(self, first: int) -> tuple[int, int, list[tuple[GroupResource, Version]]]:
        """
        Load the stored objects.

        :param first: the number after which versions begin. It is stored if the file has no versions yet
        :return: the number after which versions began, the latest version, and all objects
        """
        (number,) = self._open.execute("SELECT value FROM about WHERE name = 'version'").fetchone()
        rows = self._open.execute("SELECT api_group, plural, key, version, raw FROM objects ORDER BY key")
        if not number:
            self._open.execute("INSERT OR REPLACE INTO about VALUES ('first', ?)", (first,))
        found = self._open.execute("SELECT value FROM about WHERE name = 'first'").fetchone()
        began = found[0] if found is not None else 0
        objects = [(GroupResource(group, plural), Version(key, at, raw)) for group, plural, key, at, raw in rows]
        return began, number, objects

    def write(self, changes: Iterable[tuple[GroupResource, Change]]) -> None:
        """
        Store some changes in one transaction. They are safe when this returns.

        :raises JournalError: if the file cannot be written
        """
        connection = self._open
        number = 0
        try:
            connection.execute("BEGIN")
            for (group, plural), change in changes:
                number = change.number
                now = change.now
                if change.type == DELETED:
                    sql = "DELETE FROM objects WHERE api_group = ? AND plural = ? AND key = ?"
                    connection.execute(sql, (group, plural, now.key))
                else:
                    sql = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)"
                    connection.execute(sql, (group, plural, now.key, now.number, now.raw))
            connection.execute("UPDATE about SET value = ? WHERE name = 'version'", (number,))
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise JournalError(f"cannot keep data in {self._path}: {error}") from error
