"""Whether the cluster has a kube-controller-manager of its own, which does what the built-in controllers would do.

Two that write the same objects do not add up: each undoes what the other has done, and pods are made twice. The
cluster's own holds the Lease ``kube-controller-manager`` in ``kube-system``.
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

#: A Lease that was renewed this long ago at most is held, also where clocks differ by some seconds.
_RENEWED: Final = timedelta(seconds=60)


class KubeControllerManagerRuns(Exception):
    """
    The cluster's own kube-controller-manager runs, and so do its controllers.

    :param holder: who holds its Lease
    :param controllers: those that were to run beside it
    """

    def __init__(self, holder: str, controllers: Sequence[str]) -> None:
        self.holder = holder
        super().__init__(
            f"this cluster's own kube-controller-manager runs ({holder} holds the Lease {NAMESPACE}/{NAME}), and the "
            f"built-in controllers {', '.join(controllers)} would work against it: switch them off there, and say "
            "--beside-kube-controller-manager"
        )


async def check_alone(client: Client, controllers: Sequence[str], clock: Clock) -> None:
    """
    See to it that built-in controllers do not run beside the cluster's own.

    Where the Lease may not be read, a warning says so. A server that cannot answer is asked again.

    :raises KubeControllerManagerRuns: if the cluster's own hold their Lease
    """
    leases = client.resource(V1Lease)
    backoff = Backoff(clock=clock)
    while True:
        try:
            spec = (await leases.get(NAME, NAMESPACE)).spec
            break
        except NotFound:
            return
        except (Forbidden, Unauthorized) as error:
            log.warning("lease_not_readable", lease=f"{NAMESPACE}/{NAME}", error=str(error), controllers=controllers)
            return
        except ClientError as error:
            log.warning("lease_not_read", lease=f"{NAMESPACE}/{NAME}", error=str(error))
            await clock.sleep(backoff.next())
    holder = spec.holder_identity if spec is not None else None
    if holder and spec.renew_time is not None and _is_recent(spec.renew_time, spec.lease_duration_seconds, clock):
        raise KubeControllerManagerRuns(holder, controllers)


def _is_recent(renewed: datetime, seconds: int | None, clock: Clock) -> bool:
    if renewed.tzinfo is None:
        renewed = renewed.replace(tzinfo=UTC)
    return abs(clock.now() - renewed) < max(_RENEWED, timedelta(seconds=seconds or 0))
