"""StaleVersions: whether the Endpoints in the cache are older than what was written last."""

from __future__ import annotations

from kinformer.models import V1Endpoints

__all__ = ("StaleVersions",)

#: The version of Endpoints that are not there.
_NONE = ""


class StaleVersions:
    """
    Remembers of each Endpoints object the version that was replaced last.

    As long as the cache shows that version, it has not seen the write.
    """

    def __init__(self) -> None:
        self._replaced: dict[str, str] = {}

    def replaced(self, key: str, endpoints: V1Endpoints | None) -> None:
        """This is what was written over; None if they were made."""
        self._replaced[key] = _version(endpoints)

    def is_stale(self, key: str, endpoints: V1Endpoints | None) -> bool:
        """Whether this, which the cache shows, was written over."""
        return self._replaced.get(key) == _version(endpoints)

    def seen(self, key: str) -> None:
        """The cache shows them: when they are gone again, that is no old news."""
        if self._replaced.get(key) == _NONE:
            del self._replaced[key]

    def forget(self, key: str) -> None:
        """The service is gone, or what is known is not to be trusted any more."""
        self._replaced.pop(key, None)


def _version(endpoints: V1Endpoints | None) -> str:
    if endpoints is None:
        return _NONE
    version: str = endpoints.metadata.resource_version
    return version
