"""Views: what there is to see of a running manager, as values that JSON has a form for.

An :class:`~kinformer.manager.inspection.Inspector` makes them, the page and scripts get them as JSON, and the command
line decodes the same types. Nothing here refers to anything that lives. Durations and ages are in seconds, points of
time are texts as the API writes them. In JSON, names are written as the API's: ``oldestSeconds``.
"""

from __future__ import annotations

import msgspec

__all__ = (
    "Answer",
    "ControllerView",
    "InformerView",
    "KeyView",
    "LeaderView",
    "MemberView",
    "ProcessView",
    "QueueView",
    "QuotaView",
    "RunView",
    "ShardsView",
    "Snapshot",
    "Stored",
    "TriggerView",
    "Why",
)


class ProcessView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The process that the manager runs in.

    :param identity: what it calls itself in leases, its host's name where it holds none
    :param memory_bytes: resident memory; None where the system does not tell
    """

    identity: str
    pid: int
    version: str
    server: str
    uptime_seconds: float
    memory_bytes: int | None


class InformerView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    An informer.

    :param state: ``following``; ``listing`` before its first list is in the cache; ``not following`` if no watch could
        be opened for a while; ``stopped``; ``not started``
    :param bytes: an estimate: the size of some objects as JSON, times the number of objects
    :param heard_seconds: since the server sent an event, a bookmark or a list; None before the first list
    :param events_per_second: over the last ten seconds; None as long as there is nothing to compare with
    :param relists: lists after the first one
    :param failing_seconds: since when no watch could be opened; 0 while one is open
    :param waiting: changes that are on their way into the cache, and notifications on their way to handlers
    """

    name: str
    api_version: str
    kind: str
    state: str
    objects: int
    bytes: int | None
    version: str
    heard_seconds: float | None
    events_per_second: float | None
    events: int
    relists: int
    failing_seconds: float
    waiting: int


class QueueView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    A controller's queue.

    :param depth: keys that a worker could take
    :param oldest_seconds: for how long the first of them has been there
    :param latency_median: how long the last keys lay in the queue; None before the first
    :param latency_99: the same, of all but the longest hundredth
    :param delayed: keys that wait for a time: after a failure, or because their sync asked for it
    :param retries: how often a key was added to come up later
    """

    name: str
    controller: str
    depth: int
    oldest_seconds: float
    latency_median: float | None
    latency_99: float | None
    delayed: int
    adds_per_second: float | None
    retries: int
    retries_per_second: float | None


class KeyView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    A key and its last sync.

    :param ended_seconds: since it ended
    :param error: why it failed, empty if it did not
    :param due_seconds: until it is tried again; None if no time is set
    """

    key: str
    seconds: float
    ended_seconds: float
    error: str
    due_seconds: float | None


class ControllerView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    A controller.

    :param state: ``running``; ``waiting`` for its caches, or for the lease
    :param running: workers that are at a sync
    :param longest_seconds: how long the sync that began first has been going on
    :param failing: keys that are remembered and whose last sync failed
    :param slowest: keys whose last sync took longest
    :param failed: keys whose last sync failed, the last one first
    """

    name: str
    queue: str
    state: str
    workers: int
    running: int
    longest_seconds: float
    syncs: int
    errors: int
    syncs_per_second: float | None
    errors_per_second: float | None
    seconds_median: float | None
    seconds_99: float | None
    failing: int
    slowest: list[KeyView]
    failed: list[KeyView]


class LeaderView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The election that the manager takes part in.

    :param lease: its namespace and name
    :param identity: this process
    :param holder: who holds it, as far as this process knows
    :param leads: whether this process does the work
    """

    lease: str
    identity: str
    holder: str
    leads: bool


class MemberView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    One of the processes that share the keys.

    :param ranges: how many ranges of keys it owns
    :param is_self: whether it is this process
    """

    name: str
    alive: bool
    ranges: int
    is_self: bool


class ShardsView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    How keys are divided.

    :param ranges: who owns each range, in the order of the ranges; empty where nobody does
    """

    members: list[MemberView]
    ranges: list[str]


class QuotaView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    One limit of a quota.

    :param share: of the limit that is used, 1 for all of it; may be more
    """

    kind: str
    name: str
    resource: str
    used: str
    hard: str
    share: float


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    All that there is to see at one time.

    :param quotas: those that are used most; `quotas_total` says how many there are
    """

    at: str
    process: ProcessView
    informers: list[InformerView]
    queues: list[QueueView]
    controllers: list[ControllerView]
    quotas: list[QuotaView]
    quotas_total: int
    leader: LeaderView | None = None
    shards: ShardsView | None = None


class TriggerView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    What put a key into the queue.

    :param event: see :class:`~kinformer.manager.history.Trigger`
    :param informer: who told of the change, empty if none did
    :param object: the key of the object that changed
    :param version: its resourceVersion
    """

    at: str
    ago_seconds: float
    event: str
    informer: str = ""
    object: str = ""
    version: str = ""


class RunView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    A sync that has ended.

    :param waited_seconds: how long the key lay in the queue before it
    :param error: why it failed, empty if it did not
    """

    trigger: TriggerView
    began: str
    ago_seconds: float
    waited_seconds: float
    seconds: float
    error: str


class Why(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    What one controller knows of a key.

    :param state: ``queued``, ``running``, ``delayed`` until a time has come, or ``idle``
    :param trigger: of the sync that is to come or under way; None if there is none
    :param running_seconds: how long it has been synced; None if it is not
    :param is_queued: whether it is in the queue; while it is synced: whether it is synced once more after that
    :param due_seconds: until it is added to the queue; None if no time is set
    :param failures: how often in a row it has failed, or had to wait
    :param runs: its last syncs, the newest first
    """

    controller: str
    state: str
    trigger: TriggerView | None
    running_seconds: float | None
    is_queued: bool
    due_seconds: float | None
    failures: int
    runs: list[RunView]


class Stored(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An object that an informer's cache has under a key."""

    informer: str
    version: str


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    All that is known of a key.

    :param controllers: those that know something of it
    :param objects: what the caches have under the key
    :param nearest: keys like it, where nothing is known of it
    """

    key: str
    at: str
    controllers: list[Why]
    objects: list[Stored]
    nearest: list[str]
