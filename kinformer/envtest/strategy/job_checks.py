"""Validation of the specs of Jobs and CronJobs, and of their changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from kinformer.envtest.causes import immutable, invalid, not_supported, required, too_long, too_many
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj, has_condition, with_field, with_fields
from kinformer.envtest.strategy.checks import check_domain_path
from kinformer.envtest.strategy.job_status import indexes_in, misread_indexes
from kinformer.envtest.strategy.pod_checks import check_template
from kinformer.envtest.strategy.workload_checks import check_selects
from kinformer.meta.selectors import label_selector_as_selector
from kinformer.meta.validation import dns1123_label_errors
from kinformer.schedules.schedule import ScheduleError, parse_schedule
from kinformer.schedules.zones import ZoneError, load_zone

__all__ = ("CRON_JOB", "JOB", "JOB_PREFIX", "check_job_change")

JOB_PREFIX = "batch.kubernetes.io/"

_MOST_RULES = 20
_MOST_CONDITIONS = 20
_MOST_EXIT_CODES = 255
_MOST_INDEXES = 100_000
_LONGEST_INDEXES = 64 * 1024
_is_zone_part = re.compile(r"(?!\.{1,2}$|-)[A-Za-z0-9._+-]{1,14}").fullmatch


def _limit(most: int, text: str) -> f.Between:
    return f.Between(None, most, f"must be less than or equal to {text}")


def _at_most(most: int) -> Callable[[Sequence[Any] | None, str], Iterator[Cause]]:
    """Check that a list is not longer than this."""

    def check(items: Sequence[Any] | None, path: str) -> Iterator[Cause]:
        if len(items or ()) > most:
            yield too_many(path, len(items or ()), most)

    return check


def _check_mode(spec: Obj, path: str) -> Iterator[Cause]:
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    mode = spec.get("completionMode", "NonIndexed")
    yield from f.OneOf("NonIndexed", "Indexed")(mode, f"{path}.completionMode")
    if mode == "Indexed":
        yield from _check_indexed(spec, path)
    elif mode == "NonIndexed":
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                yield invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")


def _check_indexed(spec: Obj, path: str) -> Iterator[Cause]:
    completions, failed = spec.get("completions"), f"{path}.maxFailedIndexes"
    if completions is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    text = f"{_MOST_INDEXES} when completion mode is Indexed"
    yield from _limit(_MOST_INDEXES, text)(spec.get("parallelism"), f"{path}.parallelism")
    if completions is not None:
        yield from _limit(completions, "completions")(spec.get("maxFailedIndexes"), failed)
    yield from _limit(_MOST_INDEXES, str(_MOST_INDEXES))(spec.get("maxFailedIndexes"), failed)
    if (completions or 0) > _MOST_INDEXES and spec.get("backoffLimitPerIndex") is not None:
        if spec.get("maxFailedIndexes") is None:
            yield required(failed, f"must be specified when completions is above {_MOST_INDEXES}")
        text = f"10000 when completions are above {_MOST_INDEXES} and used with backoff limit per index"
        yield from f.Fields(parallelism=_limit(10_000, text), maxFailedIndexes=_limit(10_000, text))(spec, path)


# -- when a job fails, and when it succeeds ----------------------------------------------------------------------------


def _one_of(*values: str) -> f.Check:
    """Check an enumeration. The error for an empty value lists the values."""
    listed = " ".join(f'"{value}"' for value in values)
    return f.Needed(f.OneOf(*values), detail=f"valid values: [{listed}]")


def _check_exit_codes(codes: Obj, path: str) -> Iterator[Cause]:
    values, here = codes.get("values") or [], f"{path}.values"
    if not values:
        yield invalid(here, values, "at least one value is required")
    yield from _at_most(_MOST_EXIT_CODES)(values, here)
    for index, value in enumerate(values):
        if codes.get("operator") == "In" and value == 0:
            yield invalid(f"{here}[{index}]", value, "must not be 0 for the In operator")
    yield from f.Each(f.Unique())(values, here)
    if values != sorted(values):
        yield invalid(here, values, "must be ordered")


def _check_either(rule: Obj, path: str) -> Iterator[Cause]:
    by_code, by_condition = rule.get("onExitCodes") is not None, bool(rule.get("onPodConditions"))
    if by_code and by_condition:
        yield _wrong_rule(path, "specifying both OnExitCodes and OnPodConditions is not supported")
    if not by_code and not by_condition:
        yield _wrong_rule(path, "specifying one of OnExitCodes and OnPodConditions is required")


def _wrong_rule(path: str, detail: str) -> Cause:
    return Cause(path, "FieldValueInvalid", f"Invalid value: {detail}")


_CONDITION = f.Fields(type=f.QUALIFIED_NAME, status=_one_of("False", "True", "Unknown"))
_FAILURE_RULE = f.Every(
    f.Fields(
        action=_one_of("Count", "FailIndex", "FailJob", "Ignore"),
        onExitCodes=f.Given(f.Fields(operator=_one_of("In", "NotIn")), _check_exit_codes),
        onPodConditions=f.Every(_at_most(_MOST_CONDITIONS), f.Each(_CONDITION)),
    ),
    _check_either,
)


def _check_failure_policy(spec: Obj, path: str) -> Iterator[Cause]:
    if (policy := spec.get("podFailurePolicy")) is None:
        return
    pod = (spec.get("template") or {}).get("spec") or {}
    known = {one.get("name") for kind in ("containers", "initContainers") for one in pod.get(kind) or ()}
    path, rules = f"{path}.podFailurePolicy.rules", policy.get("rules") or ()
    yield from _at_most(_MOST_RULES)(rules, path)
    for index, rule in enumerate(rules):
        here = f"{path}[{index}]"
        if rule.get("action") == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            yield invalid(f"{here}.action", "FailIndex", "requires the backoffLimitPerIndex to be set")
        yield from _FAILURE_RULE(rule, here)
        name = (rule.get("onExitCodes") or {}).get("containerName")
        if name is not None and name not in known:
            text = "must be one of the container or initContainer names in the pod template"
            yield invalid(f"{here}.onExitCodes.containerName", name, text)


def _check_success_policy(spec: Obj, path: str) -> Iterator[Cause]:
    if (policy := spec.get("successPolicy")) is None:
        return
    if spec.get("completionMode") != "Indexed":
        yield invalid(f"{path}.successPolicy", policy, "requires indexed completion mode")
        return
    path, rules = f"{path}.successPolicy.rules", policy.get("rules") or ()
    if not rules:
        yield required(path, "at least one rules must be specified when the successPolicy is specified")
    yield from _at_most(_MOST_RULES)(rules, path)
    for index, rule in enumerate(rules):
        yield from _check_success_rule(rule, spec.get("completions") or 0, f"{path}[{index}]")


def _check_success_rule(rule: Obj, completions: int, path: str) -> Iterator[Cause]:
    indexes, count, here = rule.get("succeededIndexes"), rule.get("succeededCount"), f"{path}.succeededCount"
    if indexes is None and count is None:
        yield required(path, "at least one of succeededCount or succeededIndexes must be specified")
    total, why = 0, ""
    if indexes is not None:
        if len(indexes) > _LONGEST_INDEXES:
            yield too_long(f"{path}.succeededIndexes", _LONGEST_INDEXES)
        if why := misread_indexes(indexes, completions):
            yield invalid(f"{path}.succeededIndexes", indexes, f"error parsing succeededIndexes: {why}")
        else:
            total = sum(last - first + 1 for first, last in indexes_in(indexes, completions))
    yield from f.NOT_NEGATIVE(count, here)
    yield from _limit(completions, f"{completions} (the number of specified completions)")(count, here)
    if indexes is not None:
        text = f"{total} (the number of indexes in the specified succeededIndexes field)"
        yield from _limit(total, text)(count, here)


def _check_pods(spec: Obj, path: str) -> Iterator[Cause]:
    fails = spec.get("podFailurePolicy") is not None
    policies = ("Failed",) if fails else ("Failed", "TerminatingOrFailed")
    yield from f.Fields(podReplacementPolicy=f.Given(f.OneOf(*policies)), template=check_template)(spec, path)
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    field = f"{path}.template.spec.restartPolicy"
    if policy == "Always":
        yield required(field, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield from f.OneOf("OnFailure", "Never")(policy, field)
    elif fails and policy != "Never":
        yield invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')


_JOB = f.Every(
    f.not_negative("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    f.not_negative("backoffLimitPerIndex", "maxFailedIndexes"),
    f.Fields(managedBy=f.Given(partial(check_domain_path, most=63))),
    _check_mode,
    _check_failure_policy,
    _check_success_policy,
    _check_pods,
)


def _check_generated(job: Obj, _path: str) -> Iterator[Cause]:
    """Check the labels and the selector that the server has made. They keep a job away from the pods of other jobs."""
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    given = {"controller-uid": metadata["uid"], "job-name": metadata.get("name", "")}
    given |= {f"{JOB_PREFIX}{name}": value for name, value in given.items()}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    for name, value in given.items():
        if labels.get(name) != value:
            path, text = f"spec.template.metadata.labels[{name}]", f"must be '{value}'"
            yield invalid(path, labels, text) if name in labels else required(path, text)
    try:
        selector = label_selector_as_selector(spec["selector"])
    except ValueError:
        return
    if not selector.matches(given):
        yield invalid("spec.selector", spec["selector"], "`selector` not auto-generated")


def _check_hostnames(job: Obj, _path: str) -> Iterator[Cause]:
    spec, name = job["spec"], job["metadata"].get("name", "")
    longest = f"{name}-{(spec.get('completions') or 0) - 1}"
    if spec.get("completionMode") == "Indexed" and (spec.get("completions") or 0) > 0 and dns1123_label_errors(longest):
        yield invalid("metadata.name", name, f"will not able to create pod with invalid DNS label: {longest}")


_SPEC = f.Fields(spec=f.Every(_JOB, f.Fields(selector=f.Present(f.LABEL_SELECTOR)), check_selects))
JOB = f.Every(_check_generated, _SPEC, _check_hostnames)

# -- changes -----------------------------------------------------------------------------------------------------------

_FIXED = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
#: What may change in the template of a suspended job, beside the resources of containers and the affinity to nodes.
_FREE_IN_POD = ("nodeSelector", "tolerations", "schedulingGates")


def check_job_change(job: Obj, old: Obj) -> Iterator[Cause]:
    """Check a changed job's spec again. A queue of jobs may change the template of a job that has no pods yet."""
    yield from _SPEC(job, "")
    spec, before = job["spec"], old["spec"]
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for name in ("selector",) if elastic else ("completions", "selector"):
        yield from immutable(spec.get(name), before.get(name), f"spec.{name}")
    if _has_no_pods(old):
        pod, was = spec["template"]["spec"], before["template"]["spec"]
        yield from immutable(pod, _with_free_fields(was, pod), "spec.template.spec")
    else:
        yield from immutable(spec["template"], before["template"], "spec.template")
    for name in _FIXED:
        yield from immutable(spec.get(name), before.get(name), f"spec.{name}")


