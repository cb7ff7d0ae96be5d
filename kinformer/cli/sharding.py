"""The flags of sharding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from kinformer.cli.groups import F, FlagGroup, duration_flag, fence_flag, fenced_by, lease_times_of, with_flags

if TYPE_CHECKING:
    from kinformer.sharding import Sharding

__all__ = ("ShardingFlags", "sharding_flags", "sharding_of")


@dataclass(frozen=True, slots=True)
class ShardingFlags(FlagGroup):
    """The values of the flags, under the names that click gives them."""

    shards: int
    shard_by: Literal["namespace", "owner"]
    shard_member_identity: str
    shard_group: str
    shard_namespace: str
    shard_lease_duration: float
    shard_renew_deadline: float
    shard_retry_period: float
    shard_fenced_resources: str = ""


def sharding_flags(command: F) -> F:
    """Add the flags of :class:`ShardingFlags` to a command."""
    return with_flags(
        command,
        click.option(
            "--shards",
            type=int,
            default=0,
            metavar="N",
            help="Divide the keys into this number of shards (64 to 1024), and share these with all other processes of "
            "the group. All processes must have the same number.  [off]",
        ),
        click.option(
            "--shard-by",
            type=click.Choice(["namespace", "owner"]),
            default="namespace",
            show_default=True,
            help="What decides the shard of an object in a namespace. With owner, namespaces are divided, too: pods by "
            "the object that controls them. Not every controller can do this.",
        ),
        click.option(
            "--shard-member-identity",
            default="",
            help="The name of this process in the group: its pod's.  [the name of its host]",
        ),
        click.option(
            "--shard-group",
            default="kinformer-manager-shards",
            show_default=True,
            help="The name of the group, and of the Lease that says which process owns which shard.",
        ),
        click.option(
            "--shard-namespace", default="kube-system", show_default=True, help="The namespace of the Leases."
        ),
        duration_flag(
            "--shard-lease-duration", "15s", "How long others wait for a member that no longer renews its Lease."
        ),
        duration_flag("--shard-renew-deadline", "10s", "How long a member tries to renew its Lease before it ends."),
        duration_flag(
            "--shard-retry-period", "2s", "How often a member renews its Lease, and reads those of the others."
        ),
        fence_flag("--shard-fenced-resources"),
    )


def sharding_of(flags: ShardingFlags) -> Sharding | None:
    """
    The settings of the shard group; None if sharding is off.

    :raises OptionError: if the values do not fit together, or are not valid names
    """
    if not flags.shards:
        return None
    from kinformer.manager import OptionError
    from kinformer.meta.validation import dns1123_label_errors, dns1123_subdomain_errors
    from kinformer.sharding import LEAST_RANGES, MOST_RANGES, Sharding, ShardOptionError

    # The Leases of a group have its name as the value of a label, so it must be valid there.
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
            by=flags.shard_by,
            group=flags.shard_group,
            namespace=flags.shard_namespace,
            options=times,
            identity=flags.shard_member_identity,
            fenced=fenced_by("--shard-fenced-resources", flags.shard_fenced_resources),
        )
    except ShardOptionError as error:
        raise OptionError(f"--shards is {flags.shards}: want {LEAST_RANGES} to {MOST_RANGES}") from error
