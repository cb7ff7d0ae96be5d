"""The kinds whose objects a policy judges, as far as its rules name them.

In: the rules of a policy, and the resources that the server serves. Out: kinds. A rule with a wildcard stands for no
kind, because its expressions must do for all kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, Final

from kinformer.client.discovery import ApiResource
from kinformer.meta import GroupVersion, GroupVersionKind
from kinformer.models import V1ValidatingAdmissionPolicy

__all__ = ("MOST_KINDS", "has_unknown", "kind_of_params", "kinds_of")

#: For more kinds, the expressions of a policy are not checked.
MOST_KINDS: Final = 10


def kinds_of(policy: V1ValidatingAdmissionPolicy, served: Sequence[ApiResource]) -> list[GroupVersionKind]:
    """The kinds that a policy's rules name, by group, version and name; at most those that a rule reaches ten with."""
    found: set[GroupVersionKind] = set()
    for rule in _rules(policy):
        count = 0
        for named in _named(rule):
            for kind in _matching(named, served):
                found.add(kind)
                count += 1
                if count == MOST_KINDS:
                    return sorted(found)
    return sorted(found)


def has_unknown(policy: V1ValidatingAdmissionPolicy, served: Sequence[ApiResource]) -> bool:
    """Whether a rule names a resource that the server does not serve, as far as is known."""
    return any(not list(_matching(named, served)) for rule in _rules(policy) for named in _named(rule))


def kind_of_params(policy: V1ValidatingAdmissionPolicy) -> GroupVersionKind | None:
    """The kind of a policy's parameters, if it has any."""
    kind = policy.spec.param_kind if policy.spec is not None else None
    if kind is None or (kind.api_version or "").count("/") > 1:
        return None
    version = GroupVersion.parse(kind.api_version or "")
    return GroupVersionKind(version.group, version.version, kind.kind or "")


def _rules(policy: V1ValidatingAdmissionPolicy) -> Iterable[Any]:
    constraints = policy.spec.match_constraints if policy.spec is not None else None
    return (constraints.resource_rules if constraints is not None else None) or ()


def _named(rule: Any) -> Iterable[tuple[str, str, str]]:
    """Group, version and name of each resource that a rule names, in their order."""
    groups, versions = sorted(rule.api_groups or ()), sorted(rule.api_versions or ())
    if any("*" in text for text in (*groups, *versions)):
        return ()
    resources = sorted(name for name in rule.resources or () if not set(name) & {"*", "/"})
    return product(groups, versions, resources)


def _matching(named: tuple[str, str, str], served: Iterable[ApiResource]) -> Iterable[GroupVersionKind]:
    """The kinds of a resource. As in Kubernetes, the core group, which has no name, stands for every group here."""
    group, version, name = named
    for one in served:
        is_named = name.lower() in (one.gvr.resource, one.singular or one.kind.lower())
        if is_named and one.gvr.version == version and group in ("", one.gvr.group):
            yield one.gvk
