"""Work queues: between the events that say that something changed and the workers that see to it.

client-go's ``util/workqueue`` in Python's manner, and a priority queue after controller-runtime's. What an event
handler adds comes out once for each time that there is work to do, no matter how many events there were, and never to
two workers at a time. What failed comes back later, by the rules of a rate limiter.

Queues belong to one event loop. ``add`` and its like are plain calls, cheap enough for every event; other threads go
through ``loop.call_soon_threadsafe``. No queue has a task of its own, nor needs to be run.
"""

from __future__ import annotations

from kinformer.workqueue.base import ShutDown, WorkQueue
from kinformer.workqueue.bucket import NEVER, TokenBucket
from kinformer.workqueue.delaying import DelayingQueue
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
from kinformer.workqueue.parallelize import parallelize_until
from kinformer.workqueue.priority import LOW_PRIORITY, PriorityQueue
from kinformer.workqueue.queue import Order, Queue
from kinformer.workqueue.rate_limiting import RateLimitingQueue
from kinformer.workqueue.until import backoff_until, jitter_until, until

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
