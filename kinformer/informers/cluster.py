"""Cluster: finds out which cluster a client reaches, so that objects of another cluster are not taken for its own.

A cluster is known by the uid of its namespace ``kube-system``. If that cannot be read, it is known by its address and
its certificate authorities together, because an address alone may have a new owner.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from kinformer.client import Client, ClientError, Forbidden, ListOptions, NotFound, Unauthorized
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.models import V1Namespace

__all__ = ("Cluster", "ClusterFinder")

log = get_logger(__name__)

#: Seconds between two attempts.
_ASK_AGAIN: Final = 1.0


class Cluster(msgspec.Struct, frozen=True):
    """
    The identity of a cluster. One of the fields is set, or none if the identity is not known.

    :param uid: of the namespace ``kube-system``
    :param address: address and certificate authorities, if the uid cannot be read
    """

    uid: str = ""
    address: str = ""

    @property
    def is_known(self) -> bool:
        return bool(self.uid or self.address)


class ClusterFinder:
    """Asks a server once which cluster it belongs to."""

    def __init__(self, client: Client, clock: Clock):
        self._client = client
        self._clock = clock
        #: The cluster; None until :meth:`find` has returned.
        self.found: Cluster | None = None
        #: The version that the cluster had reached when it was found; empty if it is not known.
        self.newest = ""

    async def find(self) -> Cluster:
        """Return the cluster. While the server does not answer, ask again."""
        while self.found is None:
            try:
                namespaces = await self._client.resource(V1Namespace).list(
                    options=ListOptions(field_selector="metadata.name=kube-system")
                )
                uid = next((it.metadata.uid for it in namespaces.items if it.metadata and it.metadata.uid), "")
                self.newest = namespaces.resource_version
                self.found = Cluster(uid=uid) if uid else self._by_address()
            except (Forbidden, Unauthorized, NotFound):
                self.found = self._by_address()
            except ClientError as error:
                log.debug("cluster_not_identified", server=self._client.server, error=str(error))
                await self._clock.sleep(_ASK_AGAIN)
        return self.found

    def _by_address(self) -> Cluster:
        authorities = self._client.certificate_authorities
        if not authorities:
            return Cluster()
        return Cluster(address=f"{self._client.server} {hashlib.sha256(authorities).hexdigest()}")
