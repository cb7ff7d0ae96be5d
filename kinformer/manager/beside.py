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
from kinformer.models import V1Lease

__all__ = ("NAME", "NAMESPACE", "KubeControllerManagerRuns", "check_alone")

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


async def check_alone(client: Client, controllers: Sequence[str], clock: Clock, *, told: bool = False) -> bool:
    """
    Check that the cluster's own kube-controller-manager does not run.

    If this process is not allowed to read the Lease, the check logs a warning and passes. If the request fails for
    another reason, it is repeated.

    :param controllers: the names of the built-in controllers that this process is going to run
    :param told: whether it was logged before that this process may not read the Lease
    :return: whether the Lease could be read
    :raises KubeControllerManagerRuns: if the cluster's own kube-controller-manager holds its Lease
    """
    leases = client.resource(V1Lease)
    backoff = Backoff(clock=clock)
    while True:
        try:
            spec = (await leases.get(NAME, NAMESPACE)).spec
            break
        except NotFound:
            return True
        except (Forbidden, Unauthorized) as error:
            level = log.debug if told else log.warning
            level("lease_not_readable", lease=f"{NAMESPACE}/{NAME}", error=str(error), controllers=controllers)
            return False
        except ClientError as error:
            log.warning("lease_not_read", lease=f"{NAMESPACE}/{NAME}", error=str(error))
            await clock.sleep(backoff.next())
    holder = spec.holder_identity if spec is not None else None
    if holder and spec.renew_time is not None and _is_recent(spec.renew_time, spec.lease_duration_seconds, clock):
        raise KubeControllerManagerRuns(holder, controllers)
    return True


def _is_recent(renewed: datetime, seconds: int | None, clock: Clock) -> bool:
    if renewed.tzinfo is None:
        renewed = renewed.replace(tzinfo=UTC)
    return abs(clock.now() - renewed) < max(_RENEWED, timedelta(seconds=seconds or 0))
