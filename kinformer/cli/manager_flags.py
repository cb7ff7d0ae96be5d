"""The flags of ``kinformer manager`` that say for which cluster it works, which controllers run, and how fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from kinformer.cli.flags import NAMES, NumberRange, NumberType
from kinformer.cli.groups import FlagGroup, duration_flag, flag, names_flag, path_flag

__all__ = ("ManagerFlags",)


# More than 15 fields: one for each flag.
@dataclass(frozen=True, slots=True)
class ManagerFlags(FlagGroup):
    """The flags."""

    dry_run: bool = flag(
        False,
        "Do not run the controllers. Print all flags and where their values come from, check that the server grants "
        "each permission that the controllers need, and exit with 1 if one is missing.",
        is_flag=True,
    )
    kubeconfig: Path | None = path_flag(
        "The kubeconfig of the cluster; $KUBECONFIG, ~/.kube/config or the pod's service account if not given."
    )
    context: str | None = flag(None, "The context of the kubeconfig; its current one if not given.")
    contexts: str = names_flag(
        "",
        "NAMES",
        "Run the controllers for the clusters of these contexts, with commas between; '*' for all of the kubeconfig. "
        " [one cluster]",
    )
    controllers: str = flag(
        "*",
        "The controllers to run, with commas between: NAME switches one on, -NAME switches one off, '*' switches on "
        "all of other packages, and 'builtin' all of kube-controller-manager's that are implemented here. MODULE:NAME "
        "stands for one that is not installed: a Reconciler, a factory or a ControllerSpec.",
        type=NAMES,
    )
    require_controllers: str = names_flag(
        "",
        "NAMES",
        "The controllers that must start, with commas between; '*' for all that run. If another controller cannot "
        "start, this is logged, and it starts when it can.",
    )
    cache_sync_timeout: float = duration_flag(
        "2m", "How long a controller's caches may take to sync before this counts as an error."
    )
    shutdown_grace: float = duration_flag(
        "30s",
        "How long running syncs may take to end after SIGTERM or SIGINT. A second signal ends the process at once.",
    )
    beside_kube_controller_manager: bool = flag(
        False, "Run built-in controllers even if the cluster's own kube-controller-manager runs.", is_flag=True
    )
    namespaces: Sequence[str] = flag(
        (),
        "Watch only this namespace. May be given several times, or with commas between.  [all namespaces]",
        name="--namespace",
        type=NAMES,
        multiple=True,
        metavar="NAMES",
    )
    compress_caches: bool = flag(
        False,
        "Compress the parts of cached objects that no controller reads: less memory, more CPU time. Needs the extra "
        "kinformer[zstd].",
        is_flag=True,
    )
    extra_options: Sequence[str] = flag(
        (),
        "An option of a controller of another package. May be given several times.",
        name="--option",
        multiple=True,
        metavar="NAME=VALUE",
    )
    kube_api_qps: float | None = flag(
        None, "Requests per second to the server; 0 or less for no limit.  [no limit]", type=NumberType()
    )
    kube_api_burst: int = flag(30, "Requests in a burst.", type=click.IntRange(1))
    kube_api_delete_qps: float = flag(
        50.0, "Objects per second that all controllers together delete; 0 for no limit.", type=NumberRange(0)
    )
    kube_api_delete_burst: int = flag(100, "Deletions in a burst.", type=click.IntRange(1))
    server_probe_interval: float = duration_flag(
        "3s",
        "How often to check whether a server that cannot be reached is back. 0: only the controllers' own retries.",
    )
    server_return_spread: float = duration_flag(
        "1s", "The time over which informers spread their lists when the server is back."
    )
