"""What kube-apiserver 1.36 lets kube-controller-manager and the accounts of its controllers do: its default roles.

``roles-1.36.tsv`` has a line for each rule: the account; ``gated`` if a server has the rule only with feature gates
that are off by default; the namespace, if the role is in one; verbs, resources, and names of the only objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from kinformer.envtest.access.authorization import Action, permits
from kinformer.manager.names import long_name
from kinformer.permissions import Permission, Rule, permissions_of
from kinformer_controllers.kubecontrollermanager.controllers import ACCOUNTS, CLOUDS

__all__ = ("MANAGER", "Granted", "account_of", "allowed", "granted", "within")

#: The user system:kube-controller-manager. Shared informers use it, and controllers without an account.
MANAGER: Final = "kube-controller-manager"


class Granted(NamedTuple):
    """A rule of a role, and whether the server has it only with feature gates that are off by default."""

    rule: Rule
    gated: bool


def account_of(controller: str) -> str | None:
    """
    Whose role counts for the requests of a controller, except for those of its informers.

    :return: None if it is a controller of cloud-controller-manager, whose role is not Kubernetes' own
    """
    name = long_name(controller)
    return None if name in CLOUDS else ACCOUNTS[name] or MANAGER


@cache
def granted(account: str) -> tuple[Granted, ...]:
    """What an account may do."""
    lines = Path(__file__).with_name("roles-1.36.tsv").read_text().splitlines()
    found = []
    for line in lines:
        name, gated, namespace, verbs, resources, *names = line.split("\t")
        if name == account:
            only = tuple(names[0].split()) if names else ()
            found.append(Granted(Rule(tuple(verbs.split()), tuple(resources.split()), only, namespace), bool(gated)))
    return tuple(found)


def allowed(account: str, permission: Permission, *, gates: bool = True) -> bool:
    """
    Whether an account has a permission.

    :param gates: also count what the server allows with feature gates that are off by default
    """
    verb, group, resource, part, namespace, name = permission
    action = Action(verb, group, resource, part, namespace, name)
    return any(
        (gates or not gated)
        and rule.namespace in ("", namespace)
        and any(permits(each, action) for each in rule.policy())
        for rule, gated in granted(account)
    )


def within(account: str | None, declared: Iterable[Rule]) -> list[Rule]:
    """
    What a controller declares and the account may do.

    :param account: None: all that is declared
    """
    if account is None:
        return [*declared]
    return [
        Rule((one.verb,), (_resource(one),), (one.name,) if one.name else (), one.namespace)
        for one in permissions_of(declared)
        if allowed(account, one)
    ]


def _resource(one: Permission) -> str:
    return f"{one.resource}{one.group and '.'}{one.group}{one.part and '/'}{one.part}"
