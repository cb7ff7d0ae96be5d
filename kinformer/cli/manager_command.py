"""``kinformer manager``: its flags, and how they are passed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from kinformer.cli.config_file import config_flag
from kinformer.cli.election import ElectionFlags, leader_election_flags
from kinformer.cli.flags import NAMES, ControllersCommand, duration, values_of_flags
from kinformer.cli.recording import RecordingFlags, recording_flags
from kinformer.cli.running import logging_flags, run_command, with_logging
from kinformer.cli.serving import ServingFlags, serving_flags
from kinformer.cli.sharding import ShardingFlags, sharding_flags
from kinformer.cli.webhooks import WebhookFlags, webhook_flags

__all__ = ("manager", "run_manager")


@click.command("manager", cls=ControllersCommand)
@config_flag
@click.option(
    "--dry-run",
    is_flag=True,
    help="Do not run the controllers. Print all flags and where their values come from, check that the server grants "
    "each permission that the controllers need, and exit with 1 if one is missing.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="The kubeconfig of the cluster; $KUBECONFIG, ~/.kube/config or the pod's service account if not given.",
)
@click.option("--context", default=None, help="The context of the kubeconfig; its current one if not given.")
@click.option(
    "--contexts",
    type=NAMES,
    default="",
    metavar="NAMES",
    help="Run the controllers for the clusters of these contexts, with commas between; '*' for all of the kubeconfig. "
    " [one cluster]",
)
@click.option(
    "--controllers",
    type=NAMES,
    default="*",
    show_default=True,
    help="The controllers to run, with commas between: NAME switches one on, -NAME switches one off, '*' switches on "
    "all of other packages, and 'builtin' all of kube-controller-manager's that are implemented here. MODULE:NAME "
    "stands for one that is not installed: a Reconciler, a factory or a ControllerSpec.",
)
@click.option(
    "--require-controllers",
    type=NAMES,
    default="",
    metavar="NAMES",
    help="The controllers that must start, with commas between; '*' for all that run. If another controller cannot "
    "start, this is logged, and it starts when it can.",
)
@click.option(
    "--cache-sync-timeout",
    type=duration,
    default="2m",
    show_default=True,
    metavar="DURATION",
    help="How long a controller's caches may take to sync before this counts as an error.",
)
@click.option(
    "--shutdown-grace",
    type=duration,
    default="30s",
    show_default=True,
    metavar="DURATION",
    help="How long running syncs may take to end after SIGTERM or SIGINT. A second signal ends the process at once.",
)
@click.option(
    "--beside-kube-controller-manager",
    is_flag=True,
    help="Run built-in controllers even if the cluster's own kube-controller-manager runs.",
)
@click.option(
    "--namespace",
    "namespaces",
    type=NAMES,
    multiple=True,
    metavar="NAMES",
    help="Watch only this namespace. May be given several times, or with commas between.  [all namespaces]",
)
@click.option(
    "--compress-caches",
    is_flag=True,
    help="Compress the parts of cached objects that no controller reads: less memory, more CPU time. Needs the extra "
    "kinformer[zstd].",
)
@click.option(
    "--option",
    "extra_options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of a controller of another package. May be given several times.",
)
@click.option(
    "--kube-api-qps",
    type=float,
    default=None,
    help="Requests per second to the server; 0 or less for no limit.  [no limit]",
)
@click.option("--kube-api-burst", type=click.IntRange(1), default=30, show_default=True, help="Requests in a burst.")
@click.option(
    "--kube-api-delete-qps",
    type=click.FloatRange(0),
    default=50.0,
    show_default=True,
    help="Objects per second that all controllers together delete; 0 for no limit.",
)
@click.option(
    "--kube-api-delete-burst", type=click.IntRange(1), default=100, show_default=True, help="Deletions in a burst."
)
@click.option(
    "--server-probe-interval",
    type=duration,
    default="3s",
    show_default=True,
    metavar="DURATION",
    help="How often to check whether a server that cannot be reached is back. 0: only the controllers' own retries.",
)
@click.option(
    "--server-return-spread",
    type=duration,
    default="1s",
    show_default=True,
    metavar="DURATION",
    help="The time over which informers spread their lists when the server is back.",
)
@serving_flags
@leader_election_flags
@sharding_flags
@webhook_flags
@recording_flags
@logging_flags
def manager(**_: Any) -> None:
    """Run controllers against a cluster until interrupted."""
    run_manager(click.get_current_context())


def run_manager(
    context: click.Context,
    accounts: Mapping[str, str] | None = None,
    report: Callable[[], None] | None = None,
    shown: Mapping[str, Any] | None = None,
    user_agent: str = "",
) -> None:
    """
    Run controllers as the flags of ``kinformer manager`` say, and exit.

    :param context: the command with its flags
    :param accounts: service accounts in kube-system for single controllers, by the controllers' names
    :param report: called when the log is set up
    :param shown: the flags that ``/flagz`` shows; those of the context if None
    :param user_agent: the program's name for the server; empty: kinformer
    """
    from kinformer.cli.manager import run
    from kinformer.cli.signals import Interruption

    options = dict(context.params)
    flags: dict[str, Any] = {
        "election": ElectionFlags.taken_from(options),
        "sharding": ShardingFlags.taken_from(options),
        "serving": ServingFlags.taken_from(options),
        "webhooks": WebhookFlags.taken_from(options),
        "recording": RecordingFlags.taken_from(options),
        "accounts": accounts,
        "user_agent": user_agent,
    }
    if options.pop("dry_run"):
        from kinformer.cli.dry_run import effective_configuration

        flags["dry_run"] = list(effective_configuration(context))
    shown = values_of_flags(context) if shown is None else shown
    interruption = Interruption()
    command = partial(run, interruption=interruption, shown_flags=shown, **flags, **with_logging(options))
    if report is not None:
        report()
    run_command(command, interruption=interruption)
