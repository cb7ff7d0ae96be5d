"""The names of kube-controller-manager's controllers: a long one each, and mostly a short one from before.

Flags and files of users have either. Whatever is compared by name is compared by :func:`long_name`, so that both mean
the same controller, under whichever of the two it is installed.
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
    # Kubernetes has no short name for it, the recorded scenarios do.
    "taint-eviction": "taint-eviction-controller",
    "tokencleaner": "token-cleaner-controller",
    "ttl": "ttl-controller",
    "ttl-after-finished": "ttl-after-finished-controller",
}


def long_name(name: str) -> str:
    """The long name of a controller of kube-controller-manager; any other name is its own."""
    return LONG_NAMES.get(name, name)


def find_name(name: str, known: Iterable[str]) -> str | None:
    """
    Under which of the `known` names a controller is found.

    One that has exactly this name comes before one whose short or long name it is: another package may call its own
    controller ``service``.

    :return: None if there is none
    """
    known = list(known)
    if name in known:
        return name
    wanted = long_name(name)
    return next((one for one in known if long_name(one) == wanted), None)
