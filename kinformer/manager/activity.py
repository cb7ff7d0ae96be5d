"""Activity: what a controller does beside its syncs, counted for the metrics and for the status page.

Daemons of a :class:`~kinformer.operator.Reconciler` and the turns of a :class:`~kinformer.manager.Periodic` have no
queue, so the figures of queues and syncs say nothing of them. Whoever runs such a task reports each change of its state
here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from prometheus_client import Counter, Gauge

from kinformer.clock import Clock
from kinformer.cluster import in_cluster

__all__ = ("Activity", "Kind", "State", "Task")

#: What the tasks are: one daemon for each object, or one task that repeats its work.
Kind = Literal["daemons", "periodic"]

#: ``running``; ``failed``, until it is called again; ``waiting`` for its next turn; ``done``, until the spec changes.
State = Literal["running", "failed", "waiting", "done"]

_TASKS: Final = Gauge("kinformer_tasks", "Tasks beside syncs, by state", ("name", "kind", "state"))
_ERRORS: Final = Counter("kinformer_task_errors_total", "How often a task beside syncs has raised", ("name", "kind"))


@dataclass(frozen=True, slots=True)
class Task:
    """
    One task.

    :param since: when its state began, in the clock's monotonic time
    :param error: why its last call failed; empty if none has, or one has ended well since then
    :param due: when it is called again; None if no time is set
    """

    state: State
    since: float
    error: str = ""
    due: float | None = None


class Activity:
    """
    The tasks of one controller, or one periodic task.

    :param name: the controller's name, or that of the periodic work
    :ivar tasks: by the keys of their objects; a periodic task has the key ""
    :ivar errors: how often one of them has raised
    """

    def __init__(self, name: str, kind: Kind, clock: Clock) -> None:
        self.name = name
        self.kind: Final = kind
        self.tasks: dict[str, Task] = {}
        self.errors = 0
        self._clock = clock
        self._label = in_cluster(name)

    def shows(self, state: State, key: str = "", *, again_in: float | None = None) -> None:
        """
        Note the state of a task.

        :param again_in: seconds until it is called again
        """
        before = self.tasks.get(key)
        error = before.error if before is not None and state == "running" else ""
        self._put(key, state, error, again_in)

    def failed(self, error: str, key: str = "", *, again_in: float) -> None:
        """Note that a task has raised, and in how many seconds it is called again."""
        self.errors += 1
        _ERRORS.labels(self._label, self.kind).inc()
        self._put(key, "failed", error, again_in)

    def ended(self, key: str = "") -> None:
        """Forget a task that does not run any more."""
        task = self.tasks.pop(key, None)
        if task is not None:
            _TASKS.labels(self._label, self.kind, task.state).dec()

    def _put(self, key: str, state: State, error: str, again_in: float | None) -> None:
        self.ended(key)
        now = self._clock.monotonic()
        self.tasks[key] = Task(state, now, error, None if again_in is None else now + again_in)
        _TASKS.labels(self._label, self.kind, state).inc()
