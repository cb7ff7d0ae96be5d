"""Roles and their bindings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kinformer.envtest.causes import immutable, invalid, not_supported, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj, Strategy

__all__ = ("BindingStrategy", "RoleStrategy")

_GROUP = "rbac.authorization.k8s.io"


class RoleStrategy(Strategy):
    """Roles and cluster roles."""

    def validate(self, obj: Obj) -> list[Cause]:
        rules = f.Each(partial(_check_rule, namespaced=self.resource.namespaced))
        return [*f.Fields(rules=rules, aggregationRule=_AGGREGATION)(obj, "")]


_SELECTORS = f.Needed(
    f.Each(f.LABEL_SELECTOR), detail="at least one clusterRoleSelector required if aggregationRule is non-nil"
)
_AGGREGATION = f.Given(f.Fields(clusterRoleSelectors=_SELECTORS))


def _check_rule(rule: Obj, path: str, namespaced: bool) -> Iterator[Cause]:
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

    def validate(self, obj: Obj) -> list[Cause]:
        kinds = ("Role", "ClusterRole") if self.resource.namespaced else ("ClusterRole",)
        role = f.Fields(apiGroup=f.OneOf(_GROUP), kind=f.OneOf(*kinds), name=f.Needed(f.PATH_SEGMENT))
        subjects = f.Each(partial(_check_subject, namespaced=self.resource.namespaced))
        return [*f.Fields(roleRef=role, subjects=subjects)(obj, "")]

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        return [*immutable(obj.get("roleRef"), old.get("roleRef"), "roleRef", "cannot change roleRef")]


def _check_subject(subject: Obj, path: str, namespaced: bool) -> Iterator[Cause]:
    name, kind, group = subject.get("name", ""), subject.get("kind", ""), subject.get("apiGroup", "")
    if not name:
        yield required(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            yield from f.DNS_SUBDOMAIN(name, f"{path}.name")
        if group:
            yield not_supported(f"{path}.apiGroup", group, ("",))
        if not namespaced and not subject.get("namespace"):
            yield required(f"{path}.namespace")
    elif kind in ("User", "Group"):
        if group != _GROUP:
            yield not_supported(f"{path}.apiGroup", group, (_GROUP,))
    else:
        yield not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))
