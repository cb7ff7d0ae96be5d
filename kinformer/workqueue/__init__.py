"""Work queues: they stand between event handlers and the workers of a controller.

They are client-go's ``util/workqueue``, and a priority queue like controller-runtime's. An item that a handler adds is
given to a worker once, however many events there were, and never to two workers at a time. An item that failed comes
back later, by the rules of a rate limiter.

A queue belongs to one event loop. ``add`` and similar methods are plain calls, cheap enough for every event. Other
threads must use ``loop.call_soon_threadsafe``. No queue has a task of its own or needs to be run.
"""

from __future__ import annotations

from kinformer.bucket import NEVER, TokenBucket
from kinformer.workqueue.base import ShutDown, WorkQueue
from kinformer.workqueue.limiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)
from kinformer.workqueue.metrics import (
    MetricsProvider,
    NoMetrics,
    PrometheusMetrics,
    QueueMetrics,
    default_provider,
    set_default_provider,
)
from kinformer.workqueue.priority import LOW_PRIORITY, PriorityQueue
from kinformer.workqueue.queue import Order, Queue
from kinformer.workqueue.rate_limiting import DelayingQueue, RateLimitingQueue
from kinformer.workqueue.until import backoff_until, jitter_until, parallelize_until, until

__all__ = (
    "LOW_PRIORITY",
    "NEVER",
    "BucketRateLimiter",
    "DelayingQueue",
    "ItemExponentialFailureRateLimiter",
    "ItemFastSlowRateLimiter",
    "MaxOfRateLimiter",
    "MetricsProvider",
    "NoMetrics",
    "Order",
    "PriorityQueue",
    "PrometheusMetrics",
    "Queue",
    "QueueMetrics",
    "RateLimiter",
    "RateLimitingQueue",
    "ShutDown",
    "TokenBucket",
    "WithMaxWaitRateLimiter",
    "WorkQueue",
    "backoff_until",
    "default_controller_rate_limiter",
    "default_item_based_rate_limiter",
    "default_provider",
    "jitter_until",
    "parallelize_until",
    "set_default_provider",
    "until",
)
