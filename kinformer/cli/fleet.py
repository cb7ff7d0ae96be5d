"""``kinformer manager --contexts``: runs controllers for many clusters until it is interrupted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import click

from kinformer.cli.serving import ServingFlags, address_of, serving_with_reviewers
from kinformer.cli.signals import Interruption
from kinformer.client import ClientOptions, connect
from kinformer.manager import Fleet, KubeconfigContexts, LeaderElection, Sharding
from kinformer.manager.cluster_part import FleetOptions

__all__ = ("run_fleet",)

_ALL = "*"


async def run_fleet(
    *,
    kubeconfig: Path | None,
    context: str | None,
    contexts: Collection[str],
    serving: ServingFlags,
    leader_election: LeaderElection | None,
    sharding: Sharding | None,
    client_options: ClientOptions,
    cache_sync_timeout: float,
    grace: float,
    interruption: Interruption,
    shown_flags: Mapping[str, Any],
    webhooks_elsewhere: bool,
    **options: Unpack[FleetOptions],
) -> int:
    """
    Run controllers for the clusters of several contexts until cancelled, or until a signal stops them.

    :param kubeconfig: the kubeconfig; None: the default one
    :param context: the context of the cluster that reviews who may read the endpoint; None: the current one
    :param contexts: the names of the contexts; ``*`` for all of the kubeconfig, also those that are added later
    :param grace: seconds that running syncs may take to end after a signal
    :param webhooks_elsewhere: whether to run controllers that declare webhooks, without serving them
    :raises ConfigError: if the kubeconfig cannot be read
    :raises OptionError: if an option is not valid
    :raises UnknownControllerError: if a controller is not known
    """
    async with AsyncExitStack() as stack:
        secure = await serving_with_reviewers(stack, serving)
        if secure is not None and secure.authorization is None:
            secure = replace(secure, authorization=await stack.enter_async_context(connect(kubeconfig, context)))
        fleet = Fleet(
            KubeconfigContexts(kubeconfig, () if _ALL in contexts else contexts),
            endpoint=address_of(serving),
            secure=secure,
            leader_election=leader_election,
            sharding=sharding,
            client_options=client_options,
            cache_sync_timeout=cache_sync_timeout,
            webhooks_elsewhere=webhooks_elsewhere,
            **options,
        )
        fleet.pages.flags = shown_flags
        which = "all contexts" if _ALL in contexts else ", ".join(contexts)
        click.echo(f"running for the clusters of {which}")
        with interruption.stops(partial(fleet.stop, grace)):
            await fleet.run()
    return 0
