"""The metrics of controllers, with controller-runtime's names. The label ``controller`` has the controller's name.

The metrics of queues are in :mod:`kinformer.workqueue.metrics`.
"""

from __future__ import annotations

from typing import Final, Protocol
from weakref import WeakSet

from prometheus_client import Gauge

from kinformer.cluster import in_cluster
from kinformer.tallies import Counts, Histograms

__all__ = ("RUNNING", "ControllerMetrics")

#: Kubernetes' metric; kube-controller-manager sets it for some of its controllers.
RUNNING: Final = Gauge(
    "running_managed_controllers",
    "Indicates where instances of a controller are currently running",
    ("name", "manager"),
)

_TOTAL: Final = Counts(
    "controller_runtime_reconcile_total",
    "Syncs of a controller, by result",
    ("controller", "result"),
)
_ERRORS: Final = Counts(
    "controller_runtime_reconcile_errors_total",
    "Syncs of a controller that raised",
    ("controller",),
)
_TERMINAL: Final = Counts(
    "controller_runtime_terminal_reconcile_errors_total",
    "Syncs of a controller that raised and are not tried again before the object changes",
    ("controller",),
)
_TIMEOUTS: Final = Counts(
    "controller_runtime_reconcile_timeouts_total",
    "Syncs of a controller that took too long and were cancelled",
    ("controller",),
)
_SECONDS: Final = Histograms(
    "controller_runtime_reconcile_time_seconds",
    "Seconds that a sync of a controller took",
    ("controller",),
    (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
_WORKERS: Final = Gauge(
    "controller_runtime_max_concurrent_reconciles",
    "Workers that a controller has",
    ("controller",),
)
_ACTIVE: Final = Gauge(
    "controller_runtime_active_workers",
    "Workers of a controller that run a sync now",
    ("controller",),
)


class _Active(Protocol):
    @property
    def active(self) -> int: ...


#: What knows how many syncs run, by the controller's name. It is asked when Prometheus scrapes.
_of_names: Final[dict[str, WeakSet[_Active]]] = {}


class ControllerMetrics:
    """
    The metrics of one controller. Their labels are looked up once.

    :param history: knows how many syncs run
    """

    __slots__ = ("failed", "requeued", "seconds", "succeeded", "terminal", "timeouts")

    def __init__(self, name: str, workers: int, history: _Active) -> None:
        name = in_cluster(name)
        of_name = _of_names.setdefault(name, WeakSet())
        of_name.add(history)
        _ACTIVE.labels(name).set_function(lambda: sum(it.active for it in tuple(of_name)))
        self.seconds = _SECONDS.labels(name)
        self.succeeded = _TOTAL.labels(name, "success")
        self.requeued = _TOTAL.labels(name, "requeue_after")
        self.terminal, self.timeouts = _TERMINAL.labels(name), _TIMEOUTS.labels(name)
        self.failed = _TOTAL.labels(name, "error"), _ERRORS.labels(name)
        _WORKERS.labels(name).set(workers)

    def sync_failed(self) -> None:
        for counter in self.failed:
            counter.inc()
