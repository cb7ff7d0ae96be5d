"""Which controllers a scenario was recorded with, by the first part of its name."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from kinformer.manager import find_name
from kinformer.manager.names import long_name

__all__ = ("SCENARIOS", "apis_for", "cluster_scenarios", "controllers_for", "missing_for", "workload_scenarios")

SCENARIOS = Path(__file__).parent / "scenarios"

#: Of workloads: pods that belong to something.
_WORKLOADS = ("rc_", "rs_", "dep_", "sts_", "ds_", "job_", "cj_", "pdb_")

#: Of the cluster itself: its namespaces, accounts, certificates, nodes, volumes.
_CLUSTER = (
    "boot_",
    "cidr_",
    "csr_",
    "eph_",
    "gc_",
    "instance_",
    "lb_",
    "node_",
    "ns_",
    "podgc_",
    "pv_",
    "pvc_",
    "rootca_",
    "route_",
    "sa_",
    "taint_",
    "tok_",
    "vac_",
    "vap_",
)

_BY_PREFIX = {
    "rc": ("replicationcontroller", "resourcequota", "endpoint"),
    "quota": ("replicationcontroller", "resourcequota", "endpoint"),
    "ep": ("replicationcontroller", "resourcequota", "endpoint"),
    "eps": ("endpointslice",),
    "rs": ("replicaset",),
    "dep": ("deployment", "replicaset"),
    "sts": ("statefulset",),
    "ds": ("daemonset",),
    "job": ("job", "ttl-after-finished"),
    "cj": ("cronjob", "job"),
    "pdb": ("disruption", "replicaset"),
    "pv": ("persistentvolume-binder", "pvc-protection", "pv-protection"),
    "pvc": ("pvc-protection",),
    "sa": ("serviceaccount",),
    "tok": ("serviceaccount-token", "serviceaccount"),
    "rootca": ("root-ca-cert-publisher",),
    "csr": ("csrapproving", "csrsigning"),
    "ns": ("namespace", "serviceaccount"),
    "gc": ("garbagecollector", "replicaset"),
    "podgc": ("podgc",),
    "node": ("nodelifecycle", "taint-eviction"),
    "taint": ("nodelifecycle", "taint-eviction"),
    "lb": ("service",),
    "route": ("route",),
    "instance": ("cloud-node-lifecycle",),
    "hpa": ("horizontal-pod-autoscaler-controller", "deployment", "replicaset"),
    "eph": ("ephemeral-volume-controller", "persistentvolume-binder"),
    "rcl": ("resourceclaim-controller",),
    "dte": ("device-taint-eviction-controller",),
    "cidr": ("service-cidr-controller",),
    "vac": ("volumeattributesclass-protection-controller",),
    "vap": ("validatingadmissionpolicy-status-controller",),
    "ad": ("persistentvolume-attach-detach-controller", "persistentvolume-binder", "ttl"),
    "boot": ("bootstrap-signer-controller", "token-cleaner-controller"),
    "ttl": ("ttl",),
    "agg": ("clusterrole-aggregation",),
    "mir": ("endpointslicemirroring",),
}


def controllers_for(scenario: str, known: Collection[str]) -> list[str] | None:
    """
    The controllers to run a scenario with.

    :param scenario: its name
    :param known: the controllers that there are
    :return: by the names that they have among `known`; None if one of them is not there
    """
    wanted = _BY_PREFIX.get(scenario.partition("_")[0])
    if wanted is None or missing_for(scenario, known):
        return None
    return [name for name in (find_name(name, known) for name in wanted) if name is not None]


#: Versions of the API that a controller needs and no server serves by default.
_APIS = {
    "device-taint-eviction-controller": "resource.k8s.io/v1beta2",
    "kube-apiserver-serving-clustertrustbundle-publisher-controller": "certificates.k8s.io/v1beta1",
    "podcertificaterequest-cleaner-controller": "certificates.k8s.io/v1beta1",
    "podgroup-protection-controller": "scheduling.k8s.io/v1alpha2",
    "resourcepoolstatusrequest-controller": "resource.k8s.io/v1alpha3",
    "storage-version-migrator-controller": "storagemigration.k8s.io/v1beta1",
    "storageversion-garbage-collector-controller": "internal.apiserver.k8s.io/v1alpha1",
}


def apis_for(controllers: Collection[str]) -> tuple[str, ...]:
    """The versions that an embedded server serves for controllers, besides the default ones."""
    return tuple(sorted({_APIS[name] for name in map(long_name, controllers) if name in _APIS}))


def missing_for(scenario: str, known: Collection[str]) -> list[str]:
    """
    The controllers that a scenario was recorded with and that are not there.

    :raises KeyError: if the first part of the scenario's name is not known
    """
    return [name for name in _BY_PREFIX[scenario.partition("_")[0]] if find_name(name, known) is None]


def workload_scenarios(known: Collection[str]) -> list[Path]:
    """
    The files of the scenarios of workloads.

    :param known: the controllers that there are; a scenario that needs another one is left out
    """
    return _scenarios(_WORKLOADS, known)


def cluster_scenarios(known: Collection[str]) -> list[Path]:
    """The files of the scenarios of the cluster's own controllers; see :func:`workload_scenarios`."""
    return _scenarios(_CLUSTER, known)


def _scenarios(prefixes: tuple[str, ...], known: Collection[str]) -> list[Path]:
    files = (file for file in sorted(SCENARIOS.glob("*.json")) if file.stem.startswith(prefixes))
    return [file for file in files if controllers_for(file.stem, known)]
