"""The flags of leader election, with the names of kube-controller-manager."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from kinformer.cli.groups import F, FlagGroup, duration_flag, fence_flag, fenced_by, lease_times_of, switch, with_flags

if TYPE_CHECKING:
    from kinformer.manager import LeaderElection

__all__ = ("ElectionFlags", "leader_election_flags", "leader_election_of")


@dataclass(frozen=True, slots=True)
class ElectionFlags(FlagGroup):
    """The values of the flags, under the names that click gives them."""

    leader_elect: bool
    leader_elect_lease_duration: float
    leader_elect_renew_deadline: float
    leader_elect_retry_period: float
    leader_elect_resource_lock: str
    leader_elect_resource_name: str
    leader_elect_resource_namespace: str
    leader_elect_coordinated: bool
    leader_elect_fenced_resources: str = ""

    @property
    def lease(self) -> str:
        return f"{self.leader_elect_resource_namespace}/{self.leader_elect_resource_name}"


def leader_election_flags(command: F) -> F:
    """Add the flags of :class:`ElectionFlags` to a command."""
    return with_flags(
        command,
        switch(
            "--leader-elect",
            "Run the controllers only while this process holds a Lease. Use it if several processes run.  [off; in "
            "kube-controller-manager it is on]",
        ),
        duration_flag(
            "--leader-elect-lease-duration", "15s", "How long others wait for a leader that no longer renews its Lease."
        ),
        duration_flag(
            "--leader-elect-renew-deadline", "10s", "How long the leader tries to renew its Lease before it ends."
        ),
        duration_flag("--leader-elect-retry-period", "2s", "The time between two tries to get or renew the Lease."),
        click.option(
            "--leader-elect-resource-lock",
            type=click.Choice(["leases"]),
            default="leases",
            show_default=True,
            help="The kind of the lock object.",
        ),
        click.option(
            "--leader-elect-resource-name",
            default="kinformer-manager",
            show_default=True,
            help="The name of the Lease. With kube-controller-manager, this process and the cluster's own "
            "kube-controller-manager take turns.",
        ),
        click.option(
            "--leader-elect-resource-namespace", default="kube-system", show_default=True, help="The Lease's namespace."
        ),
        switch(
            "--leader-elect-coordinated",
            "Let the control plane choose the leader, by LeaseCandidates. The API server needs the feature "
            "gate CoordinatedLeaderElection.  [off]",
        ),
        fence_flag("--leader-elect-fenced-resources"),
    )


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
