"""The flags of leader election, with the names of kube-controller-manager."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from kinformer.cli.groups import FlagGroup, duration_flag, fence_flag, fenced_by, flag, lease_times_of, switch

if TYPE_CHECKING:
    from kinformer.manager import LeaderElection

__all__ = ("ElectionFlags", "leader_election_of")


@dataclass(frozen=True, slots=True)
class ElectionFlags(FlagGroup):
    """The flags."""

    leader_elect: bool = switch(
        "Run the controllers only while this process holds a Lease. Use it if several processes run.  [off; in "
        "kube-controller-manager it is on]"
    )
    leader_elect_lease_duration: float = duration_flag(
        "15s", "How long others wait for a leader that no longer renews its Lease."
    )
    leader_elect_renew_deadline: float = duration_flag(
        "10s", "How long the leader tries to renew its Lease before it ends."
    )
    leader_elect_retry_period: float = duration_flag("2s", "The time between two tries to get or renew the Lease.")
    leader_elect_resource_lock: str = flag("leases", "The kind of the lock object.", type=click.Choice(["leases"]))
    leader_elect_resource_name: str = flag(
        "kinformer-manager",
        "The name of the Lease. With kube-controller-manager, this process and the cluster's own "
        "kube-controller-manager take turns.",
    )
    leader_elect_resource_namespace: str = flag("kube-system", "The Lease's namespace.")
    leader_elect_coordinated: bool = switch(
        "Let the control plane choose the leader, by LeaseCandidates. The API server needs the feature gate "
        "CoordinatedLeaderElection.  [off]"
    )
    leader_elect_fenced_resources: str = fence_flag()

    @property
    def lease(self) -> str:
        return f"{self.leader_elect_resource_namespace}/{self.leader_elect_resource_name}"


def leader_election_of(flags: ElectionFlags) -> LeaderElection | None:
    """
    The settings of the leader election; None if it is off.

    :raises OptionError: if the values do not fit together, or are not valid names
    """
    from kinformer.manager import LeaderElection, OptionError
    from kinformer.meta.validation import dns1123_label_errors, dns1123_subdomain_errors

    if not flags.leader_elect:
        return None
    name, namespace = flags.leader_elect_resource_name, flags.leader_elect_resource_namespace
    if problems := dns1123_subdomain_errors(name):
        raise OptionError(f"--leader-elect-resource-name is {name!r}: {problems[0]}")
    if problems := dns1123_label_errors(namespace):
        raise OptionError(f"--leader-elect-resource-namespace is {namespace!r}: {problems[0]}")
    times = lease_times_of(
        "--leader-elect",
        flags.leader_elect_lease_duration,
        flags.leader_elect_renew_deadline,
        flags.leader_elect_retry_period,
    )
    return LeaderElection(
        name=name,
        namespace=namespace,
        options=times,
        coordinated=flags.leader_elect_coordinated,
        fenced=fenced_by("--leader-elect-fenced-resources", flags.leader_elect_fenced_resources),
    )
