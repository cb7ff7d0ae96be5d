"""``kinformer rbac``: print the roles that controllers need, as YAML to apply."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

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
from kinformer.spec import ControllerSpec

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

    :param controllers: the names of controllers, or other values of ``--controllers``; empty for all that are
        installed. One that is off by default, or behind a feature gate, must be named
    :param service_account: the service account that the roles are bound to, as ``NAMESPACE/NAME``; empty for no
        bindings
    :param metrics_secure: add the permissions to check who may read metrics
    :param leader_elect: add the permissions on the Lease of leader election
    :param leader_elect_resource_name: the name of this Lease
    :param leader_elect_resource_namespace: the namespace of this Lease
    :param shards: add the permissions on the Leases of sharding
    :param shard_namespace: the namespace of these Leases
    :return: the exit status, 0
    :raises UnknownControllerError: if a controller is not known
    :raises ControllerLoadError: if a controller cannot be loaded
    :raises UndeclaredPermissions: if a controller does not declare which permissions it needs
    :raises OptionError: if the service account is not of the form ``NAMESPACE/NAME``
    """
    known = known_controllers()
    builtin = builtin_controllers(known)
    names = select_controllers([*(controllers or ("*", BUILTIN))], known, builtin, partial(_is_optional, known))
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


def _is_optional(known: Mapping[str, Any], name: str) -> bool:
    """Whether a controller usually does not run. Then a role for it would be a right that nobody needs."""
    spec = load_factory(known[name])
    return isinstance(spec, ControllerSpec) and (bool(spec.feature_gate) or not spec.on_by_default)


def _account(text: str) -> ServiceAccount | None:
    if not text:
        return None
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise OptionError(f"--service-account is {text!r}: want NAMESPACE/NAME")
    return ServiceAccount(namespace, name)
