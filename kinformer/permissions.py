"""Permissions: the rights of a controller at the server, declared once in its spec (:mod:`kinformer.spec`).

The RBAC manifests that ``kinformer rbac`` prints are made from it, and the checks that ``kinformer manager --dry-run``
makes at the server::

    SPEC = ControllerSpec(
        name="fleet",
        factory="my_package.controller:make_controller",
        permissions=(
            allow("list watch", "fleets.example.com", "pods"),
            allow("get update", "fleets.example.com/status"),
            allow("create delete", "pods"),
            RECORD_EVENTS,
        ),
    )

Resources are written as in kubectl: ``pods``, ``deployments.apps``, ``deployments.apps/status``. ``*`` stands for all
resources or all groups (``*.*``, ``*.*/scale``). An informer needs ``list watch``. Declare the fewest permissions with
which the controller works, because an attacker with its credentials has the same rights.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from kinformer.arguments import want_text

__all__ = ("RECORD_EVENTS", "Permission", "Rule", "allow", "permissions_of", "policy_rules")

_RESOURCE = re.compile(r"(?P<name>[a-z0-9-]+|\*)(?:\.(?P<group>[a-z0-9.-]+|\*))?(?:/(?P<part>[a-z0-9-]+|\*))?")
_VERB = re.compile(r"[a-z]+|\*")
#: The verbs of Kubernetes. Other APIs may have verbs of their own, but none that looks like a misspelt one of these.
_VERBS = (
    *("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"),
    *("bind", "escalate", "impersonate", "use", "approve", "sign", "attest", "proxy"),
)


class Permission(NamedTuple):
    """
    One verb on one resource, in the form in which the server checks it.

    :param group: empty for the core group
    :param resource: the plural name, as in a path
    :param part: the subresource; empty for the resource itself
    :param namespace: the namespace; empty for all
    :param name: the object's name; empty for all objects
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
    Some verbs on some resources. :func:`allow` is a shorter way to make one.

    :param resources: the resources, written as in kubectl: ``deployments.apps/status``
    :param names: the names of the only objects that are allowed; empty for all. Requests without a name (``create``,
        and ``list`` without a field selector) cannot be limited in this way
    :param namespace: the only namespace that is allowed; empty for all namespaces that the manager works for
    :raises ValueError: if there is no verb or no resource, or one of them is invalid
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
            if verb not in _VERBS and (meant := get_close_matches(verb, _VERBS, 1, 0.8)):
                raise ValueError(f"{verb!r} is not a verb: did you mean {meant[0]!r}?")
        for resource in self.resources:
            want_text(resource, "a resource of a rule", "its plural, such as 'pods' or 'deployments.apps/status'")
            if not _RESOURCE.fullmatch(resource):
                raise ValueError(f"{resource!r} is not a resource: want one like 'pods' or 'deployments.apps/status'")

    def permissions(self) -> Iterator[Permission]:
        """The single permissions of this rule."""
        for group, resource, part in self._parsed():
            for verb in self.verbs:
                for name in self.names or ("",):
                    yield Permission(verb, group, resource, part, self.namespace, name)

    def policy(self) -> Iterator[dict[str, Any]]:
        """The rule as rules of a Role, one for each API group."""
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
    Make a rule.

    :param verbs: verbs separated by spaces: ``"list watch"``
    :raises ValueError: as :class:`Rule` does
    """
    return Rule(tuple(verbs.split()), resources, tuple(names), namespace)


#: The permissions of a controller that records Events (:meth:`kinformer.manager.ControllerContext.recorder`).
RECORD_EVENTS: Final = allow("create patch", "events")


def permissions_of(rules: Iterable[Rule]) -> list[Permission]:
    """The single permissions of several rules, each once."""
    return list(dict.fromkeys(one for rule in rules for one in rule.permissions()))


def policy_rules(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """Several rules as the ``rules`` of a Role or ClusterRole. Their namespaces are not included."""
    return [part for rule in rules for part in rule.policy()]
