"""The names of kube-controller-manager's controllers: each has a long name, and most have an older short name.

Users may write either name in flags and files. Names are compared by :func:`long_name`, so that both names mean the
same controller.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ("LONG_NAMES", "find_name", "long_name")

#: The long name of each short one, as in Kubernetes 1.36.
LONG_NAMES: Final = {
    "attachdetach": "persistentvolume-attach-detach-controller",
    "bootstrapsigner": "bootstrap-signer-controller",
    "cloud-node-lifecycle": "cloud-node-lifecycle-controller",
    "clusterrole-aggregation": "clusterrole-aggregation-controller",
    "cronjob": "cronjob-controller",
    "csrapproving": "certificatesigningrequest-approving-controller",
    "csrcleaner": "certificatesigningrequest-cleaner-controller",
    "csrsigning": "certificatesigningrequest-signing-controller",
    "daemonset": "daemonset-controller",
    "deployment": "deployment-controller",
    "disruption": "disruption-controller",
    "endpoint": "endpoints-controller",
    "endpointslice": "endpointslice-controller",
    "endpointslicemirroring": "endpointslice-mirroring-controller",
    "ephemeral-volume": "ephemeral-volume-controller",
    "garbagecollector": "garbage-collector-controller",
    "horizontalpodautoscaling": "horizontal-pod-autoscaler-controller",
    "job": "job-controller",
    "legacy-service-account-token-cleaner": "legacy-serviceaccount-token-cleaner-controller",
    "namespace": "namespace-controller",
    "nodeipam": "node-ipam-controller",
    "nodelifecycle": "node-lifecycle-controller",
    "persistentvolume-binder": "persistentvolume-binder-controller",
    "persistentvolume-expander": "persistentvolume-expander-controller",
    "podgc": "pod-garbage-collector-controller",
    "pv-protection": "persistentvolume-protection-controller",
    "pvc-protection": "persistentvolumeclaim-protection-controller",
    "replicaset": "replicaset-controller",
    "replicationcontroller": "replicationcontroller-controller",
    "resource-claim-controller": "resourceclaim-controller",
    "resourcequota": "resourcequota-controller",
    "root-ca-cert-publisher": "root-ca-certificate-publisher-controller",
    "route": "node-route-controller",
    "service": "service-lb-controller",
    "service-ca-cert-publisher": "service-ca-certificate-publisher-controller",
    "serviceaccount": "serviceaccount-controller",
    "serviceaccount-token": "serviceaccount-token-controller",
    "statefulset": "statefulset-controller",
    "storage-version-gc": "storageversion-garbage-collector-controller",
    "svm": "storage-version-migrator-controller",
    # Kubernetes has no short name for this controller, but the recorded scenarios have one.
    "taint-eviction": "taint-eviction-controller",
    "tokencleaner": "token-cleaner-controller",
    "ttl": "ttl-controller",
    "ttl-after-finished": "ttl-after-finished-controller",
}


def long_name(name: str) -> str:
    """The long name of a controller of kube-controller-manager. Any other name is returned as it is."""
    return LONG_NAMES.get(name, name)


def find_name(name: str, known: Iterable[str]) -> str | None:
    """
    Find a controller among the `known` names.

    An exact match comes before a match of a long name with a short one: another package may call its own controller
    ``service``.

    :return: the known name; None if the controller is not known
    """
    known = list(known)
    if name in known:
        return name
    wanted = long_name(name)
    return next((one for one in known if long_name(one) == wanted), None)
