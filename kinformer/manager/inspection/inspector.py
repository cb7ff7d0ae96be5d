"""Inspector: makes snapshots of the state of a manager, on request.

Informers, queues and controllers count while they work. The inspector reads these counters. A snapshot of a manager
with all controllers takes a few milliseconds, so all requests within half a second get the same one. Its size is
bounded for any cluster: it has the ten slowest keys of each controller, and the fifty fullest quotas.

Use it in the event loop's thread only.
"""

from __future__ import annotations

import os
import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import msgspec

from kinformer.cache import SharedIndexInformer
from kinformer.clock import Clock
from kinformer.informers import SharedInformerFactory
from kinformer.manager.activity import Activity
from kinformer.manager.checks import parts_of
from kinformer.manager.controller import Controller
from kinformer.manager.election import Election
from kinformer.manager.history import Run
from kinformer.manager.inspection.quotas import Quotas
from kinformer.manager.inspection.rates import EVERY, Rates, quantile
from kinformer.manager.inspection.sizes import Sizes
from kinformer.manager.inspection.views import (
    ControllerView,
    InformerView,
    KeyView,
    LeaderView,
    MemberView,
    ProcessView,
    QueueView,
    ShardsView,
    Snapshot,
    TasksView,
    WebhookView,
)
from kinformer.meta import GroupVersionResource
from kinformer.sharding.snapshot import ShardsSnapshot

__all__ = ("PAGE_PATHS", "Inspected", "Inspector", "process_view", "text_of", "shards_view")

#: The paths of the status page. Its files have no data of the cluster, so a browser gets them without a token.
PAGE_PATHS: Final = ("/", "/page", "/page/", "/page/page.css", "/page/page.js", "/page/icon.svg")

#: Seconds for which a snapshot is used again.
_HOLDS: Final = 0.5
#: How many slow keys, and how many failed keys, are shown of each controller.
_KEYS: Final = 10


