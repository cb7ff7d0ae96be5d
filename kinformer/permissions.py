"""Permissions: what a controller may do at the server, declared once in a tuple beside its options.

From it come the RBAC manifests that ``kinformer rbac`` prints, and the questions that ``kinformer manager --dry-run``
asks the server::

    PERMISSIONS = (
        allow("list watch", "fleets.example.com", "pods"),
        allow("get update", "fleets.example.com/status"),
        allow("create delete", "pods"),
        RECORD_EVENTS,
    )

    make_controller = Deferred("my_package.controller:make_controller", FleetOptions, permissions=PERMISSIONS)

Resources are written as kubectl writes them: ``pods``, ``deployments.apps``, ``deployments.apps/status``; ``*`` stands
for all resources or all groups (``*.*``, ``*.*/scale``). An informer needs ``list watch``. The rules are to be the
least with which the controller works: whoever has its credentials can do as much.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

__all__ = ("RECORD_EVENTS", "Permission", "Rule", "allow", "permissions_of", "policy_rules")

_RESOURCE = re.compile(r"(?P<name>[a-z0-9-]+|\*)(?:\.(?P<group>[a-z0-9.-]+|\*))?(?:/(?P<part>[a-z0-9-]+|\*))?")
_VERB = re.compile(r"[a-z]+|\*")


class Permission(NamedTuple):
    """
    One verb on one resource, which is what the server is asked about.

    :param group: empty for the core group
    :param resource: the plural, as in a path
    :param part: the subresource; empty for the resource itself
    :param namespace: where; empty for everywhere
    :param name: of which object; empty for all
    """

    verb: str
    group: str
    resource: str
    part: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        group = f".{self.group}" if self.group else ""
        part = f"/{self.part}" if self.part else ""
        name = f" {self.name!r}" if self.name else ""
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{group}{part}{name}{where}"


@dataclass(frozen=True, slots=True)
class Rule:
    """
    Some verbs on some resources. :func:`allow` makes one in fewer characters.

    :param resources: as kubectl writes them: ``deployments.apps/status``
    :param names: of the only objects that are meant; empty for all. What has no name yet (``create``, ``list`` without
        a field selector) cannot be limited so
    :param namespace: the only one that is meant, whatever the manager works for; empty for all that it works for
    :raises ValueError: if there is no verb, no resource, or one that is none
    """

    verbs: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...] = ()
    namespace: str = ""

    def __post_init__(self) -> None:
        if not self.verbs or not self.resources:
            raise ValueError(f"a rule needs verbs and resources: {self}")
        for verb in self.verbs:
            if not _VERB.fullmatch(verb):
                raise ValueError(f"{verb!r} is not a verb: want one like 'list'")
        for resource in self.resources:
            if not _RESOURCE.fullmatch(resource):
                raise ValueError(f"{resource!r} is not a resource: want one like 'pods' or 'deployments.apps/status'")

    def permissions(self) -> Iterator[Permission]:
        """What it permits, one by one."""
        for group, resource, part in self._parsed():
            for verb in self.verbs:
                for name in self.names or ("",):
                    yield Permission(verb, group, resource, part, self.namespace, name)

    def policy(self) -> Iterator[dict[str, Any]]:
        """The same as rules of a Role: one for each API group."""
        by_group: dict[str, list[str]] = {}
        for group, resource, part in self._parsed():
            by_group.setdefault(group, []).append(f"{resource}/{part}" if part else resource)
        for group, resources in by_group.items():
            rule: dict[str, Any] = {"apiGroups": [group], "resources": resources}
            if self.names:
                rule["resourceNames"] = list(self.names)
            yield {**rule, "verbs": list(self.verbs)}

    def _parsed(self) -> Iterator[tuple[str, str, str]]:
        for text in self.resources:
            found = _RESOURCE.fullmatch(text)
            assert found is not None
            yield found["group"] or "", found["name"], found["part"] or ""


def allow(verbs: str, *resources: str, names: Iterable[str] = (), namespace: str = "") -> Rule:
    """
    A rule.

    :param verbs: with spaces between: ``"list watch"``
    :raises ValueError: as :class:`Rule` does
    """
    return Rule(tuple(verbs.split()), resources, tuple(names), namespace)


#: What every controller needs that records Events (:meth:`kinformer.manager.ControllerContext.recorder`).
RECORD_EVENTS: Final = allow("create patch", "events")


def permissions_of(rules: Iterable[Rule]) -> list[Permission]:
    """What some rules permit, one by one, each once."""
    return list(dict.fromkeys(one for rule in rules for one in rule.permissions()))


def policy_rules(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """Some rules as the ``rules`` of a Role or ClusterRole; their namespaces are not in there."""
    return [part for rule in rules for part in rule.policy()]
