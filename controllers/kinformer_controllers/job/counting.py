"""Counting a Job's pods in one sync: the active, succeeded and failed ones, the state of indexes, and the backoff.

Each pod is counted once. While a pod has the tracking finalizer, it is not in the status' counters. Between the two
states its uid is in the status' uncountedTerminatedPods. So a total is the sum of three sets that do not overlap: the
counters, the uncounted pods, and the pods with the finalizer that are not uncounted.

Before a Job replaces a failed pod, it waits ten seconds, doubled with each failure, at most 600 seconds. Each success
resets the count of failures. The count is kept in memory. When Kubernetes' controller restarts, it loses the count.
Here it is computed again from the existing pods, so that no pod is created too early after a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple

from kinformer.controllerutil.pods import is_pod_active, is_pod_ready, is_pod_terminating, pod_phase
from kinformer.models import V1Job, V1JobCondition, V1Pod
from kinformer_controllers.job.intervals import Indexes
from kinformer_controllers.job.jobs import backoff_limit, is_indexed, limits_failures_per_index, replaces_only_failed
from kinformer_controllers.job.pods import (
    absolute_index_failures,
    completion_index,
    finished_at,
    index_failures,
    is_pod_failed,
    is_tracked,
    restarts_of,
    valid_index,
)
from kinformer_controllers.job.policies import match_failure_policy

__all__ = (
    "Backoff",
    "JobPods",
    "first_pending_indexes",
    "is_past_backoff_limit_by_restarts",
    "remaining_for_index",
    "remaining_seconds",
    "succeeded_indexes",
    "take_stock",
)

_FIRST: Final = timedelta(seconds=10)
_LONGEST: Final = timedelta(minutes=10)


class Backoff(NamedTuple):
    """
    The failures of a Job.

    :param failures: the number of failures since the last success
    :param last_failure: the time of the last one; None if there was none
    """

    failures: int = 0
    last_failure: datetime | None = None

    def after(self, succeeded: Iterable[V1Pod], failed: Sequence[V1Pod]) -> Backoff:
        """Return the record with these ended pods, which are new to it."""
        if not failed and not succeeded:
            return self
        failures = sorted(map(finished_at, failed))
        last_success = max(map(finished_at, succeeded), default=None)
        if last_success is not None:
            since = [moment for moment in failures if moment > last_success]
            return Backoff(len(since), since[-1] if since else None)
        if not failures:
            return self
        return Backoff(self.failures + len(failures), failures[-1])

    def remaining(self, now: datetime) -> float:
        """Return the seconds until a pod may be replaced."""
        return remaining_seconds(self.failures, self.last_failure, now)


def remaining_for_index(last_failed: V1Pod | None, now: datetime) -> float:
    """Return the seconds until an index may get another pod after this one."""
    if last_failed is None:
        return 0.0
    return remaining_seconds(absolute_index_failures(last_failed) + 1, finished_at(last_failed), now)


def remaining_seconds(failures: int, last_failure: datetime | None, now: datetime) -> float:
    """Return the remaining seconds of the wait after this many failures."""
    if failures <= 0 or last_failure is None:
        return 0.0
    # Six doublings exceed the maximum. The limit protects against huge counts that a user has written.
    wait = min(_FIRST * (1 << min(failures - 1, 6)), _LONGEST)
    return max((wait - (now - last_failure)).total_seconds(), 0.0)


# More than 15 fields: a record of the counts of one sync, each of which is a field of the status.
@dataclass(eq=False, slots=True)
class JobPods:
    """
    A Job's pods in one sync, with their counts. The sync changes this object.

    :param job: a copy whose status may be changed
    :param pods: all pods of the Job
    :param released: the uids of pods whose finalizer was removed, even if the cache still shows it
    :param uncounted_succeeded: uids from the status at the beginning of the sync
    :param uncounted_failed: uids from the status at the beginning of the sync
    :param succeeded: the number of succeeded pods, or of succeeded indexes for an Indexed Job
    :param previous: the indexes that had succeeded before this sync
    :param failed_indexes: None if failures are not limited per index
    :param kept: failed pods by index. A pod is kept until its replacement has its count of failures
    """

    job: V1Job
    pods: Sequence[V1Pod]
    released: Collection[str]
    uncounted_succeeded: frozenset[str]
    uncounted_failed: frozenset[str]
    active: list[V1Pod]
    ready: int
    terminating: int
    new_succeeded: list[V1Pod] = field(default_factory=list)
    new_failed: list[V1Pod] = field(default_factory=list)
    succeeded: int = 0
    failed: int = 0
    previous: Indexes = field(default_factory=Indexes)
    succeeded_indexes: Indexes = field(default_factory=Indexes)
    failed_indexes: Indexes | None = None
    kept: dict[int, V1Pod] = field(default_factory=dict)
    backoff: Backoff = field(default_factory=Backoff)
    finished: V1JobCondition | None = None

    def is_to_count(self, pod: V1Pod) -> bool:
        """Whether the pod still has its finalizer, as far as this controller knows."""
        return is_tracked(pod) and pod.metadata.uid not in self.released

    def valid(self, uncounted: Collection[str], wanted: Callable[[V1Pod], bool]) -> Iterator[V1Pod]:
        """Return the pods that are not counted and not in `uncounted`, with a valid index if the Job is indexed."""
        indexed = is_indexed(self.job)
        return (
            pod
            for pod in self.pods
            if self.is_to_count(pod)
            and pod.metadata.uid not in uncounted
            and not (indexed and valid_index(pod, self.job) is None)
            and wanted(pod)
        )


def take_stock(job: V1Job, pods: Sequence[V1Pod], released: Collection[str] = frozenset()) -> JobPods:
    """Count a Job's pods."""
    status = job.status
    uncounted = status.uncounted_terminated_pods if status is not None else None
    active = [pod for pod in pods if is_pod_active(pod)]
    stock = JobPods(
        job=job,
        pods=pods,
        released=released,
        uncounted_succeeded=frozenset((uncounted.succeeded if uncounted is not None else None) or ()),
        uncounted_failed=frozenset((uncounted.failed if uncounted is not None else None) or ()),
        active=active,
        ready=sum(map(is_pod_ready, active)),
        terminating=sum(map(is_pod_terminating, pods)),
    )
    stock.new_succeeded = list(stock.valid(stock.uncounted_succeeded, lambda pod: pod_phase(pod) == "Succeeded"))
    stock.new_failed = list(stock.valid(stock.uncounted_failed, lambda pod: is_pod_failed(pod, job)))
    counted_succeeded = (status.succeeded or 0) if status is not None else 0
    counted_failed = (status.failed or 0) if status is not None else 0
    stock.succeeded = counted_succeeded + len(stock.new_succeeded) + len(stock.uncounted_succeeded)
    not_ignored = sum(match_failure_policy(job, pod).counts for pod in stock.new_failed)
    stock.failed = counted_failed + not_ignored + len(stock.uncounted_failed)
    if is_indexed(job):
        stock.previous, stock.succeeded_indexes = succeeded_indexes(job, pods)
        stock.succeeded = stock.succeeded_indexes.count
        if limits_failures_per_index(job):
            stock.failed_indexes = failed_indexes(job, pods)
            stock.kept = _pods_kept_for_their_index(stock)
    return stock