class Inspected(ABC):
    """
    What the page, ``kinformer top`` and ``kinformer debug`` look at: a manager, or a fleet of them.

    :param clock: for times
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._began = clock.monotonic()
        self._last: tuple[float, Snapshot] | None = None

    def snapshot(self) -> Snapshot:
        """A snapshot of the state. It is at most half a second old."""
        now = self.clock.monotonic()
        if self._last is None or now - self._last[0] >= _HOLDS:
            self._last = now, self._make_snapshot(now)
        return self._last[1]

    @abstractmethod
    def inspectors(self) -> Mapping[str, Inspector]:
        """The inspectors of managers, by the names of their clusters: one without a name, or those of a fleet."""

    @abstractmethod
    def _make_snapshot(self, now: float) -> Snapshot: ...


class Inspector(Inspected):
    """
    Makes snapshots of the state of one manager.

    :param informers: the manager's informers
    :param controllers: the runnables of the manager, by name
    :param clock: for times
    :param election: the leader election; None if the manager has none
    :param server: the API server's address
    :param shards: returns how keys are divided between processes; None if they are not
    :param webhooks: returns the state of the webhooks
    :param recording: the file in which the manager is recorded; empty if it is not
    """

    def __init__(
        self,
        informers: SharedInformerFactory,
        controllers: Mapping[str, object],
        clock: Clock,
        *,
        election: Election | None = None,
        server: str = "",
        shards: Callable[[], ShardsSnapshot] | None = None,
        webhooks: Callable[[], list[WebhookView]] = list,
        recording: str = "",
    ) -> None:
        super().__init__(clock)
        self.recording = recording
        self.informers = informers
        self.controllers: list[Controller] = [part for runnable in controllers.values() for part in parts_of(runnable)]
        self._activities: list[Activity] = [
            activity for runnable in controllers.values() for activity in getattr(runnable, "activities", ())
        ]
        #: Returns how keys are divided between processes; None if they are not.
        self.shards = shards
        self._webhooks = webhooks
        self._election = election
        self._server = server
        self._rates = Rates()
        self._sizes = Sizes()
        self._quotas = Quotas(informers)

    async def run(self) -> None:
        """Read the counters each second until cancelled, so that even the first snapshot has rates."""
        while True:
            self._read_counters(self.clock.monotonic())
            await self.clock.sleep(EVERY)

    def inspectors(self) -> Mapping[str, Inspector]:
        """See :meth:`Inspected.inspectors`."""
        return {"": self}

    def _read_counters(self, now: float) -> None:
        if not self._rates.is_due(now):
            return
        counters: dict[Hashable, int] = {}
        for informer in self.informers.informers.values():
            counters["events", informer.name] = informer.indexer.storage.changes
        for number, controller in enumerate(self.controllers):
            history = controller.history
            counters["adds", number] = history.adds
            counters["syncs", number] = history.syncs
            counters["errors", number] = history.errors
            counters["retries", number] = history.retries
        for webhook in self._webhooks():
            counters["requests", webhook.path] = webhook.requests
        self._rates.read(now, counters)

    def _make_snapshot(self, now: float) -> Snapshot:
        self._read_counters(now)
        quotas, total = self._quotas.fullest()
        leader = self.leader
        return Snapshot(
            at=text_of(self.clock.now()),
            process=self._process(leader, now),
            informers=[self._informer(*pair, now) for pair in self.informers.informers.items()],
            queues=[self._queue(number, it, now) for number, it in enumerate(self.controllers)],
            controllers=[self._controller(number, it, now) for number, it in enumerate(self.controllers)],
            tasks=[_tasks(it, now) for it in self._activities],
            quotas=quotas,
            quotas_total=total,
            webhooks=[self._webhook(it, now) for it in self._webhooks()],
            leader=leader,
            shards=shards_view(self.shards()) if self.shards is not None else None,
        )

    def _process(self, leader: LeaderView | None, now: float) -> ProcessView:
        return process_view(leader.identity if leader is not None else "", self._server, now - self._began)

    @property
    def leader(self) -> LeaderView | None:
        """The leader election; None if the manager has none."""
        if self._election is None:
            return None
        elector = self._election.elector
        lock = elector.keeper.lock
        return LeaderView(
            lease=lock.describe(), identity=lock.identity, holder=elector.leader, leads=self._election.leads
        )

    def _informer(self, gvr: GroupVersionResource, informer: SharedIndexInformer[Any], now: float) -> InformerView:
        events = informer.indexer.storage.changes
        return InformerView(
            name=informer.name,
            api_version=f"{gvr.group}/{gvr.version}" if gvr.group else gvr.version,
            kind=informer.type.__name__,
            state=_state_of(informer),
            objects=len(informer.indexer),
            bytes=self._sizes.of(informer, now),
            version=informer.last_sync_resource_version,
            heard_seconds=informer.silent_for if informer.lists else None,
            events_per_second=self._rates.per_second(("events", informer.name), events, now),
            events=events,
            relists=max(informer.lists - 1, 0),
            failing_seconds=informer.failing_for,
            waiting=informer.queued + informer.untold,
        )

    def _queue(self, number: int, controller: Controller, now: float) -> QueueView:
        queue, history = controller.queue, controller.history
        waited = sorted(history.waits())
        return QueueView(
            name=queue.name,
            controller=controller.name,
            depth=len(queue),
            oldest_seconds=history.oldest,
            latency_median=quantile(waited, 0.5),
            latency_99=quantile(waited, 0.99),
            delayed=queue.waiting,
            adds_per_second=self._rates.per_second(("adds", number), history.adds, now),
            retries=history.retries,
            retries_per_second=self._rates.per_second(("retries", number), history.retries, now),
        )

    def _controller(self, number: int, controller: Controller, now: float) -> ControllerView:
        history = controller.history
        took = sorted(history.times())
        return ControllerView(
            name=controller.name,
            queue=controller.queue.name,
            state="running" if controller.has_synced else "waiting",
            workers=controller.workers,
            running=history.active,
            longest_seconds=history.longest_running,
            syncs=history.syncs,
            errors=history.errors,
            syncs_per_second=self._rates.per_second(("syncs", number), history.syncs, now),
            errors_per_second=self._rates.per_second(("errors", number), history.errors, now),
            seconds_median=quantile(took, 0.5),
            seconds_99=quantile(took, 0.99),
            failing=history.failing,
            slowest=_keys(controller, history.slowest(_KEYS, self._is_there), now),
            failed=_keys(controller, history.failed_last(_KEYS), now),
        )

    def _is_there(self, key: Hashable, run: Run) -> bool:
        """Whether a key's object is still in the cache. Other keys, such as those of owners, count as being there."""
        trigger = run.trigger
        if key != (f"{trigger.namespace}/{trigger.name}" if trigger.namespace else trigger.name):
            return True
        informers = (it for it in self.informers.informers.values() if it.name == trigger.informer)
        informer = next(informers, None)
        return informer is None or informer.indexer.get_by_key(str(key)) is not None

    def _webhook(self, webhook: WebhookView, now: float) -> WebhookView:
        rate = self._rates.per_second(("requests", webhook.path), webhook.requests, now)
        return msgspec.structs.replace(webhook, requests_per_second=rate)

    def time_of(self, monotonic: float) -> str:
        """A monotonic time as a timestamp in the format of the API."""
        return text_of(self.clock.now() - timedelta(seconds=self.clock.monotonic() - monotonic))


