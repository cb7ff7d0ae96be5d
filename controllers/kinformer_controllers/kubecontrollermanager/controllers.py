"""The controllers of kube-controller-manager 1.36: their names, and the service accounts that they act as.

With ``--use-service-account-credentials`` a controller's requests are made as an account in the namespace kube-system.
The cluster's own roles (``system:controller:ACCOUNT``) say what the account may do. In: the value of ``--controllers``.
Out: the selection for :class:`~kinformer.manager.Manager`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kinformer.manager import UnknownControllerError
from kinformer.manager.names import find_name
from kinformer.manager.selection import BUILTIN

__all__ = ("ACCOUNTS", "ALIASES", "CLOUDS", "selection_of")

#: The account of each controller, by its long name. None: it uses the manager's own credentials.
ACCOUNTS: Final[Mapping[str, str | None]] = {
    "bootstrap-signer-controller": "bootstrap-signer",
    "certificatesigningrequest-approving-controller": "certificate-controller",
    "certificatesigningrequest-cleaner-controller": "certificate-controller",
    "certificatesigningrequest-signing-controller": "certificate-controller",
    "cloud-node-lifecycle-controller": None,
    "clusterrole-aggregation-controller": "clusterrole-aggregation-controller",
    "cronjob-controller": "cronjob-controller",
    "daemonset-controller": "daemon-set-controller",
    "deployment-controller": "deployment-controller",
    "device-taint-eviction-controller": "device-taint-eviction-controller",
    "disruption-controller": "disruption-controller",
    "endpoints-controller": "endpoint-controller",
    "endpointslice-controller": "endpointslice-controller",
    "endpointslice-mirroring-controller": "endpointslicemirroring-controller",
    "ephemeral-volume-controller": "ephemeral-volume-controller",
    "garbage-collector-controller": "generic-garbage-collector",
    "horizontal-pod-autoscaler-controller": "horizontal-pod-autoscaler",
    "job-controller": "job-controller",
    "kube-apiserver-serving-clustertrustbundle-publisher-controller": (
        "kube-apiserver-serving-clustertrustbundle-publisher"
    ),
    "legacy-serviceaccount-token-cleaner-controller": "legacy-service-account-token-cleaner",
    "namespace-controller": "namespace-controller",
    "node-ipam-controller": "node-controller",
    "node-lifecycle-controller": "node-controller",
    "node-route-controller": None,
    "persistentvolume-attach-detach-controller": "attachdetach-controller",
    "persistentvolume-binder-controller": "persistent-volume-binder",
    "persistentvolume-expander-controller": "expand-controller",
    "persistentvolume-protection-controller": "pv-protection-controller",
    "persistentvolumeclaim-protection-controller": "pvc-protection-controller",
    "pod-garbage-collector-controller": "pod-garbage-collector",
    "podcertificaterequest-cleaner-controller": "podcertificaterequestcleaner",
    "podgroup-protection-controller": "podgroup-protection-controller",
    "replicaset-controller": "replicaset-controller",
    "replicationcontroller-controller": "replication-controller",
    "resourceclaim-controller": "resource-claim-controller",
    "resourcepoolstatusrequest-controller": "resourcepoolstatusrequest-controller",
    "resourcequota-controller": "resourcequota-controller",
    "root-ca-certificate-publisher-controller": "root-ca-cert-publisher",
    "selinux-warning-controller": "selinux-warning-controller",
    "service-ca-certificate-publisher-controller": None,
    "service-cidr-controller": "service-cidrs-controller",
    "service-lb-controller": None,
    "serviceaccount-controller": "service-account-controller",
    # It makes the tokens of the others, so it cannot wait for one.
    "serviceaccount-token-controller": None,
    "statefulset-controller": "statefulset-controller",
    "storage-version-migrator-controller": "storage-version-migrator-controller",
    "storageversion-garbage-collector-controller": "storage-version-garbage-collector",
    "taint-eviction-controller": "node-controller",
    "token-cleaner-controller": "token-cleaner",
    "ttl-after-finished-controller": "ttl-after-finished-controller",
    "ttl-controller": "ttl-controller",
    "validatingadmissionpolicy-status-controller": "validatingadmissionpolicy-status-controller",
    "volumeattributesclass-protection-controller": "volumeattributesclass-protection-controller",
}

#: The short names of controllers that may not be here. The specs of the others have theirs.
ALIASES: Final[Mapping[str, str]] = {
    "attachdetach": "persistentvolume-attach-detach-controller",
    "bootstrapsigner": "bootstrap-signer-controller",
    "cloud-node-lifecycle": "cloud-node-lifecycle-controller",
    "ephemeral-volume": "ephemeral-volume-controller",
    "horizontalpodautoscaling": "horizontal-pod-autoscaler-controller",
    "resource-claim-controller": "resourceclaim-controller",
    "route": "node-route-controller",
    "service": "service-lb-controller",
    "service-ca-cert-publisher": "service-ca-certificate-publisher-controller",
    "storage-version-gc": "storageversion-garbage-collector-controller",
    "svm": "storage-version-migrator-controller",
    "tokencleaner": "token-cleaner-controller",
}

#: Those of cloud-controller-manager. kube-controller-manager knows their names and starts none of them.
CLOUDS: Final = ("cloud-node-lifecycle-controller", "node-route-controller", "service-lb-controller")


def selection_of(text: str, builtin: Iterable[str]) -> tuple[list[str], list[str]]:
    """
    Read ``--controllers``.

    :param text: names with commas between; ``*`` for all that are on by default, ``-NAME`` for not this one
    :param builtin: the names of the controllers that are here
    :return: the selection for the manager, and the long names of those that are asked for and are not here
    :raises UnknownControllerError: if kube-controller-manager has no controller of a name
    """
    builtin, selection, missing, unknown = list(builtin), [], [], []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name = entry.removeprefix("-")
        found = find_name(name, builtin)
        long = ALIASES.get(name, name)
        if entry == "*":
            selection.append(BUILTIN)
        elif found is not None and long not in CLOUDS:
            selection.append(entry)
        elif long not in ACCOUNTS:
            unknown.append(name)
        elif not entry.startswith("-"):
            missing.append(long)
    if unknown:
        raise UnknownControllerError(unknown, ACCOUNTS)
    return [*selection, *(f"-{name}" for name in CLOUDS if find_name(name, builtin) is not None)], missing
