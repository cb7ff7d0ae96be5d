"""``kinformer rbac``: print the roles that controllers need, as YAML to apply."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import click
import yaml

from kinformer.cli.modules import search_here
from kinformer.cli.webhooks import WebhookFlags, namespaced_name
from kinformer.manager import OptionError, select_controllers
from kinformer.manager.loading import builtin_controllers, find_controllers, load_factory, webhooks_of
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
    webhooks: WebhookFlags,
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
    :param webhooks: which permissions the webhooks of the controllers need
    :return: the exit status, 0
    :raises UnknownControllerError: if a controller is not known
    :raises ControllerLoadError: if a controller cannot be loaded
    :raises UndeclaredPermissions: if a controller does not declare which permissions it needs
    :raises OptionError: if the service account is not of the form ``NAMESPACE/NAME``
    """
    if any(":" in name for name in controllers):
        search_here()
    selection, known = find_controllers(controllers or ("*", BUILTIN))
    builtin = builtin_controllers(known)
    names = select_controllers(selection, known, builtin, partial(_is_optional, known))
    factories = {name: load_factory(known[name]) for name in names}
    declared = {name: declared_permissions(factory) for name, factory in factories.items()}
    if undeclared := [name for name, rules in declared.items() if rules is None]:
        raise UndeclaredPermissions(undeclared)
    rules: dict[str, Sequence[Rule]] = {name: it or () for name, it in declared.items()}
    lease = (leader_elect_resource_namespace, leader_elect_resource_name) if leader_elect else None
    account = _account(service_account)
    # Each manager needs other things, so the roles of two managers in one cluster must not have one name.
    manager = "manager" if account is None else f"manager:{account.namespace}:{account.name}"
    rules[manager] = manager_rules(
        lease,
        shards=shard_namespace if shards else "",
        builtin=any(name in builtin for name in names),
        reviews=metrics_secure,
    )
    if hooks := webhooks_of(factories.values()):
        serving = webhooks.serving()
        if serving.service is None and serving.secret is None and serving.cert_dir is None:
            raise OptionError(
                "the webhooks need a Secret for their certificate: want --webhook-service, --webhook-secret or "
                "--webhook-cert-dir, with the same values as for kinformer manager"
            )
        rules[manager] = (*rules[manager], *serving.rules(hooks))
    click.echo(yaml.safe_dump_all(manifests(rules, account), sort_keys=False), nl=False)
    sys.stdout.flush()
    return 0


def _is_optional(known: Mapping[str, Any], name: str) -> bool:
    """Whether a controller usually does not run. Then a role for it would be a right that nobody needs."""
    spec = load_factory(known[name])
    return isinstance(spec, ControllerSpec) and (bool(spec.feature_gate) or not spec.on_by_default)


def _account(text: str) -> ServiceAccount | None:
    found = namespaced_name("--service-account", text)
    return ServiceAccount(*found) if found is not None else None
