"""Validation of the specs of kinds that make pods."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from kinformer.envtest.causes import forbidden, invalid, not_supported, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.pod_checks import check_template
from kinformer.envtest.strategy.volumes import CLAIM_SPEC
from kinformer.meta.integers import read_integer
from kinformer.meta.selectors import Selector, label_selector_as_selector, selector_from_set

__all__ = (
    "DAEMON_SET",
    "DEPLOYMENT",
    "DISRUPTION_BUDGET",
    "REPLICATION_CONTROLLER",
    "REPLICA_SET",
    "STATEFUL_SET",
    "check_selects",
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


def _amount(value: Any) -> int:
    if isinstance(value, str):
        if not _is_percent(value):
            return 0
        percent = read_integer(value[:-1])
        return _MORE_THAN_ANY if percent is None else percent
    return int(value)


_check_hundred_percent = f.Must(
    lambda value: not isinstance(value, str) or _amount(value) <= 100, "must not be greater than 100%"
)
_NUMBER_OF_PODS = f.Given(_check_int_or_percent, _check_hundred_percent)

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


def check_selects(spec: Obj, path: str) -> Iterator[Cause]:
    """Check that the selector selects the pods of the template. An invalid selector has errors of its own."""
    try:
        selector = label_selector_as_selector(spec.get("selector"))
    except ValueError:
        return
    yield from _check_selected(selector, spec.get("template"), path)


def _if_selected(checks: f.Check, detail: str) -> f.Check:
    """
    Check the template as well, unless the selector is invalid.

    :param checks: the checks of the spec with the template
    :param detail: the end of the error's text for an invalid selector
    """

    def check(spec: Obj, path: str) -> Iterator[Cause]:
        try:
            selector = label_selector_as_selector(spec.get("selector"))
        except ValueError:
            yield invalid(f"{path}.selector", spec["selector"], detail)
            return
        yield from _check_selected(selector, spec.get("template"), path)
        yield from checks(spec, path)

    return check


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
    _if_selected(f.Fields(template=_lasting("ReplicaSet")), "invalid label selector"),
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
    check_selects,
    f.Fields(
        selector=f.Given(_filled_for("daemonset")),
        template=_lasting("DaemonSet"),
        minReadySeconds=f.NOT_NEGATIVE,
        updateStrategy=_check_daemon_update,
        revisionHistoryLimit=f.NOT_NEGATIVE,
    ),
)


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
        podManagementPolicy=f.Must(("OrderedReady", "Parallel").__contains__, "must be 'OrderedReady' or 'Parallel'"),
        updateStrategy=_check_set_update,
        persistentVolumeClaimRetentionPolicy=f.Fields(whenDeleted=_RETENTION, whenScaled=_RETENTION),
        volumeClaimTemplates=f.Each(f.Fields(spec=CLAIM_SPEC)),
        replicas=f.NOT_NEGATIVE,
        minReadySeconds=f.NOT_NEGATIVE,
        ordinals=f.Fields(start=f.NOT_NEGATIVE),
        serviceName=f.Filled(f.DNS_LABEL),
        selector=f.Present(f.LABEL_SELECTOR, _filled_for("statefulset")),
    ),
    _if_selected(_check_set_template, ""),
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
