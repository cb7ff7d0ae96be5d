"""Validation of the specs of kinds that make pods."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from kinformer.envtest.causes import forbidden, invalid, not_supported, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.pod_checks import check_template
from kinformer.meta.integers import read_integer
from kinformer.meta.selectors import Selector, label_selector_as_selector, selector_from_set

__all__ = (
    "CRON_JOB",
    "DAEMON_SET",
    "DEPLOYMENT",
    "DISRUPTION_BUDGET",
    "JOB",
    "REPLICATION_CONTROLLER",
    "REPLICA_SET",
    "STATEFUL_SET",
    "check_replica_counts",
)

# -- numbers of pods ---------------------------------------------------------------------------------------------------

_MORE_THAN_ANY = 1 << 63
_is_percent = re.compile(r"[0-9]+%").fullmatch
_BAD_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
    "regex used for validation is '[0-9]+%')"
)


def _check_int_or_percent(value: Any, field: str) -> Iterator[Cause]:
    if isinstance(value, str):
        if not _is_percent(value):
            yield invalid(field, value, _BAD_PERCENT)
    else:
        yield from f.NOT_NEGATIVE(value, field)


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


_NUMBER_OF_PODS = f.Given(_check_int_or_percent, _check_hundred_percent)
_TOTAL = "cannot be greater than status.replicas"


def check_replica_counts(status: Obj, *names: str) -> Iterator[Cause]:
    """Check the counts of replicas in a status. None is negative, and none is greater than the total."""
    yield from f.not_negative("replicas", *names, "observedGeneration")(status, "status")
    total, ready = status.get("replicas", 0), status.get("readyReplicas", 0)
    for name in names:
        if name != "unavailableReplicas" and (count := status.get(name, 0)) > total:
            yield invalid(f"status.{name}", count, _TOTAL)
    available = status.get("availableReplicas", 0)
    if "availableReplicas" in names and available > ready:
        yield invalid("status.availableReplicas", available, "cannot be greater than readyReplicas")


# -- templates and selectors -------------------------------------------------------------------------------------------


@cache
def _lasting(kind: str) -> f.Check:
    """Check the template of pods that are replaced when they end. So they always restart, and have no deadline."""

    def check_deadline(_deadline: int, path: str) -> Iterator[Cause]:
        yield forbidden(path, f"activeDeadlineSeconds in {kind} is not Supported")

    own = f.Fields(spec=f.Fields(restartPolicy=f.OneOf("Always"), activeDeadlineSeconds=f.Given(check_deadline)))
    return f.Every(check_template, own)


def _filled_for(kind: str) -> f.Check:
    def check(selector: Obj, path: str) -> Iterator[Cause]:
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            yield invalid(path, selector, f"empty selector is invalid for {kind}")

    return check


def _check_selects(spec: Obj, path: str) -> Iterator[Cause]:
    """Check that the selector selects the pods of the template. An invalid selector has errors of its own."""
    try:
        selector = label_selector_as_selector(spec.get("selector"))
    except ValueError:
        return
    yield from _check_selected(selector, spec.get("template"), path)


def _check_selected(selector: Selector, template: Obj | None, path: str) -> Iterator[Cause]:
    labels = ((template or {}).get("metadata") or {}).get("labels") or {}
    if not selector.matches(labels):
        text = "`selector` does not match template `labels`"
        yield invalid(f"{path}.template.metadata.labels", labels or None, text)


# -- sets of pods that are all alike -----------------------------------------------------------------------------------


def _check_old_template(spec: Obj, path: str) -> Iterator[Cause]:
    selector, template = spec.get("selector"), spec.get("template")
    if template is None:
        yield required(f"{path}.template")
        return
    if selector:
        yield from _check_selected(selector_from_set(selector), template, path)
    yield from _lasting("ReplicationController")(template, f"{path}.template")


REPLICATION_CONTROLLER = f.Every(
    f.Fields(minReadySeconds=f.NOT_NEGATIVE, selector=f.Needed(), replicas=f.NOT_NEGATIVE),
    _check_old_template,
)
_SELECTED = (
    f.Fields(selector=f.Present(f.LABEL_SELECTOR, _filled_for("deployment"))),
    _check_selects,
    f.Fields(template=_lasting("ReplicaSet")),
)
REPLICA_SET = f.Every(f.not_negative("replicas", "minReadySeconds"), *_SELECTED)


def _check_strategy(strategy: Obj | None, path: str) -> Iterator[Cause]:
    strategy = strategy or {}
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


def _check_deadline(spec: Obj, path: str) -> Iterator[Cause]:
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        yield invalid(f"{path}.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


DEPLOYMENT = f.Every(
    f.Fields(replicas=f.NOT_NEGATIVE),
    *_SELECTED,
    f.Fields(strategy=_check_strategy),
    f.not_negative("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"),
    _check_deadline,
)

# -- daemon sets and stateful sets -------------------------------------------------------------------------------------


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


def _check_daemon_update(update: Obj | None, path: str) -> Iterator[Cause]:
    update = update or {}
    if update.get("type") not in ("RollingUpdate", "OnDelete"):
        yield not_supported(path, update, ("RollingUpdate", "OnDelete"))
    elif update["type"] == "RollingUpdate":
        yield from _check_rolling_daemons(update.get("rollingUpdate") or {}, f"{path}.rollingUpdate")


DAEMON_SET = f.Every(
    f.Fields(selector=f.Present(f.LABEL_SELECTOR)),
    _check_selects,
    f.Fields(
        selector=f.Given(_filled_for("daemonset")),
        template=_lasting("DaemonSet"),
        minReadySeconds=f.NOT_NEGATIVE,
        updateStrategy=_check_daemon_update,
        revisionHistoryLimit=f.NOT_NEGATIVE,
    ),
)


def _check_management(policy: str | None, path: str) -> Iterator[Cause]:
    if policy not in ("OrderedReady", "Parallel"):
        yield invalid(path, policy, "must be 'OrderedReady' or 'Parallel'")


def _check_set_update(update: Obj | None, path: str) -> Iterator[Cause]:
    update = update or {}
    if update.get("type") not in ("RollingUpdate", "OnDelete"):
        yield invalid(path, update, "must be 'RollingUpdate' or 'OnDelete'")
    elif update["type"] == "RollingUpdate":
        yield from f.Fields(partition=f.NOT_NEGATIVE)(update.get("rollingUpdate"), f"{path}.rollingUpdate")
    elif update.get("rollingUpdate") is not None:
        text = "only allowed for updateStrategy 'RollingUpdate'"
        yield invalid(f"{path}.rollingUpdate", update["rollingUpdate"], text)


def _check_set_template(spec: Obj, path: str) -> Iterator[Cause]:
    template = spec.get("template") or {}
    if claims := {(claim.get("metadata") or {}).get("name") for claim in spec.get("volumeClaimTemplates") or ()}:
        pod = {**(template.get("spec") or {})}
        kept = [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
        pod["volumes"] = [*kept, *({"name": name, "emptyDir": {}} for name in sorted(filter(None, claims)))]
        template = {**template, "spec": pod}
    yield from _lasting("StatefulSet")(template, f"{path}.template")


_RETENTION = f.OneOf("Delete", "Retain")
STATEFUL_SET = f.Every(
    f.Fields(
        podManagementPolicy=_check_management,
        updateStrategy=_check_set_update,
        persistentVolumeClaimRetentionPolicy=f.Fields(whenDeleted=_RETENTION, whenScaled=_RETENTION),
        replicas=f.NOT_NEGATIVE,
        minReadySeconds=f.NOT_NEGATIVE,
        ordinals=f.Fields(start=f.NOT_NEGATIVE),
        serviceName=f.Filled(f.DNS_LABEL),
        selector=f.Present(f.LABEL_SELECTOR, _filled_for("statefulset")),
    ),
    _check_selects,
    _check_set_template,
)

# -- jobs --------------------------------------------------------------------------------------------------------------


def _check_mode(spec: Obj, path: str) -> Iterator[Cause]:
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    mode = spec.get("completionMode", "NonIndexed")
    yield from f.OneOf("NonIndexed", "Indexed")(mode, f"{path}.completionMode")
    if mode == "Indexed" and spec.get("completions") is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    only_indexed = [*(("backoffLimitPerIndex", "maxFailedIndexes") if mode == "NonIndexed" else ())]
    only_indexed += ["successPolicy"] if mode != "Indexed" else []
    for name in only_indexed:
        if spec.get(name) is not None:
            yield invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")


def _check_policies(spec: Obj, path: str) -> Iterator[Cause]:
    fails = spec.get("podFailurePolicy") is not None
    policies = ("Failed",) if fails else ("Failed", "TerminatingOrFailed")
    yield from f.Fields(podReplacementPolicy=f.Given(f.OneOf(*policies)), template=check_template)(spec, path)
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    field = f"{path}.template.spec.restartPolicy"
    if policy == "Always":
        yield required(field, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(field, policy, ("OnFailure", "Never"))
    elif fails and policy != "Never":
        yield invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')


_JOB = f.Every(
    f.not_negative("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    f.not_negative("backoffLimitPerIndex", "maxFailedIndexes"),
    _check_mode,
    _check_policies,
)
JOB = f.Every(_JOB, f.Fields(selector=f.Present(f.LABEL_SELECTOR)), _check_selects)


def _check_schedule(schedule: str | None, path: str) -> Iterator[Cause]:
    if not schedule:
        yield required(path)
    elif (why := _bad_schedule(schedule)) is not None:
        yield invalid(path, schedule, why)
    if "TZ" in (schedule or ""):
        yield invalid(path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")


def _check_zone(zone: str, path: str) -> Iterator[Cause]:
    if not zone:
        yield invalid(path, zone, "timeZone must be nil or non-empty string")
    elif zone.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid(path, zone, text)
    elif not _is_zone(zone) and _is_zone("UTC"):  # without UTC there is no time zone data, so no zone can be checked
        yield invalid(path, zone, f"unknown time zone {zone}")


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


CRON_JOB = f.Fields(
    schedule=_check_schedule,
    startingDeadlineSeconds=f.NOT_NEGATIVE,
    timeZone=f.Given(_check_zone),
    concurrencyPolicy=f.OneOf("Allow", "Forbid", "Replace"),
    jobTemplate=f.Fields(spec=_JOB),
    successfulJobsHistoryLimit=f.NOT_NEGATIVE,
    failedJobsHistoryLimit=f.NOT_NEGATIVE,
)

# -- disruption budgets ------------------------------------------------------------------------------------------------


def _check_one_number(spec: Obj, path: str) -> Iterator[Cause]:
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        yield invalid(path, spec, "minAvailable and maxUnavailable cannot be both set")


DISRUPTION_BUDGET = f.Every(
    _check_one_number,
    f.Fields(
        minAvailable=_NUMBER_OF_PODS,
        maxUnavailable=_NUMBER_OF_PODS,
        selector=f.LABEL_SELECTOR,
        unhealthyPodEvictionPolicy=f.Given(f.OneOf("AlwaysAllow", "IfHealthyBudget")),
    ),
)
