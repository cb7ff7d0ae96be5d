"""StaleVersions: whether the Endpoints in the cache are older than what was written last."""

from __future__ import annotations

from kinformer.models import V1Endpoints

__all__ = ("StaleVersions",)


class StaleVersions:
    """
    Remembers of each Endpoints object the version that was replaced last.

    As long as the cache shows that version, it has not seen the write; to act on it would be to write the same again,
    and to be refused for it.
    """

    def __init__(self) -> None:
        self._replaced: dict[str, str] = {}

    def replaced(self, key: str, endpoints: V1Endpoints) -> None:
        """This is what was written over."""
        self._replaced[key] = endpoints.metadata.resource_version

    def is_stale(self, key: str, endpoints: V1Endpoints) -> bool:
        """Whether this was written over."""
        return self._replaced.get(key) == endpoints.metadata.resource_version

    def forget(self, key: str) -> None:
        """The service is gone."""
        self._replaced.pop(key, None)
