"""``kinformer manager``: runs controllers against a cluster until it is interrupted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Final

import click

from kinformer.cache import InformerOptions
from kinformer.cli.election import ElectionFlags, leader_election_of
from kinformer.cli.manager_flags import ManagerFlags
from kinformer.cli.modules import search_here
from kinformer.cli.recording import RecordingFlags, recording_of
from kinformer.cli.running import version_of
from kinformer.cli.serving import ServingFlags, address_of, serving_with_reviewers
from kinformer.cli.sharding import ShardingFlags, sharding_of
from kinformer.cli.signals import Interruption
from kinformer.cli.webhooks import WebhookFlags
from kinformer.client import Client, ClientOptions, OutageOptions, TokenBucket, connect
from kinformer.client.account import account_endpoint
from kinformer.collector import keep
from kinformer.manager import Manager, OptionError
from kinformer.manager.beside import NAMESPACE
from kinformer.manager.cluster_part import FleetOptions
from kinformer.manager.loading import (
    builtin_controllers,
    find_controllers,
    known_controllers,
    webhooks_of,
)
from kinformer.manager.rbac import declared_permissions, manager_rules
from kinformer.manager.selection import BUILTIN, select_controllers
from kinformer.meta.validation import dns1123_label_errors
from kinformer.permissions import Rule

__all__ = ("run",)

#: Seconds. At the start, there are Events about each node while all statuses are written.
_EVENT_PATIENCE: Final = 1.0


async def run(
    *,
    flags: ManagerFlags,
    serving: ServingFlags,
    election: ElectionFlags,
    sharding: ShardingFlags,
    webhooks: WebhookFlags,
    recording: RecordingFlags,
    interruption: Interruption,
    shown_flags: Mapping[str, Any],
    accounts: Mapping[str, str] | None = None,
    user_agent: str = "",
    dry_run: Sequence[str] | None = None,
    **options: Any,
) -> int:
    """
    Run controllers until cancelled, or until a signal stops them.

    :param serving: the flags of the endpoint
    :param election: the flags of leader election
    :param sharding: the flags of sharding
    :param webhooks: the flags of webhooks
    :param recording: the flags of the recording
    :param interruption: gets the function that a signal calls
    :param shown_flags: the flags that ``/flagz`` shows
    :param accounts: service accounts in kube-system for single controllers, by the controllers' names. Such a
        controller's requests are made with a token of its account, and have a limit of their own
    :param user_agent: the program's name for the server; its first part is the manager of the fields that it writes.
        Empty: kinformer
    :param dry_run: if given, no controller runs: these lines are printed, and the permissions that are needed are
        checked
    :param options: the flags of all installed controllers, also of those that do not run
    :raises ControllerNotStarted: if a required controller cannot start
    :raises ClientError: if the cluster cannot be reached, or refuses a request
    :raises KubeControllerManagerRuns: if a built-in controller would run beside the cluster's own
    :raises LeadershipLost: if the Lease was lost
    :raises MembershipLost: if the Lease of this member was lost
    :raises ShardingConflict: if the other members have another number of shards, or divide keys in another way
    :raises UnknownControllerError: if a controller is not known
    :raises OptionError: if an option is not valid
    :raises RecordingUnusable: if the recording cannot be written
    """
    selection = _names(flags.controllers)
    if any(":" in name for name in selection):
        search_here()
    chosen = tuple(dict.fromkeys(name for text in flags.namespaces for name in _names(text)))
    for name in chosen:
        if problems := dns1123_label_errors(name):
            raise OptionError(f"--namespace is {name!r}: {problems[0]}")
    outage = OutageOptions(probe_interval=flags.server_probe_interval, return_spread=flags.server_return_spread)
    settings = leader_election_of(election)
    group = sharding_of(sharding)
    recorded = recording_of(recording, contexts=flags.contexts, shards=sharding.shards)
    limits = ClientOptions(
        user_agent=user_agent,
        qps=flags.kube_api_qps,
        burst=flags.kube_api_burst,
        delete_qps=flags.kube_api_delete_qps,
        delete_burst=flags.kube_api_delete_burst,
        outage=outage,
        lazy=True,
        # A recording is played again with a client that does not wait.
        event_patience=0.0 if recording.record else _EVENT_PATIENCE,
    )
    common: FleetOptions = {
        "controllers": selection,
        "options": _parsed(flags.extra_options),
        "flags": {name: it for name, it in options.items() if it is not None},
        "namespaces": chosen,
        "informer_options": _informer_options(compress_caches=flags.compress_caches),
        "beside_kube_controller_manager": flags.beside_kube_controller_manager,
        "required": _names(flags.require_controllers),
    }
    if flags.contexts:
        from kinformer.cli.fleet import run_fleet  # most processes work for one cluster

        if dry_run is not None:
            raise OptionError("--contexts: --dry-run is for one cluster: give --context")
        names, installed = find_controllers(selection)
        if not select_controllers(names, installed, builtin_controllers(installed)):
            raise OptionError(_nothing_to_run(flags.controllers))
        if accounts:
            raise OptionError("--contexts: controllers have accounts of their own in one cluster only: give --context")
        return await run_fleet(
            kubeconfig=flags.kubeconfig,
            context=flags.context,
            contexts=_names(flags.contexts),
            serving=serving,
            leader_election=settings,
            sharding=group,
            client_options=limits,
            cache_sync_timeout=flags.cache_sync_timeout,
            grace=flags.shutdown_grace,
            interruption=interruption,
            shown_flags=shown_flags,
            webhooks_elsewhere=not webhooks.webhook_port,
            **common,
        )
    if flags.kube_api_delete_qps:
        # One limit for all accounts: it is a guard against a process that deletes too much.
        limits = replace(limits, delete_limiter=TokenBucket(flags.kube_api_delete_qps, flags.kube_api_delete_burst))
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connect(flags.kubeconfig, flags.context, options=limits))
        if settings is not None:
            # With its own client, a renewal waits neither behind the controllers' requests nor for their rate limit.
            own = await stack.enter_async_context(
                connect(endpoint=client.endpoint, options=ClientOptions(user_agent=user_agent))
            )
            settings = replace(settings, client=own)
        if group is not None:
            group = replace(group, client=await stack.enter_async_context(connect(endpoint=client.endpoint)))
        secure = await serving_with_reviewers(stack, serving)
        clients = await _account_clients(stack, client, accounts or {}, limits)
        manager = Manager(
            client,
            endpoint=address_of(serving),
            secure=secure,
            leader_election=settings,
            sharding=group,
            cache_sync_timeout=flags.cache_sync_timeout,
            clients=clients,
            webhooks=webhooks if webhooks.webhook_port else None,
            recording=recorded if dry_run is None else None,
            **common,
        )
        keep()  # the controllers' modules; the caches come later
        manager.pages.flags = shown_flags
        if not manager.controllers:
            raise OptionError(_nothing_to_run(flags.controllers))
        if dry_run is not None:
            lease = (election.leader_elect_resource_namespace, election.leader_elect_resource_name)
            reviews = secure is not None
            shards = group.namespace if group is not None else ""
            rules = _rules(manager, lease if settings is not None else None, shards, webhooks, reviews=reviews)
            return await _dry_run(client, dry_run, rules, chosen)
        version = await version_of(client)
        await manager.check_alone()
        doing = "running" if settings is None else f"standing by, until it holds {election.lease}, with"
        click.echo(f"{doing} {', '.join(manager.controllers)} for {client.server} ({version})")
        with interruption.stops(partial(manager.stop, flags.shutdown_grace)):
            await manager.run()
    return 0


def _informer_options(*, compress_caches: bool) -> InformerOptions:
    try:
        return InformerOptions(compress=compress_caches, use_watch_list="auto")
    except ImportError as error:
        raise OptionError(f"--compress-caches: {error}") from None


async def _account_clients(
    stack: AsyncExitStack, client: Client, accounts: Mapping[str, str], limits: ClientOptions
) -> dict[str, Client]:
    """A client for each controller with an account, by the controller's name. One account has one client."""
    clients: dict[str, Client] = {}
    for account in sorted(set(accounts.values())):
        endpoint = account_endpoint(client, NAMESPACE, account)
        agent = limits.user_agent and f"{limits.user_agent}/system:serviceaccount:{NAMESPACE}:{account}"
        options = replace(limits, user_agent=agent)
        clients[account] = await stack.enter_async_context(connect(endpoint=endpoint, options=options))
    return {controller: clients[account] for controller, account in accounts.items()}


