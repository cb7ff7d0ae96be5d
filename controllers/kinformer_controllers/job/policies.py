"""The two policies of a Job: what a failed pod means for it, and when it has succeeded early.

podFailurePolicy decides by a pod's exit codes and conditions. successPolicy has the rules by which an Indexed Job
succeeds before all of its indexes are done.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from kinformer.controllerutil.pods import pod_status
from kinformer.models import (
    V1ContainerStatus,
    V1Job,
    V1Pod,
    V1PodFailurePolicyOnExitCodesRequirement,
    V1PodFailurePolicyOnPodConditionsPattern,
)
from kinformer_controllers.job.intervals import Indexes
from kinformer_controllers.job.pods import is_pod_failed

__all__ = (
    "Verdict",
    "failure_message",
    "match_failure_policy",
    "success_message",
)

_ACTIONS: Final = frozenset(("Ignore", "FailIndex", "Count", "FailJob"))


class Verdict(NamedTuple):
    """
    The meaning of one pod's failure.

    :param message: why the whole Job fails; None if it does not
    :param counts: whether the failure counts towards the limits
    :param action: the action of the rule that matched; None if none did
    """

    message: str | None = None
    counts: bool = True
    action: str | None = None


_NO_RULE: Final = Verdict()


def match_failure_policy(job: V1Job, pod: V1Pod) -> Verdict:
    """Return the verdict of the first rule that matches. Without such a rule, the failure counts."""
    policy = job.spec.pod_failure_policy
    if policy is None:
        return _NO_RULE
    for place, rule in enumerate(policy.rules or ()):
        if rule.action not in _ACTIONS:
            continue  # an action of a later version of Kubernetes
        if rule.on_exit_codes is not None:
            why = _why_exit_codes(pod, rule.on_exit_codes)
        else:
            why = _why_conditions(pod, rule.on_pod_conditions or ())
        if why is None:
            continue
        message = f"{why} matching FailJob rule at index {place}" if rule.action == "FailJob" else None
        return Verdict(message, rule.action != "Ignore", rule.action)
    return _NO_RULE


def failure_message(job: V1Job, pods: Iterable[V1Pod]) -> str | None:
    """Return why a rule makes the Job fail; None if no rule does."""
    if job.spec.pod_failure_policy is None:
        return None
    for pod in pods:
        if is_pod_failed(pod, job) and (message := match_failure_policy(job, pod).message) is not None:
            return message
    return None


def _why_exit_codes(pod: V1Pod, requirement: V1PodFailurePolicyOnExitCodesRequirement) -> str | None:
    status = pod_status(pod)
    if status is None:
        return None
    for states in (status.container_statuses, status.init_container_statuses):
        for state in states or ():
            code = _exit_code(state)
            if code and _matches(state.name, code, requirement):
                name = f"{pod.metadata.namespace}/{pod.metadata.name}"
                return f"Container {state.name} for pod {name} failed with exit code {code}"
    return None


def _exit_code(state: V1ContainerStatus) -> int:
    """Return the exit code; 0 if the container has not ended. Rules do not match 0."""
    terminated = state.state.terminated if state.state is not None else None
    return int(terminated.exit_code or 0) if terminated is not None else 0


def _matches(container: str, code: int, requirement: V1PodFailurePolicyOnExitCodesRequirement) -> bool:
    if requirement.container_name is not None and requirement.container_name != container:
        return False
    listed = code in (requirement.values or ())
    return bool(listed if requirement.operator == "In" else requirement.operator == "NotIn" and not listed)


def _why_conditions(pod: V1Pod, patterns: Iterable[V1PodFailurePolicyOnPodConditionsPattern]) -> str | None:
    status = pod_status(pod)
    wanted = {(pattern.type, pattern.status) for pattern in patterns}
    for condition in (status.conditions if status is not None else None) or ():
        if (condition.type, condition.status) in wanted:
            return f"Pod {pod.metadata.namespace}/{pod.metadata.name} has condition {condition.type}"
    return None


def success_message(job: V1Job, succeeded: Indexes) -> str | None:
    """Return a message with the rule that is met; None if none is."""
    policy = job.spec.success_policy
    if policy is None or not succeeded:
        return None
    for place, rule in enumerate(policy.rules or ()):
        if _is_met(rule.succeeded_indexes, rule.succeeded_count, job.spec.completions or 0, succeeded):
            return f"Matched rules at index {place}"
    return None


def _is_met(indexes: str | None, count: int | None, completions: int, succeeded: Indexes) -> bool:
    if indexes is None:
        return count is not None and succeeded.count >= count
    wanted = Indexes.parse(indexes, completions)
    if not wanted:
        return False  # it is invalid, or names only indexes that the Job does not have
    done = wanted.overlap(succeeded)
    return done == wanted.count or (count is not None and done >= count)
