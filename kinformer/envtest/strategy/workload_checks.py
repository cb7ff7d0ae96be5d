"""Validation of the specs of kinds that make pods."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.checks import (
    check_label_selector,
    check_names,
    check_selects,
    forbidden,
    invalid,
    not_less_than_zero,
    not_supported,
    required,
)
from kinformer.envtest.strategy.pod_checks import check_template
from kinformer.meta.integers import read_integer
from kinformer.meta.selectors import selector_from_set

__all__ = (
    "check_cron_job",
    "check_daemon_set",
    "check_deployment",
    "check_disruption_budget",
    "check_job",
    "check_replica_counts",
    "check_replica_set",
    "check_replication_controller",
    "check_stateful_set",
)

_MORE_THAN_ANY = 1 << 63
_is_percent = re.compile(r"[0-9]+%").fullmatch
_BAD_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
    "regex used for validation is '[0-9]+%')"
)


def _check_always(template: Obj, path: str, kind: str) -> Iterator[Cause]:
    """
    Check that pods that are replaced when they end have no end of their own: no other restart policy, no deadline.
    """
    spec = template.get("spec") or {}
    if (policy := spec.get("restartPolicy")) != "Always":
        yield not_supported(f"{path}.spec.restartPolicy", policy, ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        yield forbidden(f"{path}.spec.activeDeadlineSeconds", text)


def check_replication_controller(spec: Obj) -> Iterator[Cause]:
    yield from not_less_than_zero(spec, "spec", "minReadySeconds")
    selector = spec.get("selector") or {}
    if not selector:
        yield required("spec.selector")
    yield from not_less_than_zero(spec, "spec", "replicas")
    template = spec.get("template")
    if template is None:
        yield required("spec.template")
        return
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector and not selector_from_set(selector).matches(labels):
        yield invalid("spec.template.metadata.labels", labels or None, "`selector` does not match template `labels`")
    yield from check_template(template, "spec.template")
    yield from _check_always(template, "spec.template", "ReplicationController")


def _check_selector(spec: Obj, kind: str) -> Iterator[Cause]:
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
        return
    yield from check_label_selector(selector, "spec.selector")
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield invalid("spec.selector", selector, f"empty selector is invalid for {kind}")


def check_replica_set(spec: Obj) -> Iterator[Cause]:
    yield from not_less_than_zero(spec, "spec", "replicas", "minReadySeconds")
    yield from _check_selector(spec, "deployment")
    yield from _check_replica_set_template(spec)


def _check_replica_set_template(spec: Obj) -> Iterator[Cause]:
    template = spec.get("template") or {}
    yield from check_selects(spec.get("selector"), template, "spec.template")
    yield from check_template(template, "spec.template")
    yield from _check_always(template, "spec.template", "ReplicaSet")


def check_deployment(spec: Obj) -> Iterator[Cause]:
    yield from not_less_than_zero(spec, "spec", "replicas")
    yield from _check_selector(spec, "deployment")
    yield from _check_replica_set_template(spec)
    yield from _check_deployment_strategy(spec.get("strategy") or {}, "spec.strategy")
    yield from not_less_than_zero(spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        yield invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _check_deployment_strategy(strategy: Obj, path: str) -> Iterator[Cause]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            text = "may not be specified when strategy `type` is 'Recreate'"
            yield forbidden(f"{path}.rollingUpdate", text)
    elif kind == "RollingUpdate":
        yield from _check_rolling(rolling or {}, f"{path}.rollingUpdate")
    else:
        yield not_supported(path, strategy, ("Recreate", "RollingUpdate"))


def _check_rolling(rolling: Obj, path: str) -> Iterator[Cause]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    yield from _check_int_or_percent(unavailable, f"{path}.maxUnavailable")
    yield from _check_int_or_percent(surge, f"{path}.maxSurge")
    if _amount(unavailable) == 0 and _amount(surge) == 0:
        yield invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    yield from _check_hundred_percent(unavailable, f"{path}.maxUnavailable")


def _check_int_or_percent(value: Any, field: str) -> Iterator[Cause]:
    if isinstance(value, str):
        if not _is_percent(value):
            yield invalid(field, value, _BAD_PERCENT)
    elif value < 0:
        yield invalid(field, value, "must be greater than or equal to 0")


def _check_hundred_percent(value: Any, field: str) -> Iterator[Cause]:
    if isinstance(value, str) and _is_percent(value) and _amount(value) > 100:
        yield invalid(field, value, "must not be greater than 100%")


def _amount(value: Any) -> int:
    if isinstance(value, str):
        if not _is_percent(value):
            return 0
        percent = read_integer(value[:-1])
        return _MORE_THAN_ANY if percent is None else percent
    return int(value)


def check_daemon_set(spec: Obj) -> Iterator[Cause]:
    template, selector = spec.get("template") or {}, spec.get("selector")
    if selector is None:
        yield required("spec.selector")
    yield from check_label_selector(selector, "spec.selector")
    yield from check_selects(selector, template, "spec.template")
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield invalid("spec.selector", selector, "empty selector is invalid for daemonset")
    yield from check_template(template, "spec.template")
    yield from _check_always(template, "spec.template", "DaemonSet")
    yield from not_less_than_zero(spec, "spec", "minReadySeconds")
    update = spec.get("updateStrategy") or {}
    if update.get("type") not in ("RollingUpdate", "OnDelete"):
        yield not_supported("spec.updateStrategy", update, ("RollingUpdate", "OnDelete"))
    elif update["type"] == "RollingUpdate":
        yield from _check_rolling_daemons(update.get("rollingUpdate") or {}, "spec.updateStrategy.rollingUpdate")
    yield from not_less_than_zero(spec, "spec", "revisionHistoryLimit")


def _check_rolling_daemons(rolling: Obj, path: str) -> Iterator[Cause]:
    values = {name: rolling.get(name, 0) for name in ("maxUnavailable", "maxSurge")}
    for name, value in values.items():
        yield from _check_int_or_percent(value, f"{path}.{name}")
    for name, value in values.items():
        yield from _check_hundred_percent(value, f"{path}.{name}")
    some = [name for name, value in values.items() if _amount(value)]
    if len(some) == 2:
        yield invalid(f"{path}.maxSurge", values["maxSurge"], "may not be set when maxUnavailable is non-zero")
    elif not some:
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def check_stateful_set(spec: Obj) -> Iterator[Cause]:
    if (policy := spec.get("podManagementPolicy")) not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    update = spec.get("updateStrategy") or {}
    if update.get("type") not in ("RollingUpdate", "OnDelete"):
        yield invalid("spec.updateStrategy", update, "must be 'RollingUpdate' or 'OnDelete'")
    elif update["type"] == "RollingUpdate":
        rolling = update.get("rollingUpdate") or {}
        yield from not_less_than_zero(rolling, "spec.updateStrategy.rollingUpdate", "partition")
    elif update["type"] == "OnDelete" and update.get("rollingUpdate") is not None:
        text = "only allowed for updateStrategy 'RollingUpdate'"
        yield invalid("spec.updateStrategy.rollingUpdate", update["rollingUpdate"], text)
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for name in ("whenDeleted", "whenScaled"):
        if (policy := retention.get(name)) not in ("Retain", "Delete"):
            field = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            yield not_supported(field, policy, ("Delete", "Retain"))
    yield from not_less_than_zero(spec, "spec", "replicas", "minReadySeconds")
    yield from not_less_than_zero(spec.get("ordinals") or {}, "spec.ordinals", "start")
    if service := spec.get("serviceName"):
        yield from check_names(service, "spec.serviceName")
    yield from _check_selector(spec, "statefulset")
    template = spec.get("template") or {}
    yield from check_selects(spec.get("selector"), template, "spec.template")
    claims = {(claim.get("metadata") or {}).get("name") for claim in spec.get("volumeClaimTemplates") or ()}
    if claims:
        pod = {**(template.get("spec") or {})}
        kept = [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
        pod["volumes"] = [*kept, *({"name": name, "emptyDir": {}} for name in sorted(filter(None, claims)))]
        yield from check_template({**template, "spec": pod}, "spec.template")
    else:
        yield from check_template(template, "spec.template")
    yield from _check_always(template, "spec.template", "StatefulSet")


def _check_job_spec(spec: Obj, path: str) -> Iterator[Cause]:
    numbers = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
    yield from not_less_than_zero(spec, path, *numbers, "backoffLimitPerIndex", "maxFailedIndexes")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    mode = spec.get("completionMode", "NonIndexed")
    if mode not in ("NonIndexed", "Indexed"):
        yield not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"))
    if mode == "Indexed" and spec.get("completions") is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    if mode == "NonIndexed":
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                yield invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")
    if spec.get("successPolicy") is not None and mode != "Indexed":
        yield invalid(f"{path}.successPolicy", spec["successPolicy"], "requires indexed completion mode")
    policies = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    if (replacement := spec.get("podReplacementPolicy")) not in (None, *policies):
        yield not_supported(f"{path}.podReplacementPolicy", replacement, policies)
    template = spec.get("template") or {}
    yield from check_template(template, f"{path}.template")
    policy = (template.get("spec") or {}).get("restartPolicy")
    field = f"{path}.template.spec.restartPolicy"
    if policy == "Always":
        yield required(field, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(field, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        yield invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')


def check_job(spec: Obj) -> Iterator[Cause]:
    yield from _check_job_spec(spec, "spec")
    if spec.get("selector") is None:
        yield required("spec.selector")
    yield from check_label_selector(spec.get("selector"), "spec.selector")
    yield from check_selects(spec.get("selector"), spec.get("template") or {}, "spec.template")


def check_cron_job(spec: Obj) -> Iterator[Cause]:
    schedule = spec.get("schedule", "")
    if not schedule:
        yield required("spec.schedule")
    elif (why := _bad_schedule(schedule)) is not None:
        yield invalid("spec.schedule", schedule, why)
    if "TZ" in schedule:
        yield invalid("spec.schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    yield from not_less_than_zero(spec, "spec", "startingDeadlineSeconds")
    yield from _check_zone(spec.get("timeZone"), "spec.timeZone")
    if (policy := spec.get("concurrencyPolicy")) not in ("Allow", "Forbid", "Replace"):
        yield not_supported("spec.concurrencyPolicy", policy, ("Allow", "Forbid", "Replace"))
    yield from _check_job_spec((spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec")
    yield from not_less_than_zero(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _check_zone(zone: str | None, field: str) -> Iterator[Cause]:
    if zone is None:
        return
    if not zone:
        yield invalid(field, zone, "timeZone must be nil or non-empty string")
        return
    if zone.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid(field, zone, text)
    elif not _is_zone(zone) and _is_zone("UTC"):  # without UTC there is no time zone data, so no zone can be checked
        yield invalid(field, zone, f"unknown time zone {zone}")


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return False
    return True


def _bad_schedule(schedule: str) -> str | None:
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        schedule = schedule.partition(" ")[2].strip()
    if schedule.startswith("@"):
        known = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
        return None if schedule in known or schedule.startswith("@every ") else f"unrecognized descriptor: {schedule}"
    fields = schedule.split()
    if len(fields) != 5:
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    bounds = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
    names = r"[A-Za-z]{3}"
    for text, (low, high) in zip(fields, bounds, strict=True):
        for part in text.split(","):
            if not re.fullmatch(rf"(?:[*?]|(?:\d+|{names})(?:-(?:\d+|{names}))?)(?:/\d+)?", part):
                return f'failed to parse int from {part}: strconv.Atoi: parsing "{part}": invalid syntax'
            for number in map(int, re.findall(r"\d+", part.partition("/")[0])):
                if number > high:
                    return f"end of range ({number}) above maximum ({high}): {part}"
                if number < low:
                    return f"beginning of range ({number}) below minimum ({low}): {part}"
    return None


def check_disruption_budget(spec: Obj) -> Iterator[Cause]:
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        text = "minAvailable and maxUnavailable cannot be both set"
        yield invalid("spec", spec, text)
    for name, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            yield from _check_int_or_percent(value, f"spec.{name}")
            yield from _check_hundred_percent(value, f"spec.{name}")
    yield from check_label_selector(spec.get("selector"), "spec.selector")
    if (policy := spec.get("unhealthyPodEvictionPolicy")) not in (None, "IfHealthyBudget", "AlwaysAllow"):
        yield not_supported("spec.unhealthyPodEvictionPolicy", policy, ("AlwaysAllow", "IfHealthyBudget"))


_TOTAL = "cannot be greater than status.replicas"


def check_replica_counts(status: Obj, *names: str) -> Iterator[Cause]:
    """Check the counts of replicas in a status. None is negative, and none is greater than the total."""
    yield from not_less_than_zero(status, "status", "replicas", *names, "observedGeneration")
    total, ready = status.get("replicas", 0), status.get("readyReplicas", 0)
    for name in names:
        if name != "unavailableReplicas" and (count := status.get(name, 0)) > total:
            yield invalid(f"status.{name}", count, _TOTAL)
    available = status.get("availableReplicas", 0)
    if "availableReplicas" in names and available > ready:
        yield invalid("status.availableReplicas", available, "cannot be greater than readyReplicas")
