"""``kinformer rbac``: the roles that controllers need, as YAML to apply."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
import yaml

from kinformer.manager import OptionError, known_controllers, select_controllers
from kinformer.manager.loading import builtin_controllers, load_factory
from kinformer.manager.rbac import (
    ServiceAccount,
    UndeclaredPermissions,
    declared_permissions,
    manager_rules,
    manifests,
)
from kinformer.manager.selection import BUILTIN
from kinformer.permissions import Rule

__all__ = ("run",)


async def run(
    *,
    controllers: Sequence[str],
    service_account: str,
    metrics_secure: bool,
    leader_elect: bool,
    leader_elect_resource_name: str,
    leader_elect_resource_namespace: str,
    shards: bool,
    shard_namespace: str,
) -> int:
    """
    Print the roles of some controllers, and of the manager that runs them.

    :param controllers: their names, or words of ``--controllers``; all that are installed if there are none
    :param service_account: ``NAMESPACE/NAME`` of whom to bind them to; empty for no bindings
    :raises UnknownControllerError: if one is not known
    :raises ControllerLoadError: if one cannot be loaded
    :raises UndeclaredPermissions: if one does not say what it needs
    :raises OptionError: if the service account is none
    """
    known = known_controllers()
    builtin = builtin_controllers(known)
    names = select_controllers([*(controllers or ("*", BUILTIN))], known, builtin)
    declared = {name: declared_permissions(load_factory(known[name])) for name in names}
    if undeclared := [name for name, rules in declared.items() if rules is None]:
        raise UndeclaredPermissions(undeclared)
    rules: dict[str, Sequence[Rule]] = {name: it or () for name, it in declared.items()}
    lease = (leader_elect_resource_namespace, leader_elect_resource_name) if leader_elect else None
    rules["manager"] = manager_rules(
        lease,
        shards=shard_namespace if shards else "",
        builtin=any(name in builtin for name in names),
        reviews=metrics_secure,
    )
    click.echo(yaml.safe_dump_all(manifests(rules, _account(service_account)), sort_keys=False), nl=False)
    sys.stdout.flush()
    return 0


def _account(text: str) -> ServiceAccount | None:
    if not text:
        return None
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise OptionError(f"--service-account is {text!r}: want NAMESPACE/NAME")
    return ServiceAccount(namespace, name)
