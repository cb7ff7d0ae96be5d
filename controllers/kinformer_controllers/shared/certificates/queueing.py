"""The controller around those who look at CertificateSigningRequests one by one: an approver, a signer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from kinformer.clock import Clock
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller
from kinformer.models import V1CertificateSigningRequest
from kinformer.workqueue import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    MaxOfRateLimiter,
)

__all__ = ("certificate_controller",)

#: Kubernetes' own: how many requests are looked at at once, and how failures are spread.
_WORKERS: Final = 5
_FIRST_RETRY, _LAST_RETRY = 0.2, 1000.0
_RETRIES_A_SECOND, _BURST = 10.0, 100


def certificate_controller(
    name: str,
    informers: SharedInformerFactory,
    handle: Callable[[V1CertificateSigningRequest], Awaitable[None]],
    clock: Clock,
) -> Controller:
    """
    A controller that calls `handle` with each request that has no certificate yet, whenever it has changed.

    :param handle: may raise; it is called again then, later each time
    """
    requests = informers.informer_for(V1CertificateSigningRequest)

    async def sync(key: str) -> None:
        request = requests.indexer.get_by_key(key)
        if request is not None and not (request.status is not None and request.status.certificate):
            await handle(request)

    limiter: MaxOfRateLimiter[str] = MaxOfRateLimiter(
        ItemExponentialFailureRateLimiter(_FIRST_RETRY, _LAST_RETRY),
        BucketRateLimiter(_RETRIES_A_SECOND, _BURST, clock=clock),
    )
    controller = Controller(name, sync, workers=_WORKERS, queue_name="certificate", limiter=limiter, clock=clock)
    return controller.watch(requests)
