"""Which controllers a scenario was recorded with, by the first part of its name."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from kinformer.manager import find_name

__all__ = ("SCENARIOS", "controllers_for", "workload_scenarios")

SCENARIOS = Path(__file__).parent / "scenarios"

#: Of workloads: pods that belong to something.
_WORKLOADS = ("rc_", "rs_", "dep_", "sts_", "ds_", "job_", "cj_", "pdb_")

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
}


def controllers_for(scenario: str, known: Collection[str]) -> list[str] | None:
    """
    The controllers to run a scenario with.

    :param scenario: its name
    :param known: the controllers that there are
    :return: by the names that they have among `known`; None if one of them is not there
    """
    wanted = _BY_PREFIX.get(scenario.partition("_")[0])
    if wanted is None:
        return None
    found = [find_name(name, known) for name in wanted]
    return [name for name in found if name is not None] if all(found) else None


def workload_scenarios(known: Collection[str]) -> list[Path]:
    """
    The files of the scenarios of workloads.

    :param known: the controllers that there are; a scenario that needs another one is left out
    """
    files = (file for file in sorted(SCENARIOS.glob("*.json")) if file.stem.startswith(_WORKLOADS))
    return [file for file in files if controllers_for(file.stem, known)]
