"""Which lists and objects of the built-in types are merged, and which are atomic.

The facts come from the API's Go types at Kubernetes 1.36. The types have the names of kubernetes_asyncio. A list that
is not in the table is atomic. An object that is not in it is merged field by field:

==============  ====================================================================================
``f=a,b``       a list of objects, which are identified by their fields `a` and `b`
``f=``          a list of plain values, each of which has its own owners
``f!``          a map that is atomic
``f*``          an object that is merged in this field, although its type is atomic
``!``           the type itself is atomic
==============  ====================================================================================
"""

from __future__ import annotations

from functools import cache

__all__ = ("DEFAULT_KEYS", "NO_DEFAULT", "topology_of")

#: The defaults of the fields of keys. The default of any other field is ``""``.
DEFAULT_KEYS = {"protocol": "TCP", "containerPort": 0, "port": 0}
#: The fields of keys without a default.
NO_DEFAULT = frozenset(("shareID",))

_TOPOLOGY = """\
CoreV1EndpointPort !
DiscoveryV1EndpointPort !
RbacV1Subject !
V1APIServiceStatus conditions=type
V1AllocatedDeviceStatus conditions=type
V1CSIDriverSpec volumeLifecycleModes=
V1CSINodeSpec drivers=name
V1CertificateSigningRequestStatus conditions=type
V1ComponentStatus conditions=type
V1ConfigMapKeySelector !
V1Container env=name ports=containerPort,protocol volumeDevices=devicePath volumeMounts=mountPath
V1ContainerRestartRuleOnExitCodes values=
V1ContainerStatus allocatedResourcesStatus=name volumeMounts=mountPath
V1CrossVersionObjectReference !
V1CustomResourceDefinitionStatus conditions=type
V1DaemonSetStatus conditions=type
V1DeploymentStatus conditions=type
V1Endpoint addresses=
V1EndpointAddress !
V1EphemeralContainer env=name ports=containerPort,protocol volumeDevices=devicePath volumeMounts=mountPath
V1FileKeySelector !
V1FlowSchemaStatus conditions=type
V1LabelSelector !
V1LocalObjectReference !
V1MatchResources !
V1MutatingAdmissionPolicySpec matchConditions=name
V1MutatingWebhook matchConditions=name
V1MutatingWebhookConfiguration webhooks=name
V1NamedRuleWithOperations !
V1NamespaceStatus conditions=type
V1NodeAllocatableResourceClaimStatus containers=
V1NodeSelector !
V1NodeSelectorTerm !
V1NodeSpec podCIDRs=
V1NodeStatus addresses=type conditions=type
V1NonResourcePolicyRule nonResourceURLs= verbs=
V1ObjectFieldSelector !
V1ObjectMeta finalizers= ownerReferences=uid
V1ObjectReference !
V1OwnerReference !
V1ParamKind !
V1ParamRef !
V1PersistentVolumeClaimStatus conditions=type
V1PersistentVolumeSpec claimRef*
V1PodDisruptionBudgetStatus conditions=type
V1PodFailurePolicyOnExitCodesRequirement values=
V1PodSpec containers=name ephemeralContainers=name hostAliases=ip imagePullSecrets=name initContainers=name
  nodeSelector! resourceClaims=name schedulingGates=name topologySpreadConstraints=topologyKey,whenUnsatisfiable
  volumes=name
V1PodStatus conditions=type podIPs=ip resourceClaimStatuses=name
V1PriorityLevelConfigurationStatus conditions=type
V1ReplicaSetStatus conditions=type
V1ReplicationControllerSpec selector!
V1ReplicationControllerStatus conditions=type
V1ResourceClaimStatus devices=driver,device,pool,shareID reservedFor=uid
V1ResourceFieldSelector !
V1ResourcePolicyRule apiGroups= namespaces= resources= verbs=
V1ResourceRequirements claims=name
V1ResourceStatus resources=resourceID
V1RoleRef !
V1Scheduling nodeSelector!
V1ScopeSelector !
V1SecretKeySelector !
V1SecretReference !
V1ServiceAccount secrets=name
V1ServiceBackendPort !
V1ServiceCIDRStatus conditions=type
V1ServiceSpec ports=port,protocol selector!
V1ServiceStatus conditions=type
V1StatefulSetStatus conditions=type
V1TopologySelectorTerm !
V1TypedLocalObjectReference !
V1UncountedTerminatedPods failed= succeeded=
V1ValidatingAdmissionPolicyBindingSpec validationActions=
V1ValidatingAdmissionPolicySpec matchConditions=name variables=name
V1ValidatingAdmissionPolicyStatus conditions=type
V1ValidatingWebhook matchConditions=name
V1ValidatingWebhookConfiguration webhooks=name
V1Variable !
V1alpha1StorageVersionStatus conditions=type storageVersions=apiServerID
V1alpha2PodGroupSpec resourceClaims=name
V1alpha2PodGroupStatus conditions=type resourceClaimStatuses=name
V1alpha2PodGroupTemplate resourceClaims=name
V1alpha2WorkloadSpec podGroupTemplates=name
V1alpha3ResourcePoolStatusRequestStatus conditions=type
V1beta1PodCertificateRequestStatus conditions=type
V1beta1StorageVersionMigrationStatus conditions=type
V1beta2DeviceTaintRuleStatus conditions=type
V2HorizontalPodAutoscalerStatus conditions=type
"""


@cache
def _table() -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = {}
    of_type: dict[str, str] = {}
    for line in _TOPOLOGY.splitlines():
        words = line.split()
        if not line.startswith(" "):
            of_type = table[words.pop(0)] = {}
        for word in words:
            name = word.rstrip("!*").partition("=")[0]
            of_type[name] = word[len(name) :]
    return table


def topology_of(model: str) -> dict[str, str]:
    """The marks of a type's fields, by name. The mark of the type itself has the name ``""``."""
    return _table().get(model, {})
