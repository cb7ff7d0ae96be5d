"""Roles and their bindings."""

from __future__ import annotations

from collections.abc import Iterator

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.envtest.strategy.checks import check_label_selector, check_names, invalid, not_supported, required
from kinformer.envtest.strategy.metadata import path_segment
from kinformer.meta.validation import dns1123_subdomain_errors

__all__ = ("BindingStrategy", "RoleStrategy")

_GROUP = "rbac.authorization.k8s.io"


class RoleStrategy(Strategy):
    """Roles and cluster roles."""

    def validate_name(self, name: str) -> list[str]:
        return path_segment(name)

    def validate(self, obj: Obj) -> list[Cause]:
        causes = [
            cause
            for index, rule in enumerate(obj.get("rules") or ())
            for cause in _check_rule(rule, self.resource.namespaced, f"rules[{index}]")
        ]
        aggregation = obj.get("aggregationRule")
        if aggregation is None:
            return causes
        path = "aggregationRule.clusterRoleSelectors"
        selectors = aggregation.get("clusterRoleSelectors") or ()
        if not selectors:
            causes.append(required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
        for index, selector in enumerate(selectors):
            causes += check_label_selector(selector, f"{path}[{index}]")
        return causes


def _check_rule(rule: Obj, namespaced: bool, path: str) -> Iterator[Cause]:
    if not rule.get("verbs"):
        yield required(f"{path}.verbs", "verbs must contain at least one value")
    if urls := rule.get("nonResourceURLs"):
        if namespaced:
            yield invalid(f"{path}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(f"{path}.nonResourceURLs", urls, text)
        return
    for name, what in (("apiGroups", "api group"), ("resources", "resource")):
        if not rule.get(name):
            yield required(f"{path}.{name}", f"resource rules must supply at least one {what}")


class BindingStrategy(Strategy):
    """Role bindings and cluster role bindings. Their role never changes."""

    def validate_name(self, name: str) -> list[str]:
        return path_segment(name)

    def default(self, obj: Obj) -> None:
        super().default(obj)
        for subject in obj.get("subjects") or ():
            if subject.get("kind") in ("User", "Group"):
                subject.setdefault("apiGroup", _GROUP)

    def validate(self, obj: Obj) -> list[Cause]:
        namespaced = self.resource.namespaced
        causes = list(_check_role(obj.get("roleRef") or {}, namespaced))
        for index, subject in enumerate(obj.get("subjects") or ()):
            causes += _check_subject(subject, namespaced, f"subjects[{index}]")
        return causes

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        if obj.get("roleRef") == old.get("roleRef"):
            return []
        return [invalid("roleRef", obj.get("roleRef"), "cannot change roleRef")]


def _check_role(reference: Obj, namespaced: bool) -> Iterator[Cause]:
    if (group := reference.get("apiGroup")) != _GROUP:
        yield not_supported("roleRef.apiGroup", group, (_GROUP,))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if (kind := reference.get("kind", "")) not in kinds:
        yield not_supported("roleRef.kind", kind, kinds)
    if not reference.get("name"):
        yield required("roleRef.name")
    else:
        yield from check_names(reference["name"], "roleRef.name", path_segment)


def _check_subject(subject: Obj, namespaced: bool, path: str) -> Iterator[Cause]:
    name, kind, group = subject.get("name", ""), subject.get("kind", ""), subject.get("apiGroup", "")
    if not name:
        yield required(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            yield from check_names(name, f"{path}.name", dns1123_subdomain_errors)
        if group:
            yield not_supported(f"{path}.apiGroup", group, ("",))
        if not namespaced and not subject.get("namespace"):
            yield required(f"{path}.namespace")
    elif kind in ("User", "Group"):
        if group != _GROUP:
            yield not_supported(f"{path}.apiGroup", group, (_GROUP,))
    else:
        yield not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))
