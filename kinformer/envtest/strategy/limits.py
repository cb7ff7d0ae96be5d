"""The limits of a namespace: quotas for all of its objects together, and limit ranges for each object."""

from __future__ import annotations

from collections.abc import Iterator

from kinformer.envtest.causes import forbidden, invalid, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.envtest.strategy.container_checks import check_quantity, check_resource_name
from kinformer.meta.quantity import Quantity
from kinformer.meta.validation import label_key_errors

__all__ = ("LIMITS", "LimitRangeStrategy", "ResourceQuotaStrategy")


_TYPES = ("Container", "PersistentVolumeClaim", "Pod")


class LimitRangeStrategy(Strategy):
    def default(self, obj: Obj) -> None:
        for limit in (obj.get("spec") or {}).get("limits") or ():
            if limit.get("type") != "Container":
                continue
            default = {**(limit.get("max") or {}), **(limit.get("default") or {})}
            asked = {**(limit.get("min") or {}), **default, **(limit.get("defaultRequest") or {})}
            for name, values in (("default", default), ("defaultRequest", asked)):
                if values:
                    limit[name] = values


def _type_errors(kind: str) -> list[str]:
    known = "/" in kind or kind in _TYPES
    return label_key_errors(kind) or ([] if known else ["must be a standard limit type or fully qualified"])


def _check_range(limit: Obj, path: str) -> Iterator[Cause]:
    kind = limit.get("type", "")
    of_container = kind in ("Container", "Pod")
    names: set[str] = set()
    for part in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        values = limit.get(part) or {}
        if kind == "Pod" and part.startswith("default"):
            if values:
                yield forbidden(f"{path}.{part}", "may not be specified when `type` is 'Pod'")
            continue
        bounds = {**(limit.get("min") or {}), **(limit.get("max") or {})}
        if part == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim" and "storage" not in bounds:
            text = "either minimum or maximum storage value is required, but neither was provided"
            yield required(f"{path}.limits", text)
        for name in sorted(values):
            yield from check_resource_name(name, f"{path}.{part}[{name}]", of_container)
            names.add(name)
    for name in sorted(names):
        yield from _check_order(limit, kind, name, path)


#: Pairs of amounts of which the first may not be greater than the second. The other two are the field and the text of
#: the error.
_ORDER = (
    ("min", "max", "min", "min value {0} is greater than max value {1}"),
    ("min", "defaultRequest", "defaultRequest", "min value {0} is greater than default request value {1}"),
    ("defaultRequest", "max", "defaultRequest", "default request value {0} is greater than max value {1}"),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "default request value {0} is greater than default limit value {1}",
    ),
    ("min", "default", "default", "min value {0} is greater than default value {1}"),
    ("default", "max", "default", "default value {0} is greater than max value {1}"),
)


def _check_order(limit: Obj, kind: str, name: str, path: str) -> Iterator[Cause]:
    amounts = {
        part: Quantity.parse(values[name])
        for part, values in limit.items()
        if isinstance(values, dict) and name in values and not (kind == "Pod" and part.startswith("default"))
    }
    for less, more, where, text in _ORDER:
        if less in amounts and more in amounts and amounts[less] > amounts[more]:
            yield invalid(f"{path}.{where}[{name}]", amounts[where], text.format(amounts[less], amounts[more]))
    ratio = amounts.get("maxLimitRequestRatio")
    if ratio is None:
        return
    where = f"{path}.maxLimitRequestRatio[{name}]"
    if ratio < Quantity.of(1):
        yield invalid(where, ratio, f"ratio {ratio} is less than 1")
    if "min" in amounts and "max" in amounts and amounts["min"]:
        possible = float(amounts["max"]) / float(amounts["min"])
        if float(ratio) > possible:
            yield invalid(where, ratio, f"ratio {ratio} is greater than max/min = {possible:f}")


LIMITS = f.Fields(limits=f.Each(f.Fields(type=f.Form(_type_errors)), f.Unique("type"), _check_range))

# -- quotas -----------------------------------------------------------------------------------------------------------

_SCOPES = (
    *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort"),
    *("PriorityClass", "CrossNamespacePodAffinity", "VolumeAttributesClass"),
)
_EXISTS_ONLY = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity")
_POD_RESOURCES = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory", "pods")
_QUOTA_NAMES = frozenset(
    (
        *_POD_RESOURCES,
        *("services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps", "persistentvolumeclaims"),
        *("services.nodeports", "services.loadbalancers", "requests.storage", "ephemeral-storage"),
        *("requests.ephemeral-storage", "limits.ephemeral-storage", "storage"),
    )
)
_SCOPE_PAIRS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


class ResourceQuotaStrategy(Strategy):
    def validate(self, obj: Obj) -> list[Cause]:
        spec = obj.get("spec") or {}
        hard = spec.get("hard") or {}
        causes: list[Cause] = []
        for name, amount in sorted(hard.items()):
            field = f"spec.hard[{name}]"
            wrong = label_key_errors(name)
            causes += [invalid(field, name, why) for why in wrong]
            known = "/" in name or name in _QUOTA_NAMES or name.removeprefix("requests.").startswith("hugepages-")
            if not wrong and not known:
                causes.append(invalid(field, name, "must be a standard resource type or fully qualified"))
                causes.append(invalid(field, name, "must be a standard resource for quota"))
            causes += check_quantity(name, amount, field)
        causes += _check_scopes(spec.get("scopes") or [], hard)
        return [*causes, *_check_scope_selector(spec.get("scopeSelector") or {}, hard)]

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        mine, before = (one.get("spec", {}).get("scopes") or [] for one in (obj, old))
        return [] if set(mine) == set(before) else [invalid("spec.scopes", mine, "field is immutable")]


#: The most scopes that are checked. There are only eight valid ones, and each error shows the whole list.
_MOST_SCOPES = 100


def _check_scopes(scopes: list[str], hard: Obj) -> Iterator[Cause]:
    for scope in scopes[:_MOST_SCOPES]:
        if scope not in _SCOPES:
            yield invalid("spec.scopes", scopes, "unsupported scope")
        for name in sorted(hard):
            if name in _QUOTA_NAMES and not _fits(scope, name):
                yield invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    for pair in _SCOPE_PAIRS:
        if set(pair) <= set(scopes):
            yield invalid("spec.scopes", scopes, "conflicting scopes")


def _fits(scope: str, name: str) -> bool:
    if scope == "BestEffort":
        return name == "pods"
    if scope in _SCOPES and scope != "VolumeAttributesClass":
        return name in _POD_RESOURCES or name.endswith("ephemeral-storage")
    return True


def _check_scope_selector(selector: Obj, hard: Obj) -> Iterator[Cause]:
    path = "spec.scopeSelector.matchExpressions"
    for one in selector.get("matchExpressions") or ():
        scope, operator = one.get("scopeName", ""), one.get("operator", "")
        values = one.get("values") or []
        if scope not in _SCOPES:
            yield invalid(f"{path}.scopeName", scope, "unsupported scope")
        if scope in _EXISTS_ONLY and operator != "Exists":
            text = (
                "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating"
            )
            text += ", ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
            text += "ResourceQuotaScopeCrossNamespacePodAffinity"
            yield invalid(f"{path}.operator", operator, text)
        if operator in ("In", "NotIn"):
            if not values:
                yield required(f"{path}.values", "must be at least one value when `operator` is 'In' or 'NotIn'")
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                yield invalid(f"{path}.values", values, text)
        else:
            yield invalid(f"{path}.operator", operator, "not a valid selector operator")
