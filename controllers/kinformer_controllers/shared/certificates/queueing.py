"""A controller that passes CertificateSigningRequests, one at a time, to an approver or a signer."""

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

#: Kubernetes' values: the number of workers; the delays of retries in seconds; the retries a second for all keys.
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
    Make a controller that calls `handle` when a request has changed and has no certificate yet.

    :param handle: may raise; then it is called again, after a delay that grows with each failure
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
