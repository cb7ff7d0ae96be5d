"""StaleVersions: whether the Endpoints in the cache are older than what was written last.

The watch may be quicker than the answer to a create: the Endpoints may have come, and have been deleted by somebody,
before the answer says that they were made. So what the cache is seen to show while they are being made is noted, and
what has been there already is not waited for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kinformer.models import V1Endpoints

__all__ = ("StaleVersions",)


class StaleVersions:
    """
    Remembers of each Endpoints object the version that was replaced last, or the uid under which it was made.

    As long as the cache shows that version, or nothing where they were made, it has not seen the write.
    """

    def __init__(self) -> None:
        self._replaced: dict[str, str] = {}
        self._made: dict[str, str] = {}
        # The uids that the cache has shown of those that are being made.
        self._shown: dict[str, set[str]] = {}

    def replaced(self, key: str, endpoints: V1Endpoints) -> None:
        """This is what was written over."""
        self._replaced[key] = endpoints.metadata.resource_version

    @contextmanager
    def making(self, key: str) -> Iterator[None]:
        """They are being made: note what the cache shows of them meanwhile."""
        self._shown[key] = set()
        try:
            yield
        finally:
            del self._shown[key]

    def made(self, key: str, endpoints: V1Endpoints) -> None:
        """These were made."""
        if endpoints.metadata.uid not in self._shown.get(key, ()):
            self._made[key] = endpoints.metadata.uid

    def is_stale(self, key: str, endpoints: V1Endpoints | None) -> bool:
        """Whether this, which the cache shows, is from before the last write."""
        if endpoints is None:
            return key in self._made
        return self._replaced.get(key) == endpoints.metadata.resource_version

    def seen(self, key: str, endpoints: V1Endpoints) -> None:
        """The cache shows these: when they are gone again, that is no old news."""
        uid = endpoints.metadata.uid
        if key in self._shown:
            self._shown[key].add(uid)
        if key in self._made and self._made[key] == uid:
            del self._made[key]

    def forget(self, key: str) -> None:
        """The service is gone, or what is known is not to be trusted any more."""
        self._replaced.pop(key, None)
        self._made.pop(key, None)