def _rules(
    manager: Manager, lease: tuple[str, str] | None, shards: str, hooks: WebhookFlags, *, reviews: bool
) -> dict[str, Iterable[Rule] | None]:
    """The permissions that the controllers of a manager need, and those of the manager itself."""
    builtin = builtin_controllers(known_controllers())
    rules: dict[str, Iterable[Rule] | None] = {
        name: declared_permissions(factory) for name, factory in manager.factories.items()
    }
    runs_builtin = any(name in builtin for name in manager.controllers)
    own = manager_rules(lease, shards=shards, builtin=runs_builtin, reviews=reviews)
    declared = webhooks_of(manager.factories.values())
    rules["manager"] = (*own, *(hooks.serving().rules(declared) if hooks.webhook_port and declared else ()))
    return rules


async def _dry_run(
    client: Client, lines: Sequence[str], rules: Mapping[str, Iterable[Rule] | None], namespaces: Sequence[str]
) -> int:
    from kinformer.cli.dry_run import review, shown_review  # only a dry run needs it

    found = await review(client, rules, namespaces)
    click.echo("\n".join([*lines, *shown_review(found)]))
    return 1 if found.missing else 0


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _nothing_to_run(controllers: str) -> str:
    return (
        f"--controllers is {controllers!r}: that leaves nothing to run. '*' stands for those of other packages; the "
        f"built-in ones run when they are named, or all with '{BUILTIN}'. `kinformer manager --help` lists them"
    )


def _parsed(options: Iterable[str]) -> dict[str, Any]:
    """Parse ``NAME=VALUE``. A value that is a number, ``true`` or ``false`` in JSON gets that type. Others are text."""
    parsed: dict[str, Any] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not (name and equals):
            raise OptionError(f"--option is {option!r}: want NAME=VALUE")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        parsed[name.replace("-", "_")] = value if isinstance(value, (bool, int, float)) else text
    return parsed
