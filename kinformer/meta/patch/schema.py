"""Schemas for strategic merge patches: the lists of the API's types that are merged, and their keys.

These are facts about the built-in kinds of Kubernetes 1.36, taken from the tags ``patchStrategy`` and ``patchMergeKey``
of its types. Only the fields that need an entry are here: merged lists, objects that are not merged field by field, and
fields that lead to one of these. Any other list is replaced as a whole, and any other object is merged field by field.
The name of a type means the same in every version that a server still serves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from kinformer.meta.names import GroupVersionKind
from kinformer.meta.patch.errors import PatchError

__all__ = ("TYPES", "Field", "Schema", "schema_for")


@dataclass(frozen=True, slots=True)
class Field:
    """
    One field of a type.

    :param type: the type of its value or of its list's entries: a key of :data:`TYPES`, or empty if that has no entry
    :param merge: whether it is a list whose entries are merged
    :param key: the field by which entries of a merged list are the same; empty for lists of scalars
    :param replace: whether it is an object that is replaced as a whole
    :param retain_keys: whether a patch names the fields that remain (of the object, or of a list's entries) and removes
        all others
    """

    type: str = ""
    merge: bool = False
    key: str = ""
    replace: bool = False
    retain_keys: bool = False


Schema: TypeAlias = Mapping[str, Field]


def _merged(key: str = "", type_: str = "", *, retain_keys: bool = False) -> Field:
    return Field(type_, merge=True, key=key, retain_keys=retain_keys)


_META: Final = {"metadata": Field("ObjectMeta")}
_CONDITIONS: Final = {"conditions": _merged("type")}
_TEMPLATE: Final = {"template": Field("PodTemplateSpec")}
_CONTAINER: Final = {
    "ports": _merged("containerPort"),
    "env": _merged("name"),
    "volumeMounts": _merged("mountPath"),
    "volumeDevices": _merged("devicePath"),
}


def _kind(name: str, *parts: str) -> Schema:
    """The schema of a kind. The types of the given parts are named after the kind."""
    return {**_META, **{part: Field(f"{name}{part.capitalize()}") for part in parts}}


#: The schemas of the types that have one. Built-in kinds have one because of their metadata.
TYPES: Final[Mapping[str, Schema]] = {
    "ObjectMeta": {"ownerReferences": _merged("uid"), "finalizers": _merged()},
    # core
    "Container": _CONTAINER,
    "EphemeralContainer": _CONTAINER,
    "EphemeralVolumeSource": {"volumeClaimTemplate": Field("PersistentVolumeClaimTemplate")},
    "Namespace": _kind("Namespace", "status"),
    "NamespaceStatus": _CONDITIONS,
    "Node": _kind("Node", "spec", "status"),
    "NodeSpec": {"podCIDRs": _merged()},
    "NodeStatus": {**_CONDITIONS, "addresses": _merged("type")},
    "PersistentVolumeClaim": _kind("PersistentVolumeClaim", "status"),
    "PersistentVolumeClaimStatus": _CONDITIONS,
    "PersistentVolumeClaimTemplate": _META,
    "Pod": _kind("Pod", "spec", "status"),
    "PodSpec": {
        "volumes": _merged("name", "Volume", retain_keys=True),
        "initContainers": _merged("name", "Container"),
        "containers": _merged("name", "Container"),
        "ephemeralContainers": _merged("name", "EphemeralContainer"),
        "imagePullSecrets": _merged("name"),
        "hostAliases": _merged("ip"),
        "topologySpreadConstraints": _merged("topologyKey"),
        "schedulingGates": _merged("name"),
        "resourceClaims": _merged("name", retain_keys=True),
    },
    "PodStatus": {
        **_CONDITIONS,
        "hostIPs": _merged("ip"),
        "podIPs": _merged("ip"),
        "resourceClaimStatuses": _merged("name", retain_keys=True),
    },
    "PodTemplate": {**_META, **_TEMPLATE},
    "PodTemplateSpec": {**_META, "spec": Field("PodSpec")},
    "ReplicationController": _kind("ReplicationController", "spec", "status"),
    "ReplicationControllerSpec": _TEMPLATE,
    "ReplicationControllerStatus": _CONDITIONS,
    "Service": _kind("Service", "spec", "status"),
    "ServiceSpec": {"ports": _merged("port")},
    "ServiceStatus": _CONDITIONS,
    "ServiceAccount": {**_META, "secrets": _merged("name")},
    "ComponentStatus": {**_META, **_CONDITIONS},
    "Volume": {"ephemeral": Field("EphemeralVolumeSource")},
    # apps
    "DaemonSet": _kind("DaemonSet", "spec", "status"),
    "DaemonSetSpec": _TEMPLATE,
    "DaemonSetStatus": _CONDITIONS,
    "Deployment": _kind("Deployment", "spec", "status"),
    "DeploymentSpec": {**_TEMPLATE, "strategy": Field(retain_keys=True)},
    "DeploymentStatus": _CONDITIONS,
    "ReplicaSet": _kind("ReplicaSet", "spec", "status"),
    "ReplicaSetSpec": _TEMPLATE,
    "ReplicaSetStatus": _CONDITIONS,
    "StatefulSet": _kind("StatefulSet", "spec", "status"),
    "StatefulSetSpec": _TEMPLATE,
    "StatefulSetStatus": _CONDITIONS,
    # batch
    "CronJob": _kind("CronJob", "spec"),
    "CronJobSpec": {"jobTemplate": Field("JobTemplateSpec")},
    "Job": _kind("Job", "spec", "status"),
    "JobSpec": _TEMPLATE,
    "JobStatus": _CONDITIONS,
    "JobTemplateSpec": {**_META, "spec": Field("JobSpec")},
    # autoscaling, policy
    "HorizontalPodAutoscaler": _kind("HorizontalPodAutoscaler", "status"),
    "HorizontalPodAutoscalerStatus": _CONDITIONS,
    "PodDisruptionBudget": _kind("PodDisruptionBudget", "spec", "status"),
    "PodDisruptionBudgetSpec": {"selector": Field(replace=True)},
    "PodDisruptionBudgetStatus": _CONDITIONS,
    # admissionregistration, apiregistration, certificates
    "APIService": _kind("APIService", "status"),
    "APIServiceStatus": _CONDITIONS,
    "MutatingAdmissionPolicy": _kind("MutatingAdmissionPolicy", "spec"),
    "MutatingAdmissionPolicySpec": {"matchConditions": _merged("name")},
    "MutatingWebhook": {"matchConditions": _merged("name")},
    "MutatingWebhookConfiguration": {**_META, "webhooks": _merged("name", "MutatingWebhook")},
    "PodCertificateRequest": _kind("PodCertificateRequest", "status"),
    "PodCertificateRequestStatus": _CONDITIONS,
    "ValidatingAdmissionPolicy": _kind("ValidatingAdmissionPolicy", "spec"),
    "ValidatingAdmissionPolicySpec": {"matchConditions": _merged("name"), "variables": _merged("name")},
    "ValidatingWebhook": {"matchConditions": _merged("name")},
    "ValidatingWebhookConfiguration": {**_META, "webhooks": _merged("name", "ValidatingWebhook")},
    # flowcontrol, networking, resource, scheduling, storage, storagemigration
    "CSINode": _kind("CSINode", "spec"),
    "CSINodeSpec": {"drivers": _merged("name")},
    "DeviceTaintRule": _kind("DeviceTaintRule", "status"),
    "DeviceTaintRuleStatus": _CONDITIONS,
    "FlowSchema": _kind("FlowSchema", "status"),
    "FlowSchemaStatus": _CONDITIONS,
    "PodGroup": _kind("PodGroup", "spec", "status"),
    "PodGroupSpec": {"resourceClaims": _merged("name", retain_keys=True)},
    "PodGroupStatus": {**_CONDITIONS, "resourceClaimStatuses": _merged("name", retain_keys=True)},
    "PriorityLevelConfiguration": _kind("PriorityLevelConfiguration", "status"),
    "PriorityLevelConfigurationStatus": _CONDITIONS,
    "ResourceClaim": _kind("ResourceClaim", "status"),
    "ResourceClaimStatus": {"reservedFor": _merged("uid")},
    "ResourceClaimTemplate": _kind("ResourceClaimTemplate", "spec"),
    "ResourceClaimTemplateSpec": _META,
    "ResourcePoolStatusRequest": _kind("ResourcePoolStatusRequest", "status"),
    "ResourcePoolStatusRequestStatus": _CONDITIONS,
    "ServiceCIDR": _kind("ServiceCIDR", "status"),
    "ServiceCIDRStatus": _CONDITIONS,
    "StorageVersionMigration": _kind("StorageVersionMigration", "status"),
    "StorageVersionMigrationStatus": _CONDITIONS,
}

# The groups of built-in kinds. The kind of a custom resource is in none of them, whatever its name is.
_BUILT_IN: Final = frozenset(
    {"", "apps", "autoscaling", "batch", "policy"}
    | {
        f"{group}.k8s.io"
        for group in (
            "admissionregistration",
            "apiextensions",
            "apiregistration",
            "authentication",
            "authorization",
            "certificates",
            "coordination",
            "discovery",
            "events",
            "flowcontrol.apiserver",
            "internal.apiserver",
            "networking",
            "node",
            "rbac.authorization",
            "resource",
            "scheduling",
            "storage",
            "storagemigration",
        )
    }
)


def schema_for(gvk: GroupVersionKind) -> Schema:
    """
    The schema of a built-in kind.

    :raises PatchError: for a custom resource, because servers do not support strategic merge patches for those
    """
    if gvk.group not in _BUILT_IN:
        raise PatchError(f"{gvk}: strategic merge patches are for built-in kinds, not for custom resources")
    return TYPES.get(gvk.kind, _META)
