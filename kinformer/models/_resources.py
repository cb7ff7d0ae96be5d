"""Resources of models: the group, version, plural and scope of every kind that kubernetes_asyncio has.

kubernetes_asyncio has these only within the code of its API classes (20 MB), so they are listed here. A test reads them
from there and compares. Custom resources are not in the table: their users name the resource, or use the server's
discovery.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from kinformer.meta import GroupVersion, GroupVersionKind, GroupVersionResource

__all__ = ("ResourceInfo", "builtin_resources", "model_name_of", "resource_of")


class ResourceInfo(NamedTuple):
    """
    The resource of a kind.

    :param plural: the resource's name in paths: ``replicationcontrollers``
    :param namespaced: whether its objects belong to namespaces
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        return str(GroupVersion(self.group, self.version))

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def gvr(self) -> GroupVersionResource:
        return GroupVersionResource(self.group, self.version, self.plural)


def resource_of(model: str) -> ResourceInfo:
    """
    The resource of a model.

    :raises KeyError: if it has none, because it is a part of other models or not a model
    """
    return builtin_resources()[model]


def model_name_of(gvk: GroupVersionKind) -> str:
    """
    The name of the model of a kind.

    :raises KeyError: if there is none, as for custom resources
    """
    return _models_by_kind()[gvk]


@cache
def builtin_resources() -> dict[str, ResourceInfo]:
    """Every resource with a model, by the model's name."""
    found: dict[str, ResourceInfo] = {}
    group_version = GroupVersion("", "")
    for line in _TABLE.splitlines():
        if not line.startswith(" "):
            group_version = GroupVersion.parse(line)
            continue
        plural, model = line.split()
        kind = _KIND.fullmatch(model)
        assert kind is not None
        found[model] = ResourceInfo(*group_version, kind[1], plural.removeprefix("*"), not plural.startswith("*"))
    return found


@cache
def _models_by_kind() -> dict[GroupVersionKind, str]:
    return {info.gvk: model for model, info in builtin_resources().items()}


_KIND = re.compile(r"[A-Za-z]*?V\d+(?:alpha\d+|beta\d+)?([A-Z]\w*)")

