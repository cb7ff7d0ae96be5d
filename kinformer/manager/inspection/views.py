"""Views: the state of a running manager, as values that can be written as JSON.

An :class:`~kinformer.manager.inspection.Inspector` makes them. The status page and scripts get them as JSON, and the
command line decodes the same types. A view holds no reference to the objects that it describes. Durations and ages are
in seconds. Timestamps are texts in the format of the API. In JSON, names are in camel case, as in the API:
``oldestSeconds``.
"""

from __future__ import annotations

import msgspec

__all__ = (
    "Answer",
    "ClusterView",
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
    "TaskView",
    "TasksView",
    "TriggerView",
    "WebhookView",
    "Why",
)


class ProcessView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The process that the manager runs in.

    :param identity: its identity in the leader election; the host's name if there is none
    :param memory_bytes: resident memory; None if the system does not report it
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
    :param heard_seconds: seconds since the server last sent an event, a bookmark or a list; None before the first list
    :param events_per_second: the mean of the last ten seconds; None before the second reading
    :param relists: how many lists came after the first one
    :param failing_seconds: for how long no watch could be opened; 0 while one is open
    :param waiting: changes that are not in the cache yet, and notifications that handlers have not got yet
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

    :param depth: how many keys a worker could take
    :param oldest_seconds: how long the oldest of these keys has waited
    :param latency_median: how long the last keys waited in the queue, the median; None before the first key
    :param latency_99: the same, the 99th percentile
    :param delayed: how many keys are delayed: after a failure, or because their sync asked for it
    :param retries: how often a key was to be synced again after a failure
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

    :param seconds: how long its last sync took
    :param ended_seconds: how long ago that sync ended
    :param error: why it failed, empty if it succeeded
    :param due_seconds: the time until it is synced again; None if no time is set
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
    :param running: how many syncs run now
    :param longest_seconds: how long the longest running sync has run
    :param failing: how many keys failed in their last sync
    :param slowest: the keys whose last sync took longest
    :param failed: the keys whose last sync failed, the latest failure first
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


class TasksView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    What a controller does beside its syncs.

    :param name: the controller's name, or that of the periodic work
    :param kind: ``daemons``, one for each object; ``periodic``
    :param running: how many run now
    :param failing: how many have raised, and are called again later
    :param idle: how many wait for their next turn, or for a new spec
    :param errors: how often one has raised
    :param key: the key of the object whose daemon failed last and is still failing; empty if none is
    :param error: why that one failed, or the periodic work
    :param due_seconds: the time until the next call; None if no time is set
    """

    name: str
    kind: str
    running: int
    failing: int
    idle: int
    errors: int
    key: str
    error: str
    due_seconds: float | None


class LeaderView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The leader election of the manager.

    :param lease: the namespace and name of the Lease
    :param identity: the identity of this process
    :param holder: the identity of the holder, as far as this process knows
    :param leads: whether the controllers of this process run
    """

    lease: str
    identity: str
    holder: str
    leads: bool


class MemberView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    A process that shares the keys with others.

    :param ranges: how many ranges of keys it owns
    :param is_self: whether it is this process
    :param objects: how many objects of its ranges it holds; None if it does not say
    :param syncs: how many syncs it began in the last minute; None if it does not say
    """

    name: str
    alive: bool
    ranges: int
    is_self: bool
    objects: int | None = None
    syncs: int | None = None


class ShardsView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    How keys are divided between processes.

    :param ranges: the name of the owner of each range, in the order of the ranges; empty if it has no owner
    :param object_skew: how many times its even share of the objects the member with the most of them holds
    :param sync_skew: the same of the syncs of the last minute
    """

    members: list[MemberView]
    ranges: list[str]
    object_skew: float = 1.0
    sync_skew: float = 1.0


