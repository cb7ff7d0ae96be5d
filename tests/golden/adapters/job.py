"""job: a Job, its pods and a moment: what its indexes are at, what failed, how long to back off, which pods go."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kinformer.controllerutil.pods import pod_phase
from kinformer.models import V1Job, V1Pod, from_dict
from kinformer_controllers.job.counting import (
    Backoff,
    first_pending_indexes,
    is_past_backoff_limit_by_restarts,
    take_stock,
)
from kinformer_controllers.job.intervals import Indexes
from kinformer_controllers.job.jobs import is_indexed
from kinformer_controllers.job.management import active_pods_to_remove
from kinformer_controllers.job.pods import finished_at, is_pod_failed
from kinformer_controllers.job.policies import match_failure_policy, success_message

__all__ = ("answer",)


def answer(case: Any) -> Any:
    job = from_dict(V1Job, case["job"])
    pods = [from_dict(V1Pod, pod) for pod in case["pods"] or ()]
    now = datetime.fromisoformat(case["now"])
    stock = take_stock(job, pods)
    doomed = active_pods_to_remove(job, stock.active, case["removeAtLeast"])
    failed = [pod for pod in pods if pod_phase(pod) == "Failed"]
    succeeded = [pod for pod in pods if pod_phase(pod) == "Succeeded"]
    backoff = Backoff().after(succeeded, failed)
    answer: dict[str, Any] = {
        "failed": {pod.metadata.name: is_pod_failed(pod, job) for pod in pods},
        "finished": {pod.metadata.name: _text(finished_at(pod)) for pod in failed},
        "pastBackoffLimitOnFailure": is_past_backoff_limit_by_restarts(job, pods),
        "removed": len(doomed),
        "backoffRecord": {"failuresAfterLastSuccess": backoff.failures},
    }
    if backoff.last_failure is not None:
        answer["backoffRecord"]["lastFailureTime"] = _text(backoff.last_failure)
        answer["remainingSeconds"] = round(backoff.remaining(now))
    if job.spec.pod_failure_policy is not None:
        answer["podFailurePolicy"] = {pod.metadata.name: _verdict(job, pod) for pod in failed}
    if is_indexed(job):
        # What was recorded calls those of the status the succeeded ones, and those with what is new the previous ones.
        answer["previousIndexes"] = str(stock.succeeded_indexes)
        answer["succeededIndexes"] = str(stock.previous)
        answer["succeededCount"] = stock.previous.count
        # It went on with the text of the former.
        stock.succeeded_indexes = Indexes.parse(str(stock.previous), job.spec.completions)
        answer["firstPending"] = first_pending_indexes(stock, case["count"]) if case["count"] else None
        answer["removedNames"] = sorted(pod.metadata.name for pod in doomed)
        if stock.failed_indexes is not None:
            answer["failedIndexes"] = str(stock.failed_indexes)
        if job.spec.success_policy is not None:
            message = success_message(job, stock.succeeded_indexes)
            answer["successPolicy"] = {"met": message is not None, "message": message or ""}
    return answer


def _verdict(job: V1Job, pod: V1Pod) -> dict[str, Any]:
    verdict = match_failure_policy(job, pod)
    return {"action": verdict.action, "counts": verdict.counts, "message": verdict.message}


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
