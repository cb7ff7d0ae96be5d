"""Checks that the cluster's own kube-controller-manager does not run the same controllers as this process.

Two copies of a controller work against each other: each undoes the writes of the other, and pods are created twice. The
cluster's kube-controller-manager holds the Lease ``kube-controller-manager`` in ``kube-system``, so the check reads
this Lease.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from kinformer.backoff import Backoff
from kinformer.client import Client, ClientError, Forbidden, NotFound, Unauthorized
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.models import V1Lease, V1LeaseSpec

__all__ = ("NAME", "NAMESPACE", "AloneCheck", "KubeControllerManagerRuns")

log = get_logger(__name__)

NAMESPACE: Final = "kube-system"
NAME: Final = "kube-controller-manager"

#: A Lease counts as held if it was renewed within this time. It is long enough for clocks that differ by some seconds.
_RENEWED: Final = timedelta(seconds=60)


class KubeControllerManagerRuns(Exception):
    """
    The cluster's own kube-controller-manager runs, so its controllers run, too.

    :param holder: the holder of its Lease
    :param controllers: the built-in controllers that this process was going to run
    """

    def __init__(self, holder: str, controllers: Sequence[str]) -> None:
        self.holder = holder
        super().__init__(
            f"this cluster's own kube-controller-manager runs ({holder} holds the Lease {NAMESPACE}/{NAME}), and the "
            f"built-in controllers {', '.join(controllers)} would work against it: switch these controllers off there, "
            "then start this manager with --beside-kube-controller-manager"
        )


class AloneCheck:
    """
    Checks that the cluster's own kube-controller-manager does not run.

    If this process is not allowed to read the Lease, the check passes, and warns about it the first time.

    :param controllers: the names of the built-in controllers that this process is going to run
    """

    def __init__(self, client: Client, controllers: Sequence[str], clock: Clock) -> None:
        self._client = client
        self._controllers = controllers
        self._clock = clock
        self._has_warned = False

    async def check(self) -> None:
        """
        Read the Lease, until the server answers.

        :raises KubeControllerManagerRuns: if the cluster's own kube-controller-manager holds it
        """
        leases = self._client.resource(V1Lease)
        backoff = Backoff(clock=self._clock)
        while True:
            try:
                spec = (await leases.get(NAME, NAMESPACE)).spec
                break
            except NotFound:
                return
            except (Forbidden, Unauthorized) as error:
                level = log.debug if self._has_warned else log.warning
                self._has_warned = True
                controllers = self._controllers
                level("lease_not_readable", lease=f"{NAMESPACE}/{NAME}", error=str(error), controllers=controllers)
                return
            except ClientError as error:
                log.warning("lease_not_read", lease=f"{NAMESPACE}/{NAME}", error=str(error))
                await self._clock.sleep(backoff.next())
        if spec is not None and spec.holder_identity and _is_recent(spec, self._clock.now()):
            raise KubeControllerManagerRuns(spec.holder_identity, self._controllers)


def _is_recent(spec: V1LeaseSpec, now: datetime) -> bool:
    renewed = spec.renew_time
    if renewed is None:
        return False
    if renewed.tzinfo is None:
        renewed = renewed.replace(tzinfo=UTC)
    return abs(now - renewed) < max(_RENEWED, timedelta(seconds=spec.lease_duration_seconds or 0))