def _has_no_pods(job: Obj) -> bool:
    status = job.get("status") or {}
    has_stopped = has_condition(status, "Suspended") or not status.get("startTime")
    is_suspended = bool(job["spec"].get("suspend")) and has_stopped
    return is_suspended and not status.get("active")


def _with_free_fields(was: Obj, pod: Obj) -> Obj:
    """The old spec of a pod, with the fields of the new one that may differ."""
    merged = with_fields(was, pod, *_FREE_IN_POD)
    affinity = with_fields(was.get("affinity") or {}, pod.get("affinity") or {}, "nodeAffinity")
    with_field(merged, "affinity", affinity if affinity or pod.get("affinity") is not None else None)
    for kind in ("containers", "initContainers"):
        old_ones, ones = was.get(kind) or [], pod.get(kind) or []
        if ones and len(ones) == len(old_ones):
            pairs = zip(old_ones, ones, strict=True)
            merged[kind] = [
                with_fields(one, new, "resources") if one["name"] == new["name"] else one for one, new in pairs
            ]
    return merged


# -- cron jobs ---------------------------------------------------------------------------------------------------------


def _check_schedule(schedule: str | None, path: str) -> Iterator[Cause]:
    if not schedule:
        yield required(path)
        return
    try:
        parse_schedule(schedule)
    except ScheduleError as error:
        yield invalid(path, schedule, str(error))
    if "TZ" in schedule:
        yield invalid(path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")


def _check_zone(zone: str, path: str) -> Iterator[Cause]:
    if not zone:
        yield invalid(path, zone, "timeZone must be nil or non-empty string")
        return
    if not all(map(_is_zone_part, zone.split("/"))):
        yield invalid(path, zone, f"unknown time zone {zone}")
        return
    if zone.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid(path, zone, text)
    try:
        load_zone(zone)
    except ZoneError as error:
        yield invalid(path, zone, str(error))


def _check_no_selector(spec: Obj, path: str) -> Iterator[Cause]:
    """Check that the server is left to make the selectors of the jobs."""
    if spec.get("selector") is not None:
        yield invalid(f"{path}.selector", spec["selector"], "`selector` will be auto-generated")
    if spec.get("manualSelector"):
        yield not_supported(f"{path}.manualSelector", True, ("nil", "false"))


CRON_JOB = f.Fields(
    schedule=_check_schedule,
    startingDeadlineSeconds=f.NOT_NEGATIVE,
    timeZone=f.Given(_check_zone),
    concurrencyPolicy=f.OneOf("Allow", "Forbid", "Replace"),
    jobTemplate=f.Fields(spec=f.Every(_JOB, _check_no_selector)),
    successfulJobsHistoryLimit=f.NOT_NEGATIVE,
    failedJobsHistoryLimit=f.NOT_NEGATIVE,
)
