"""``kinformer manager``: its flags, and how they are passed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click

from kinformer.cli.config_file import config_flag
from kinformer.cli.election import ElectionFlags
from kinformer.cli.flags import ControllersCommand, values_of_flags
from kinformer.cli.manager_flags import ManagerFlags
from kinformer.cli.recording import RecordingFlags
from kinformer.cli.running import logging_flags, run_command, with_logging
from kinformer.cli.serving import ServingFlags
from kinformer.cli.sharding import ShardingFlags
from kinformer.cli.webhooks import WebhookFlags

__all__ = ("manager", "run_manager")


@click.command("manager", cls=ControllersCommand)
@config_flag
@ManagerFlags.add_to
@ServingFlags.add_to
@ElectionFlags.add_to
@ShardingFlags.add_to
@WebhookFlags.add_to
@RecordingFlags.add_to
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
    flags = ManagerFlags.taken_from(options)
    groups: dict[str, Any] = {
        "flags": flags,
        "election": ElectionFlags.taken_from(options),
        "sharding": ShardingFlags.taken_from(options),
        "serving": ServingFlags.taken_from(options),
        "webhooks": WebhookFlags.taken_from(options),
        "recording": RecordingFlags.taken_from(options),
        "accounts": accounts,
        "user_agent": user_agent,
    }
    if flags.dry_run:
        from kinformer.cli.dry_run import effective_configuration

        groups["dry_run"] = list(effective_configuration(context))
    shown = values_of_flags(context) if shown is None else shown
    interruption = Interruption()
    command = partial(run, interruption=interruption, shown_flags=shown, **groups, **with_logging(options))
    if report is not None:
        report()
    run_command(command, serves=True, interruption=interruption)
