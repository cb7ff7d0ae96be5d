"""Which resource a kind is, for references that name kinds: an owner's, an object's own.

What discovery has shown last answers. A kind that is not there may be of a definition that has come since, so the
server is asked again, but for however many objects name such kinds only once each five seconds.
"""

from __future__ import annotations

from typing import Final

from kinformer.client import Client, NoKindMatch, Served
from kinformer.client.discovery import ApiResource
from kinformer.clock import Clock, RealClock
from kinformer.meta import GroupVersion

__all__ = ("KindMapper",)

#: Seconds between two questions for kinds that are not known.
_PATIENCE: Final = 5.0


class KindMapper:
    """Maps kinds to resources, by a server's discovery."""

    def __init__(self, client: Client, *, clock: Clock | None = None) -> None:
        self._discovery = client.discovery
        self._clock = clock or RealClock()
        self._asked = float("-inf")
        self._known: Served | None = None
        self._by_kind: dict[tuple[str, str], ApiResource] = {}

    async def find(self, api_version: str, kind: str) -> ApiResource:
        """
        :param api_version: with the group, as references have it: ``apps/v1``
        :raises NoKindMatch: if the server serves no such kind, as far as is known
        :raises ClientError: if the server could not be asked
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