def process_view(identity: str, server: str, uptime: float) -> ProcessView:
    """
    The view of this process.

    :param identity: its identity in an election; empty: the host's name
    :param uptime: seconds
    """
    return ProcessView(
        identity=identity or platform.node(),
        pid=os.getpid(),
        version=_version(),
        server=server,
        uptime_seconds=uptime,
        memory_bytes=_resident_memory(),
    )


def _tasks(activity: Activity, now: float) -> TasksView:
    tasks = activity.tasks
    failing = {key: task for key, task in tasks.items() if task.state == "failed"}
    running = sum(task.state == "running" for task in tasks.values())
    key = max(failing, key=lambda it: failing[it].since, default="")
    shown = tasks.get(key)
    return TasksView(
        name=activity.name,
        kind=activity.kind,
        running=running,
        failing=len(failing),
        idle=len(tasks) - running - len(failing),
        errors=activity.errors,
        key=key,
        error=shown.error if shown is not None else "",
        due_seconds=max(shown.due - now, 0.0) if shown is not None and shown.due is not None else None,
    )


@cache
def _version() -> str:
    """The version of this package. It is cached, because the look-up reads files."""
    return version("kinformer")


def text_of(time: datetime) -> str:
    """A timestamp in the format of the API, with milliseconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03}Z"


def _state_of(informer: SharedIndexInformer[Any]) -> str:
    if informer.is_stopped:
        return "stopped"
    if not informer.is_started:
        return "not started"
    if not informer.has_synced:
        return "listing"
    return "following" if informer.is_following else "not following"


def _keys(controller: Controller, found: Iterable[tuple[Hashable, Run]], now: float) -> list[KeyView]:
    return [
        KeyView(
            key=str(key),
            seconds=run.seconds,
            ended_seconds=now - run.began - run.seconds,
            error=run.error,
            due_seconds=controller.queue.due_in(str(key)),
        )
        for key, run in found
    ]


def _resident_memory() -> int | None:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def shards_view(snapshot: ShardsSnapshot) -> ShardsView:
    """The members in the order of their names, and the owner of each range."""
    owners = {number: member.name for member in snapshot.members for number in member.ranges}
    return ShardsView(
        members=[
            MemberView(
                name=member.name,
                alive=member.live,
                ranges=len(member.ranges),
                is_self=member.name == snapshot.member,
                objects=member.load.objects if member.load is not None else None,
                syncs=member.load.syncs if member.load is not None else None,
            )
            for member in sorted(snapshot.members, key=lambda member: member.name)
        ],
        ranges=[owners.get(number, "") for number in range(snapshot.shards)],
        object_skew=snapshot.object_skew,
        sync_skew=snapshot.sync_skew,
    )
