"""The flags of sharding, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kinformer.cli.groups import FlagGroup, duration_flag, lease_times_of, with_flags

if TYPE_CHECKING:
    from kinformer.sharding import Sharding

__all__ = ("ShardingFlags", "sharding_flags", "sharding_of")

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ShardingFlags(FlagGroup):
    """The flags, under the names that click gives them."""

    shards: int
    shard_member_identity: str
    shard_group: str
    shard_namespace: str
    shard_lease_duration: float
    shard_renew_deadline: float
    shard_retry_period: float


def sharding_flags(command: F) -> F:
    """Give a command the flags of :class:`ShardingFlags`."""
    return with_flags(
        command,
        click.option(
            "--shards",
            type=int,
            default=0,
            metavar="N",
            help="Divide the keys into so many shards, 64 to 256, and share them out with all other processes of the "
            "group. All must say the same number.  [off]",
        ),
        click.option(
            "--shard-member-identity", default="", help="What this process is called: its pod.  [the name of its host]"
        ),
        click.option(
            "--shard-group",
            default="kinformer-manager-shards",
            show_default=True,
            help="The name of the group, and of the Lease that says who owns which shard.",
        ),
        click.option("--shard-namespace", default="kube-system", show_default=True, help="The Leases' namespace."),
        duration_flag(
            "--shard-lease-duration", "15s", "How long others wait for a member that renews its Lease no more."
        ),
        duration_flag("--shard-renew-deadline", "10s", "How long a member tries to renew its Lease before it ends."),
        duration_flag("--shard-retry-period", "2s", "How often a member renews its Lease, and looks at the others."),
    )


def sharding_of(flags: ShardingFlags) -> Sharding | None:
    """
    The group to be a member of, None for none.

    :raises OptionError: if the flags do not fit together, or name no Lease
    """
    if not flags.shards:
        return None
    from kinformer.manager import OptionError
    from kinformer.meta.validation import dns1123_label_errors, dns1123_subdomain_errors
    from kinformer.sharding import Sharding, ShardOptionError

    # As a label's value, by which the Leases of a group are found, it is a label's length at most.
    if problems := dns1123_label_errors(flags.shard_group):
        raise OptionError(f"--shard-group is {flags.shard_group!r}: {problems[0]}")
    if problems := dns1123_label_errors(flags.shard_namespace):
        raise OptionError(f"--shard-namespace is {flags.shard_namespace!r}: {problems[0]}")
    if flags.shard_member_identity and (problems := dns1123_subdomain_errors(flags.shard_member_identity)):
        raise OptionError(f"--shard-member-identity is {flags.shard_member_identity!r}: {problems[0]}")
    times = lease_times_of("--shard", flags.shard_lease_duration, flags.shard_renew_deadline, flags.shard_retry_period)
    try:
        return Sharding(
            shards=flags.shards,
            group=flags.shard_group,
            namespace=flags.shard_namespace,
            options=times,
            identity=flags.shard_member_identity,
        )
    except ShardOptionError as error:
        raise OptionError(f"--shards is {flags.shards}: want 64 to 256") from error