class QuotaView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    One limit of a quota.

    :param share: the share of the limit that is used: 1 for all of it. It may be greater
    """

    kind: str
    name: str
    resource: str
    used: str
    hard: str
    share: float


class WebhookView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    A webhook that this process serves.

    :param path: where API servers call it
    :param kind: ``validating``, ``mutating`` or ``conversion``
    :param resource: the resources that it is for, as in kubectl
    :param state: ``registered`` by this process; ``serving``, if another one registers it; ``not registered`` if the
        API server has refused; ``not serving``
    :param requests: how many requests were answered
    :param refused: how many of the answers refuse what the user wants
    :param failed: how many requests got an error, so that the failure policy decides
    :param running: how many are answered now
    :param seconds_median: how long the last answers took, the median; None before the first one
    :param seconds_99: the same, the 99th percentile
    """

    path: str
    kind: str
    resource: str
    state: str
    requests: int
    refused: int
    failed: int
    running: int
    requests_per_second: float | None
    seconds_median: float | None
    seconds_99: float | None


class ClusterView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    A cluster of a fleet.

    :param server: its API server's address; empty before there is a client for it
    :param state: ``ready``; ``standing by`` while another process writes to it; ``starting``; ``failed``, if its part
        of the fleet has ended with an error and will be started again; ``stopping``
    :param trouble: why it is not ready; empty if it is
    :param failures: how often its part of the fleet has ended with an error
    :param due_seconds: the time until it is started again; None if it runs
    """

    name: str
    server: str
    state: str
    trouble: str
    failures: int
    due_seconds: float | None


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The state of a manager at one time, or of a fleet.

    In a fleet, keys and the names of controllers, queues, informers and quotas begin with the name of the cluster:
    ``west/default/web``.

    :param quotas: the limits with the greatest used share
    :param quotas_total: how many limits there are in all
    """

    at: str
    process: ProcessView
    informers: list[InformerView]
    queues: list[QueueView]
    controllers: list[ControllerView]
    tasks: list[TasksView] = []
    quotas: list[QuotaView]
    quotas_total: int
    webhooks: list[WebhookView] = []
    leader: LeaderView | None = None
    shards: ShardsView | None = None
    clusters: list[ClusterView] = []


class TriggerView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    What added a key to the queue.

    :param event: see :class:`~kinformer.manager.history.Trigger`
    :param informer: the name of the informer that reported the change, empty if none did
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

    :param waited_seconds: how long the key waited in the queue before the sync
    :param error: why it failed, empty if it succeeded
    """

    trigger: TriggerView
    began: str
    ago_seconds: float
    waited_seconds: float
    seconds: float
    error: str


class TaskView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    The daemon of an object.

    :param state: ``running``; ``failed``, if it is called again later; ``done``, until the spec changes
    :param seconds: for how long it has been so
    :param error: why its last call failed; empty if it did not
    :param due_seconds: the time until it is called again; None if no time is set
    """

    state: str
    seconds: float
    error: str
    due_seconds: float | None


class Why(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    What one controller knows about a key.

    :param state: ``running``, ``queued``, ``delayed`` (added to the queue later), or ``idle``
    :param trigger: the trigger of the running sync, or else of the next one; None if there is neither
    :param running_seconds: how long the current sync has run; None if none runs
    :param is_queued: whether it is in the queue. During a sync: whether it is synced again after that
    :param due_seconds: the time until it is added to the queue; None if no time is set
    :param failures: how often in a row it was added with the delay of the rate limiter
    :param runs: its last syncs, the newest first
    :param daemon: the object's daemon; None if it has none
    """

    controller: str
    state: str
    trigger: TriggerView | None
    running_seconds: float | None
    is_queued: bool
    due_seconds: float | None
    failures: int
    runs: list[RunView]
    daemon: TaskView | None = None


class Stored(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An object in an informer's cache."""

    informer: str
    version: str


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    All that a manager knows about a key.

    :param controllers: what each controller knows that knows the key
    :param objects: the objects with this key in the caches
    :param nearest: similar keys, if nothing is known about this key
    :param replay: the command that replays the recording of this process; empty if there is none
    """

    key: str
    at: str
    controllers: list[Why]
    objects: list[Stored]
    nearest: list[str]
    replay: str = ""
