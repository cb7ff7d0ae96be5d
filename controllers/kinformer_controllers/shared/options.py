"""Fields of options dataclasses that several controllers declare.

Two controllers that share a flag must declare it in the same way. This module imports only :mod:`kinformer.options`:
the help of ``kinformer manager`` imports it and must not load a controller. Other modules read the values:
:mod:`~kinformer_controllers.shared.nodes` the networks,
:mod:`~kinformer_controllers.shared.cloud.loading` the cloud, and
:mod:`~kinformer_controllers.shared.identity` the certificates.
"""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import duration, option

__all__ = (
    "GateOptions",
    "allocate_node_cidrs",
    "cloud_provider",
    "cluster_cidr",
    "cluster_name",
    "enable_garbage_collector",
    "enable_hostpath_provisioner",
    "feature_gates",
    "node_monitor_period",
    "root_ca_file",
)


def cluster_cidr() -> str:
    """The field ``cluster_cidr``."""
    return option("", "The network of the cluster's pods, or one of each family with a comma between them.")


def allocate_node_cidrs() -> bool:
    """The field ``allocate_node_cidrs``."""
    return option(False, "Whether each node is given a part of --cluster-cidr for its pods.")


def cloud_provider() -> str:
    """The field ``cloud_provider``, which names the cloud."""
    return option("", "The cloud that the cluster runs in: a name that a package offers, or `fake`. Empty: no cloud.")


def cluster_name() -> str:
    """The field ``cluster_name``, which tells this cluster apart from others in the same cloud."""
    return option("kubernetes", "What this cluster is called in the cloud.")


def enable_garbage_collector() -> bool:
    """The field ``enable_garbage_collector``."""
    return option(True, "Whether the cluster's garbage collector runs. Without it, no pod is adopted or released.")


def enable_hostpath_provisioner() -> bool:
    """The field ``enable_hostpath_provisioner``."""
    return option(
        False,
        "Whether volumes of storage classes with the provisioner kubernetes.io/host-path are directories of this "
        "machine. For tests only.",
    )


def feature_gates() -> str:
    """The field ``feature_gates``. :mod:`kinformer_controllers.shared.gates` reads it."""
    return option("", "Which features are on or off: NAME=true,NAME=false. They are those of kube-controller-manager.")


@dataclass(frozen=True)
class GateOptions:
    """The options of a controller that only asks whether its feature is on."""

    feature_gates: str = feature_gates()


def node_monitor_period() -> float:
    """The field ``node_monitor_period``, in seconds."""
    return duration(5.0, "How often all nodes are checked.", minimum=0.1)


def root_ca_file() -> str:
    """The field ``root_ca_file``."""
    return option(
        "",
        "File with the certificates, in PEM, by which pods know the API server. Without it they are those that this "
        "process knows the server by.",
    )
