"""Deciding whether a Job ends, and why; and its conditions, which say it.

The decision of an earlier sync stands. Otherwise the criteria are checked in this order: pod failure policy, backoff
limit, deadline, failed indexes, success policy. A Job that ends first gets the condition FailureTarget or
SuccessCriteriaMet. It gets Failed or Complete when its pods are gone and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from kinformer.controllerutil.conditions import get_condition
from kinformer.models import V1Job, V1JobCondition
from kinformer_controllers.job.counting import JobPods, is_past_backoff_limit_by_restarts
from kinformer_controllers.job.jobs import backoff_limit, is_indexed, is_suspended
from kinformer_controllers.job.policies import failure_message, success_message

__all__ = (
    "completed",
    "ensure_condition",
    "failed_for",
    "is_condition_true",
    "new_condition",
    "seconds_to_deadline",
    "verdict",
)


def verdict(stock: JobPods, now: datetime) -> V1JobCondition | None:
    """Return the condition with which the Job ends; None if it continues."""
    job = stock.job
    if is_condition_true(job, "SuccessCriteriaMet"):
        return _condition_of(job, "SuccessCriteriaMet")
    if is_condition_true(job, "FailureTarget"):
        target = _condition_of(job, "FailureTarget")
        assert target is not None
        return failed_for(target, now)
    return _failure(stock, now) or _success_by_policy(stock, now)


def _failure(stock: JobPods, now: datetime) -> V1JobCondition | None:
    job = stock.job
    message = failure_message(job, stock.pods)
    if message is not None:
        return _failure_target("PodFailurePolicy", message, now)
    if stock.failed > backoff_limit(job) or is_past_backoff_limit_by_restarts(job, stock.pods):
        return _failure_target("BackoffLimitExceeded", "Job has reached the specified backoff limit", now)
    left = seconds_to_deadline(job, now)
    if left is not None and left <= 0:
        return _failure_target("DeadlineExceeded", "Job was active longer than specified deadline", now)
    failed, most = stock.failed_indexes, job.spec.max_failed_indexes
    if failed is None:
        return None
    if most is not None and failed.count > most:
        message = "Job has exceeded the specified maximal number of failed indexes"
        return _failure_target("MaxFailedIndexesExceeded", message, now)
    if failed.count > 0 and failed.count + stock.succeeded_indexes.count >= (job.spec.completions or 0):
        return _failure_target("FailedIndexes", "Job has failed indexes", now)
    return None


def _success_by_policy(stock: JobPods, now: datetime) -> V1JobCondition | None:
    if not is_indexed(stock.job):
        return None
    message = success_message(stock.job, stock.succeeded_indexes)
    return _success_criteria_met("SuccessPolicy", message, now) if message is not None else None


def completed(stock: JobPods, active: int, now: datetime) -> V1JobCondition | None:
    """
    Return the condition of a Job that is complete; None if it is not.

    It is complete if it has all its completions and no active pod. Without a number of completions, one success is
    enough.

    :param active: the number of active pods after this sync's writes
    """
    completions: int | None = stock.job.spec.completions
    enough = stock.succeeded > 0 if completions is None else stock.succeeded >= completions
    if not enough or active:
        return None
    return _success_criteria_met("CompletionsReached", "Reached expected number of succeeded pods", now)


def failed_for(target: V1JobCondition, now: datetime) -> V1JobCondition:
    """Return the condition Failed for a Job with this FailureTarget."""
    return new_condition("Failed", target.reason or "", target.message or "", now)


def seconds_to_deadline(job: V1Job, now: datetime) -> float | None:
    """Return the seconds until the active deadline; None if there is none, or it is not running."""
    seconds, status = job.spec.active_deadline_seconds, job.status
    start: datetime | None = status.start_time if status is not None else None
    if seconds is None or start is None or is_suspended(job):
        return None
    return (start - now).total_seconds() + timedelta(seconds=min(seconds, 2**33)).total_seconds()


def new_condition(type_: str, reason: str, message: str, now: datetime, *, status: str = "True") -> V1JobCondition:
    moment = now.replace(microsecond=0)  # times in the API have whole seconds
    return V1JobCondition(
        type=type_,
        status=status,
        last_probe_time=moment,
        last_transition_time=moment,
        reason=reason,
        message=message,
    )


def _success_criteria_met(reason: str, message: str, now: datetime) -> V1JobCondition:
    """Make the condition of a successful Job. It becomes Complete when its pods are gone and counted."""
    return new_condition("SuccessCriteriaMet", reason, message, now)


def _failure_target(reason: str, message: str, now: datetime) -> V1JobCondition:
    """Make the condition of a failed Job. It becomes Failed when its pods are gone and counted."""
    return new_condition("FailureTarget", reason, message, now)


def _condition_of(job: V1Job, type_: str) -> V1JobCondition | None:
    """Return the condition of that type, true or not; None if there is none."""
    return get_condition(job.status.conditions if job.status is not None else None, type_)


def is_condition_true(job: V1Job, type_: str) -> bool:
    condition = _condition_of(job, type_)
    return condition is not None and condition.status == "True"


def ensure_condition(
    conditions: Sequence[V1JobCondition] | None, wanted: V1JobCondition
) -> tuple[list[V1JobCondition], bool]:
    """
    Return the conditions with this one, and whether they have changed.

    A false condition is not added if there was none of its type.
    """
    result = list(conditions or ())
    for place, condition in enumerate(result):
        if condition.type == wanted.type:
            said = (condition.status, condition.reason or "", condition.message or "")
            if said == (wanted.status, wanted.reason, wanted.message):
                return result, False
            result[place] = wanted
            return result, True
    if wanted.status == "False":
        return result, False
    return [*result, wanted], True