# A line without indent is an apiVersion. Below it are plurals and models, with a star for kinds without namespaces.
_TABLE = """\
v1
  bindings V1Binding
  configmaps V1ConfigMap
  endpoints V1Endpoints
  events CoreV1Event
  limitranges V1LimitRange
  persistentvolumeclaims V1PersistentVolumeClaim
  pods V1Pod
  podtemplates V1PodTemplate
  replicationcontrollers V1ReplicationController
  resourcequotas V1ResourceQuota
  secrets V1Secret
  serviceaccounts V1ServiceAccount
  services V1Service
  *componentstatuses V1ComponentStatus
  *namespaces V1Namespace
  *nodes V1Node
  *persistentvolumes V1PersistentVolume
admissionregistration.k8s.io/v1
  *mutatingadmissionpolicies V1MutatingAdmissionPolicy
  *mutatingadmissionpolicybindings V1MutatingAdmissionPolicyBinding
  *mutatingwebhookconfigurations V1MutatingWebhookConfiguration
  *validatingadmissionpolicies V1ValidatingAdmissionPolicy
  *validatingadmissionpolicybindings V1ValidatingAdmissionPolicyBinding
  *validatingwebhookconfigurations V1ValidatingWebhookConfiguration
admissionregistration.k8s.io/v1alpha1
  *mutatingadmissionpolicies V1alpha1MutatingAdmissionPolicy
  *mutatingadmissionpolicybindings V1alpha1MutatingAdmissionPolicyBinding
admissionregistration.k8s.io/v1beta1
  *mutatingadmissionpolicies V1beta1MutatingAdmissionPolicy
  *mutatingadmissionpolicybindings V1beta1MutatingAdmissionPolicyBinding
apiextensions.k8s.io/v1
  *customresourcedefinitions V1CustomResourceDefinition
apiregistration.k8s.io/v1
  *apiservices V1APIService
apps/v1
  controllerrevisions V1ControllerRevision
  daemonsets V1DaemonSet
  deployments V1Deployment
  replicasets V1ReplicaSet
  statefulsets V1StatefulSet
authentication.k8s.io/v1
  *selfsubjectreviews V1SelfSubjectReview
  *tokenreviews V1TokenReview
authorization.k8s.io/v1
  localsubjectaccessreviews V1LocalSubjectAccessReview
  *selfsubjectaccessreviews V1SelfSubjectAccessReview
  *selfsubjectrulesreviews V1SelfSubjectRulesReview
  *subjectaccessreviews V1SubjectAccessReview
autoscaling/v1
  horizontalpodautoscalers V1HorizontalPodAutoscaler
autoscaling/v2
  horizontalpodautoscalers V2HorizontalPodAutoscaler
batch/v1
  cronjobs V1CronJob
  jobs V1Job
certificates.k8s.io/v1
  *certificatesigningrequests V1CertificateSigningRequest
certificates.k8s.io/v1alpha1
  *clustertrustbundles V1alpha1ClusterTrustBundle
certificates.k8s.io/v1beta1
  podcertificaterequests V1beta1PodCertificateRequest
  *clustertrustbundles V1beta1ClusterTrustBundle
coordination.k8s.io/v1
  leases V1Lease
coordination.k8s.io/v1alpha2
  leasecandidates V1alpha2LeaseCandidate
coordination.k8s.io/v1beta1
  leasecandidates V1beta1LeaseCandidate
discovery.k8s.io/v1
  endpointslices V1EndpointSlice
events.k8s.io/v1
  events EventsV1Event
flowcontrol.apiserver.k8s.io/v1
  *flowschemas V1FlowSchema
  *prioritylevelconfigurations V1PriorityLevelConfiguration
internal.apiserver.k8s.io/v1alpha1
  *storageversions V1alpha1StorageVersion
networking.k8s.io/v1
  ingresses V1Ingress
  networkpolicies V1NetworkPolicy
  *ingressclasses V1IngressClass
  *ipaddresses V1IPAddress
  *servicecidrs V1ServiceCIDR
networking.k8s.io/v1beta1
  *ipaddresses V1beta1IPAddress
  *servicecidrs V1beta1ServiceCIDR
node.k8s.io/v1
  *runtimeclasses V1RuntimeClass
policy/v1
  poddisruptionbudgets V1PodDisruptionBudget
rbac.authorization.k8s.io/v1
  rolebindings V1RoleBinding
  roles V1Role
  *clusterrolebindings V1ClusterRoleBinding
  *clusterroles V1ClusterRole
resource.k8s.io/v1
  resourceclaims ResourceV1ResourceClaim
  resourceclaimtemplates V1ResourceClaimTemplate
  *deviceclasses V1DeviceClass
  *resourceslices V1ResourceSlice
resource.k8s.io/v1alpha3
  *devicetaintrules V1alpha3DeviceTaintRule
  *resourcepoolstatusrequests V1alpha3ResourcePoolStatusRequest
resource.k8s.io/v1beta1
  resourceclaims V1beta1ResourceClaim
  resourceclaimtemplates V1beta1ResourceClaimTemplate
  *deviceclasses V1beta1DeviceClass
  *resourceslices V1beta1ResourceSlice
resource.k8s.io/v1beta2
  resourceclaims V1beta2ResourceClaim
  resourceclaimtemplates V1beta2ResourceClaimTemplate
  *deviceclasses V1beta2DeviceClass
  *devicetaintrules V1beta2DeviceTaintRule
  *resourceslices V1beta2ResourceSlice
scheduling.k8s.io/v1
  *priorityclasses V1PriorityClass
scheduling.k8s.io/v1alpha1
  workloads V1alpha1Workload
scheduling.k8s.io/v1alpha2
  podgroups V1alpha2PodGroup
  workloads V1alpha2Workload
storage.k8s.io/v1
  csistoragecapacities V1CSIStorageCapacity
  *csidrivers V1CSIDriver
  *csinodes V1CSINode
  *storageclasses V1StorageClass
  *volumeattachments V1VolumeAttachment
  *volumeattributesclasses V1VolumeAttributesClass
storage.k8s.io/v1alpha1
  *volumeattributesclasses V1alpha1VolumeAttributesClass
storage.k8s.io/v1beta1
  *volumeattributesclasses V1beta1VolumeAttributesClass
storagemigration.k8s.io/v1alpha1
  *storageversionmigrations V1alpha1StorageVersionMigration
storagemigration.k8s.io/v1beta1
  *storageversionmigrations V1beta1StorageVersionMigration
"""
