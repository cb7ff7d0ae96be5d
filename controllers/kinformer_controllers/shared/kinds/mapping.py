"""Finding the resource of a kind. Owner references and objects name a kind; requests need the resource.

The answer comes from the last discovery. If the kind is not in it, the kind may have been added since, so discovery is
repeated. That happens at most once in five seconds, however many objects name unknown kinds.
"""

from __future__ import annotations

from typing import Final

from kinformer.client import Client, NoKindMatch, Served
from kinformer.client.discovery import ApiResource
from kinformer.clock import Clock, RealClock
from kinformer.meta import GroupVersion

__all__ = ("KindMapper",)

#: The least number of seconds between two discoveries for unknown kinds.
_PATIENCE: Final = 5.0


class KindMapper:
    """Maps kinds to resources with the server's discovery."""

    def __init__(self, client: Client, *, clock: Clock | None = None) -> None:
        self._discovery = client.discovery
        self._clock = clock or RealClock()
        self._asked = float("-inf")
        self._known: Served | None = None
        self._by_kind: dict[tuple[str, str], ApiResource] = {}

    async def find(self, api_version: str, kind: str) -> ApiResource:
        """
        Return the resource of a kind.

        :param api_version: with the group, as in references: ``apps/v1``
        :raises NoKindMatch: if the last discovery does not have the kind
        :raises ClientError: if discovery failed
        """
        found = self._find(await self._discovery.served(), api_version, kind)
        if found is None and self._clock.monotonic() - self._asked >= _PATIENCE:
            self._asked = self._clock.monotonic()
            found = self._find(await self._discovery.served(refresh=True), api_version, kind)
        if found is None:
            raise NoKindMatch(f"the server serves no {kind} in {api_version}")
        return found

    def _find(self, served: Served, api_version: str, kind: str) -> ApiResource | None:
        if served is not self._known:
            self._known = served
            self._by_kind = {}
            for one in served.resources:
                version = str(GroupVersion(one.gvr.group, one.gvr.version))
                self._by_kind.setdefault((version, one.kind), one)
        return self._by_kind.get((api_version, kind))
