"""The flags of sharding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from kinformer.cli.groups import FlagGroup, duration_flag, fence_flag, fenced_by, flag, lease_times_of

if TYPE_CHECKING:
    from kinformer.sharding import Sharding

__all__ = ("ShardingFlags", "sharding_of")


@dataclass(frozen=True, slots=True)
class ShardingFlags(FlagGroup):
    """The flags."""

    shards: int = flag(
        0,
        "Divide the keys into this number of shards (64 to 1024), and share these with all other processes of the "
        "group. All processes must have the same number.  [off]",
        type=int,
        metavar="N",
    )
    shard_by: Literal["namespace", "owner"] = flag(
        "namespace",
        "What decides the shard of an object in a namespace. With owner, namespaces are divided, too: pods by the "
        "object that controls them. Not every controller can do this.",
        type=click.Choice(["namespace", "owner"]),
    )
    shard_member_identity: str = flag("", "The name of this process in the group: its pod's.  [the name of its host]")
    shard_group: str = flag(
        "kinformer-manager-shards",
        "The name of the group, and of the Lease that says which process owns which shard.",
    )
    shard_namespace: str = flag("kube-system", "The namespace of the Leases.")
    shard_lease_duration: float = duration_flag(
        "15s", "How long others wait for a member that no longer renews its Lease."
    )
    shard_renew_deadline: float = duration_flag("10s", "How long a member tries to renew its Lease before it ends.")
    shard_retry_period: float = duration_flag(
        "2s", "How often a member renews its Lease, and reads those of the others."
    )
    shard_fenced_resources: str = fence_flag()


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
