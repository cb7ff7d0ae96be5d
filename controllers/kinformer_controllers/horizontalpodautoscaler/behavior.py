"""How fast a target may be scaled: stabilization windows and policies, as in Kubernetes.

In: the number of pods that the metrics ask for, the present number, the autoscaler's spec, what was recommended and
done before (:class:`History`), and a time. Out: the number to scale to, and two conditions' reasons (:class:`Limited`).

Without ``spec.behavior``, a target at most doubles, and is scaled down to the highest recommendation of the last five
minutes. With it, each direction has a window, in which the least change counts, and policies for the largest change in
a period.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kinformer.models import V2HorizontalPodAutoscalerBehavior, V2HPAScalingRules
from kinformer_controllers.horizontalpodautoscaler.replicas import MAX_INT32

__all__ = ("Because", "Change", "History", "Limited", "limited_replicas")

_MIN_INT32: Final = -(2**31)
_READY: Final = ("ReadyForNewScale", "recommended size matches current size")
_DOWN_STABILIZED: Final = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)
_UP_STABILIZED: Final = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)
_IN_RANGE: Final = ("DesiredWithinRange", "the desired count is within the acceptable range")
_TOO_FEW: Final = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_TOO_MANY: Final = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_UP_LIMIT: Final = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
_DOWN_LIMIT: Final = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")


class Because(NamedTuple):
    """The reason and the message of a condition."""

    reason: str
    message: str


class Limited(NamedTuple):
    """
    The result of :func:`limited_replicas`.

    :ivar able: for the condition AbleToScale, which is true
    :ivar is_limited: the status of the condition ScalingLimited
    """

    replicas: int
    able: Because
    is_limited: bool
    limit: Because


@dataclass(slots=True)
class Change:
    """
    One change of a target's scale.

    :param pods: by how many pods, without a sign
    :param at: when, in the clock's monotonic seconds
    :param outdated: no policy looks back so far any more: the next change takes its place
    """

    pods: int
    at: float
    outdated: bool = False


@dataclass(slots=True)
class History:
    """
    What was recommended for one autoscaler, and what was done. It is kept in memory only, as in Kubernetes.

    :ivar recommendations: numbers of pods before any limit, each with its time
    """

    recommendations: list[tuple[int, float]] = field(default_factory=list)
    ups: list[Change] = field(default_factory=list)
    downs: list[Change] = field(default_factory=list)

    def begin(self, current: int, now: float) -> None:
        """Take the present number of pods for the first recommendation, if there is none yet."""
        if not self.recommendations:
            self.recommendations.append((current, now))

    def scaled(self, behavior: V2HorizontalPodAutoscalerBehavior | None, before: int, after: int, now: float) -> None:
        """Note a change of the scale, for the policies of later evaluations."""
        if behavior is None:
            return
        rules, changes = (behavior.scale_up, self.ups) if after > before else (behavior.scale_down, self.downs)
        policies = (rules.policies if rules is not None else None) or ()
        longest = max((policy.period_seconds for policy in policies), default=0)
        for old in changes:
            old.outdated = old.outdated or old.at < now - longest
        change = Change(abs(after - before), now)
        places = [index for index, old in enumerate(changes) if old.outdated]
        if places:
            changes[places[-1]] = change
        else:
            changes.append(change)

    def recommend(self, replicas: int, now: float, outdated: int | None) -> None:
        """
        Note a recommendation.

        :param outdated: the index of an old one that it replaces; None: it is a further one
        """
        if outdated is None:
            self.recommendations.append((replicas, now))
        else:
            self.recommendations[outdated] = (replicas, now)


def limited_replicas(
    history: History,
    behavior: V2HorizontalPodAutoscalerBehavior | None,
    *,
    current: int,
    wanted: int,
    least: int,
    most: int,
    window: float,
    now: float,
) -> Limited:
    """
    Limit what the metrics ask for. The recommendation is noted in the history.

    :param wanted: what the metrics ask for
    :param window: the stabilization window for scaling down if the spec has none, in seconds
    :param now: the clock's monotonic seconds
    """
    if behavior is None:
        stable = _highest_recent(history, wanted, window, now)
        able = Because(*(_READY if stable == wanted else _DOWN_STABILIZED))
        replicas, limit = _in_range(current, stable, least, most)
    else:
        up, down = behavior.scale_up, behavior.scale_down
        stable = _stabilized(history, up, down, current, wanted, window, now)
        if stable == wanted:
            able = Because(*_READY)
        else:
            able = Because(*(_UP_STABILIZED if wanted >= current else _DOWN_STABILIZED))
        replicas, limit = _at_allowed_rate(history, up, down, current, stable, least, most, now)
    return Limited(replicas, able, replicas != stable, limit)


def _highest_recent(history: History, wanted: int, window: float, now: float) -> int:
    highest, outdated = wanted, None
    for index, (replicas, at) in enumerate(history.recommendations):
        if at < now - window:
            outdated = index
        else:
            highest = max(highest, replicas)
    history.recommend(wanted, now, outdated)
    return highest


def _in_range(current: int, stable: int, least: int, most: int) -> tuple[int, Because]:
    # At most doubled: so a wrong measurement cannot make thousands of pods at once.
    double = max(2 * current, 4)
    if stable < least:
        return least, Because(*_TOO_FEW)
    if stable > min(double, most):
        return min(double, most), Because(*(_UP_LIMIT if most > double else _TOO_MANY))
    return stable, Because(*_IN_RANGE)


def _stabilized(
    history: History,
    up: V2HPAScalingRules | None,
    down: V2HPAScalingRules | None,
    current: int,
    wanted: int,
    window: float,
    now: float,
) -> int:
    up_since = now - _window(up, 0.0)
    down_since = now - _window(down, window)
    lowest = highest = wanted
    outdated = None
    for index, (replicas, at) in enumerate(history.recommendations):
        if at > up_since:
            lowest = min(lowest, replicas)
        if at > down_since:
            highest = max(highest, replicas)
        if at < up_since and at < down_since:
            outdated = index
    history.recommend(wanted, now, outdated)
    return min(max(current, lowest), highest)


def _window(rules: V2HPAScalingRules | None, default: float) -> float:
    seconds = rules.stabilization_window_seconds if rules is not None else None
    return default if seconds is None else seconds


def _at_allowed_rate(
    history: History,
    up: V2HPAScalingRules | None,
    down: V2HPAScalingRules | None,
    current: int,
    stable: int,
    least: int,
    most: int,
    now: float,
) -> tuple[int, Because]:
    if stable > current:
        limit = max(_limit(history, up, current, now, is_up=True), current)
        if stable > min(limit, most):
            return min(limit, most), Because(*(_UP_LIMIT if most > limit else _TOO_MANY))
    elif stable < current:
        limit = min(_limit(history, down, current, now, is_up=False), current)
        if stable < max(limit, least):
            return max(limit, least), Because(*(_DOWN_LIMIT if least < limit else _TOO_FEW))
    return stable, Because(*_IN_RANGE)


def _limit(history: History, rules: V2HPAScalingRules | None, current: int, now: float, *, is_up: bool) -> int:
    """The greatest number of pods that the policies allow, or the least one for scaling down."""
    if rules is None or rules.select_policy == "Disabled":
        return current
    proposals = []
    for policy in rules.policies or ():
        start, change = (
            _at_start(history, policy.period_seconds, current, now),
            policy.value if is_up else -policy.value,
        )
        if policy.type == "Pods":
            proposals.append(start + change)
        else:
            # Rounded up and, as a number of pods to keep, down: so a percentage of few pods is at least one.
            rounded = math.ceil if is_up else int
            proposals.append(rounded(start * (1 + change / 100)))
    if (rules.select_policy == "Min") is is_up:
        return min(proposals, default=MAX_INT32)
    return max(proposals, default=_MIN_INT32)


def _at_start(history: History, period: float, current: int, now: float) -> int:
    """The number of pods at the start of a period that ends now."""
    added = sum(change.pods for change in history.ups if change.at > now - period)
    removed = sum(change.pods for change in history.downs if change.at > now - period)
    return current - added + removed