def succeeded_indexes(job: V1Job, pods: Iterable[V1Pod]) -> tuple[Indexes, Indexes]:
    """Return the completed indexes in the status, and the same with the indexes that have succeeded since."""
    text = job.status.completed_indexes if job.status is not None else None
    previous = Indexes.parse(text, job.spec.completions or 0)
    return previous, previous.with_indexes(_indexes_of(job, pods, lambda pod: pod_phase(pod) == "Succeeded"))


def failed_indexes(job: V1Job, pods: Iterable[V1Pod]) -> Indexes:
    """Return the failed indexes in the status, with those that have finally failed since."""
    text = job.status.failed_indexes if job.status is not None else None
    previous = Indexes.parse(text, job.spec.completions or 0)
    return previous.with_indexes(_indexes_of(job, pods, lambda pod: _has_failed_its_index(job, pod)))


def _indexes_of(job: V1Job, pods: Iterable[V1Pod], wanted: Callable[[V1Pod], bool]) -> Iterator[int]:
    for pod in pods:
        if is_tracked(pod) and wanted(pod) and (index := valid_index(pod, job)) is not None:
            yield index


def _has_failed_its_index(job: V1Job, pod: V1Pod) -> bool:
    if not is_pod_failed(pod, job):
        return False
    verdict = match_failure_policy(job, pod)
    if verdict.action == "FailIndex":
        return True
    return verdict.counts and index_failures(pod) >= (job.spec.backoff_limit_per_index or 0)


def _pods_kept_for_their_index(stock: JobPods) -> dict[int, V1Pod]:
    """
    Return the failed pods, by index, that must stay until they are replaced: the new pod inherits their failures.

    An index that is done or has an active pod needs none.
    """
    job, kept = stock.job, dict[int, V1Pod]()
    active = {completion_index(pod) for pod in stock.active}
    failed = stock.failed_indexes or Indexes()
    for pod in stock.valid((), lambda pod: is_pod_failed(pod, job)):
        index = valid_index(pod, job)
        if index is None or index in active or index in stock.succeeded_indexes or index in failed:
            continue
        other = kept.get(index)
        if other is None or (
            absolute_index_failures(other) <= absolute_index_failures(pod) and finished_at(pod) >= finished_at(other)
        ):
            kept[index] = pod
    return kept


def first_pending_indexes(stock: JobPods, count: int) -> list[int]:
    """Return the first `count` indexes that are not done, have not failed, and have no pod."""
    job = stock.job
    taken = [index for pod in stock.active if (index := completion_index(pod)) is not None]
    if replaces_only_failed(job):
        terminating = filter(is_pod_terminating, stock.pods)
        taken += [index for pod in terminating if (index := completion_index(pod)) is not None]
    settled = stock.succeeded_indexes.with_indexes(taken)
    if stock.failed_indexes is not None:
        settled = settled.union(stock.failed_indexes)
    return list(islice(settled.gaps(job.spec.completions or 0), max(count, 0)))


def is_past_backoff_limit_by_restarts(job: V1Job, pods: Iterable[V1Pod]) -> bool:
    """Whether containers were restarted too often in place, with restartPolicy OnFailure."""
    if job.spec.template.spec.restart_policy != "OnFailure":
        return False
    restarts = sum(restarts_of(pod) for pod in pods if pod_phase(pod) in ("Running", "Pending"))
    return restarts >= max(backoff_limit(job), 1)
