"""Counting ended pods in a Job's status, so that each is counted exactly once, even after a crash.

For a pod that has ended there are three steps. Each is a write, and the process may crash after any of them:

1. Its uid is written into the status' uncountedTerminatedPods. (For a success of an Indexed Job, its index is written
   into completedIndexes instead, which is enough.)
2. Its finalizer is removed.
3. Its uid is removed from the status and the counter is raised, in one write.

After a crash, the next sync finds the uid in the status. If the pod still has its finalizer, step 2 is done again;
otherwise step 3 is done. The functions here change a status object and return what has to be written. They do no I/O.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

from kinformer.controllerutil.pods import pod_phase
from kinformer.models import V1JobStatus, V1Pod, V1UncountedTerminatedPods
from kinformer_controllers.job.counting import JobPods
from kinformer_controllers.job.jobs import is_indexed, limits_failures_per_index
from kinformer_controllers.job.pods import completion_index, is_pod_failed, valid_index
from kinformer_controllers.job.policies import match_failure_policy

__all__ = ("Accounts", "account", "settle_released", "uncounted_of")

#: The largest number of pods that one sync counts. So the uids need less than 20 KB in the status, and other Jobs are
#: not delayed.
_MAX_UNCOUNTED_PODS: Final = 500


@dataclass(eq=False, slots=True)
class Accounts:
    """
    The result of counting a Job's ended pods.

    :param release: the pods whose finalizer is removed after the status was written
    :param held: the uids of the pods that still have their finalizer
    :param changed: whether the status has to be written
    :param full: whether there are more pods than one sync may count
    :param actions: how often each action of the pod failure policy was taken
    """

    release: list[V1Pod] = field(default_factory=list)
    held: set[str] = field(default_factory=set)
    changed: bool = False
    full: bool = False
    actions: Counter[str] = field(default_factory=Counter)


def account(stock: JobPods) -> Accounts:
    """Add the pods that have ended to the status of `stock.job`, and return the pods to release."""
    job, status = stock.job, stock.job.status
    indexed = is_indexed(job)
    accounts = Accounts(held={pod.metadata.uid for pod in stock.pods if stock.is_to_count(pod)})
    accounts.changed = settle_released(status, accounts.held)
    uncounted = uncounted_of(status)
    new_indexes: set[int] = set()
    for pod in _in_order(stock):
        failed = is_pod_failed(pod, job)
        if not _may_release(stock, pod, failed):
            continue
        accounts.release.append(pod)
        uid = pod.metadata.uid
        if pod_phase(pod) == "Succeeded" and uid not in stock.uncounted_failed:
            if indexed:
                index = valid_index(pod, job)
                if index is not None and index not in stock.previous:
                    new_indexes.add(index)
                    accounts.changed = True
            elif uid not in stock.uncounted_succeeded:
                uncounted.succeeded = _with(uncounted.succeeded, uid)
                accounts.changed = True
        elif _counts_as_failed(stock, pod, failed):
            _account_failure(stock, accounts, uncounted, pod)
        if len(new_indexes) + len(uncounted.succeeded or ()) + len(uncounted.failed or ()) >= _MAX_UNCOUNTED_PODS:
            accounts.full = True
            break
    if indexed:
        _write_indexes(stock, status, new_indexes, accounts)
    return accounts


def _in_order(stock: JobPods) -> list[V1Pod]:
    """
    Return the pods to count. Those of an Indexed Job are sorted by index, so that completedIndexes grows in order.
    """
    pods = [pod for pod in stock.pods if stock.is_to_count(pod)]
    if not is_indexed(stock.job):
        return pods
    indexes = [(index if (index := completion_index(pod)) is not None else -1, pod) for pod in pods]
    return [pod for _, pod in sorted(indexes, key=itemgetter(0))]


def _may_release(stock: JobPods, pod: V1Pod, failed: bool) -> bool:
    job = stock.job
    if job.metadata.deletion_timestamp is not None or stock.finished is not None or pod_phase(pod) == "Succeeded":
        return True
    if not failed:
        return False
    if limits_failures_per_index(job):
        index = completion_index(pod)
        kept = stock.kept.get(index) if index is not None else None
        return kept is None or kept.metadata.uid != pod.metadata.uid
    return True


def _counts_as_failed(stock: JobPods, pod: V1Pod, failed: bool) -> bool:
    finished = stock.finished
    if finished is None:
        return failed
    if finished.type != "SuccessCriteriaMet":
        return True  # if a Job fails, each pod that has not ended counts as failed
    # A pod that is deleted because the success policy is met has not failed. (After a restart, Kubernetes' controller
    # counts such a pod as failed.)
    return failed and (finished.reason != "SuccessPolicy" or pod_phase(pod) == "Failed")


def _account_failure(stock: JobPods, accounts: Accounts, uncounted: V1UncountedTerminatedPods, pod: V1Pod) -> None:
    job, uid = stock.job, pod.metadata.uid
    if uid in stock.uncounted_failed or (is_indexed(job) and valid_index(pod, job) is None):
        return
    verdict = match_failure_policy(job, pod)
    if verdict.action is not None:
        accounts.actions[verdict.action] += 1
    if verdict.counts:
        uncounted.failed = _with(uncounted.failed, uid)
        accounts.changed = True


def _with(uids: list[str] | None, uid: str) -> list[str]:
    if uids is None:
        return [uid]
    uids.append(uid)  # safe, because the sync has its own copy of the status
    return uids


def _write_indexes(stock: JobPods, status: Any, new: Collection[int], accounts: Accounts) -> None:
    stock.succeeded_indexes = stock.succeeded_indexes.with_indexes(new)
    completed = str(stock.succeeded_indexes) or None
    failed = str(stock.failed_indexes) if stock.failed_indexes is not None else None
    if completed != (status.completed_indexes or None) or failed != status.failed_indexes:
        accounts.changed = True
    status.succeeded = stock.succeeded_indexes.count or None
    status.completed_indexes, status.failed_indexes = completed, failed


def settle_released(status: V1JobStatus, held: Collection[str]) -> bool:
    """
    Raise the counters by the uncounted pods that no longer have their finalizer, and remove these pods' uids.

    :param held: the uids of the pods that still have their finalizer
    :return: whether there were any such pods
    """
    uncounted: Any = uncounted_of(status)
    succeeded = [uid for uid in uncounted.succeeded or () if uid in held]
    failed = [uid for uid in uncounted.failed or () if uid in held]
    more_succeeded = len(uncounted.succeeded or ()) - len(succeeded)
    more_failed = len(uncounted.failed or ()) - len(failed)
    if more_succeeded:
        status.succeeded, uncounted.succeeded = (status.succeeded or 0) + more_succeeded, succeeded or None
    if more_failed:
        status.failed, uncounted.failed = (status.failed or 0) + more_failed, failed or None
    return bool(more_succeeded or more_failed)


def uncounted_of(status: V1JobStatus) -> V1UncountedTerminatedPods:
    """Return the uncounted pods of a status. If the status has no entry for them, an empty one is added."""
    if status.uncounted_terminated_pods is None:
        status.uncounted_terminated_pods = V1UncountedTerminatedPods()
    return status.uncounted_terminated_pods
