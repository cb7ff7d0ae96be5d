"""The built-in resources, one line each, in the order in which discovery shows their groups.

A line is ``plural Kind scope short-names categories subresources``. ``-`` stands for none. A mark may follow the
plural: ``*`` for a resource without deletecollection, ``+`` for one that can only be created (a review, a binding),
``?`` for one that can only be read. A subresource is ``name``, or ``name=Kind`` if it has another kind. Its verbs
follow from its name.
"""

from __future__ import annotations

__all__ = ("GROUPS", "KEPT_BY_STATUS", "METADATA", "OPTIONAL_GROUPS")

#: The fields of the metadata that belong to users.
METADATA = ("labels", "annotations", "finalizers", "ownerReferences")

#: The fields of the metadata that a write of the status does not change, by ``plural.group``. For other kinds the
#: request sets them.
KEPT_BY_STATUS: dict[str, tuple[str, ...]] = {
    "deployments.apps": ("labels",),
    "pods": ("deletionTimestamp", "ownerReferences"),
    **dict.fromkeys(
        (
            *("apiservices.apiregistration.k8s.io", "flowschemas.flowcontrol.apiserver.k8s.io"),
            *("prioritylevelconfigurations.flowcontrol.apiserver.k8s.io", "resourceclaims.resource.k8s.io"),
            *("servicecidrs.networking.k8s.io", "validatingadmissionpolicies.admissionregistration.k8s.io"),
            *("volumeattachments.storage.k8s.io", "devicetaintrules.resource.k8s.io"),
            *("resourcepoolstatusrequests.resource.k8s.io", "podgroups.scheduling.k8s.io"),
            *("storageversions.internal.apiserver.k8s.io", "podcertificaterequests.certificates.k8s.io"),
            "storageversionmigrations.storagemigration.k8s.io",
        ),
        METADATA,
    ),
}

GROUPS = """
 v1
bindings+ Binding ns - - -
componentstatuses? ComponentStatus cl cs - -
configmaps ConfigMap ns cm - -
endpoints Endpoints ns ep - -
events Event ns ev - -
limitranges LimitRange ns limits - -
namespaces* Namespace cl ns - finalize,status
nodes Node cl no - proxy=NodeProxyOptions,status
persistentvolumeclaims PersistentVolumeClaim ns pvc - status
persistentvolumes PersistentVolume cl pv - status
pods Pod ns po all attach=PodAttachOptions,binding=Binding,ephemeralcontainers,eviction=policy/v1/Eviction,\
exec=PodExecOptions,log,portforward=PodPortForwardOptions,proxy=PodProxyOptions,resize,status
podtemplates PodTemplate ns - - -
replicationcontrollers ReplicationController ns rc all scale,status
resourcequotas ResourceQuota ns quota - status
secrets Secret ns - - -
serviceaccounts ServiceAccount ns sa - token=authentication.k8s.io/v1/TokenRequest
services Service ns svc all proxy=ServiceProxyOptions,status
apiregistration.k8s.io v1
apiservices APIService cl - api-extensions status
apps v1
controllerrevisions ControllerRevision ns - - -
daemonsets DaemonSet ns ds all status
deployments Deployment ns deploy all scale,status
replicasets ReplicaSet ns rs all scale,status
statefulsets StatefulSet ns sts all scale,status
events.k8s.io v1
events Event ns ev - -
authentication.k8s.io v1
selfsubjectreviews+ SelfSubjectReview cl - - -
tokenreviews+ TokenReview cl - - -
authorization.k8s.io v1
localsubjectaccessreviews+ LocalSubjectAccessReview ns - - -
selfsubjectaccessreviews+ SelfSubjectAccessReview cl - - -
selfsubjectrulesreviews+ SelfSubjectRulesReview cl - - -
subjectaccessreviews+ SubjectAccessReview cl - - -
autoscaling v2
horizontalpodautoscalers HorizontalPodAutoscaler ns hpa all status
autoscaling v1
horizontalpodautoscalers HorizontalPodAutoscaler ns hpa all status
batch v1
cronjobs CronJob ns cj all status
jobs Job ns - all status
certificates.k8s.io v1
certificatesigningrequests CertificateSigningRequest cl csr - approval,status
networking.k8s.io v1
ingressclasses IngressClass cl - - -
ingresses Ingress ns ing - status
ipaddresses IPAddress cl ip - -
networkpolicies NetworkPolicy ns netpol - -
servicecidrs ServiceCIDR cl - - status
policy v1
poddisruptionbudgets PodDisruptionBudget ns pdb - status
rbac.authorization.k8s.io v1
clusterrolebindings ClusterRoleBinding cl - - -
clusterroles ClusterRole cl - - -
rolebindings RoleBinding ns - - -
roles Role ns - - -
storage.k8s.io v1
csidrivers CSIDriver cl - - -
csinodes CSINode cl - - -
csistoragecapacities CSIStorageCapacity ns - - -
storageclasses StorageClass cl sc - -
volumeattachments VolumeAttachment cl - - status
volumeattributesclasses VolumeAttributesClass cl vac - -
admissionregistration.k8s.io v1
mutatingadmissionpolicies MutatingAdmissionPolicy cl - api-extensions -
mutatingadmissionpolicybindings MutatingAdmissionPolicyBinding cl - api-extensions -
mutatingwebhookconfigurations MutatingWebhookConfiguration cl - api-extensions -
validatingadmissionpolicies ValidatingAdmissionPolicy cl - api-extensions status
validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding cl - api-extensions -
validatingwebhookconfigurations ValidatingWebhookConfiguration cl - api-extensions -
apiextensions.k8s.io v1
customresourcedefinitions CustomResourceDefinition cl crd,crds api-extensions status
scheduling.k8s.io v1
priorityclasses PriorityClass cl pc - -
coordination.k8s.io v1
leases Lease ns - - -
node.k8s.io v1
runtimeclasses RuntimeClass cl - - -
discovery.k8s.io v1
endpointslices EndpointSlice ns - - -
resource.k8s.io v1
deviceclasses DeviceClass cl - - -
resourceclaims ResourceClaim ns - - status
resourceclaimtemplates ResourceClaimTemplate ns - - -
resourceslices ResourceSlice cl - - -
flowcontrol.apiserver.k8s.io v1
flowschemas FlowSchema cl - - status
prioritylevelconfigurations PriorityLevelConfiguration cl - - status
"""

#: The same for resources of versions that kube-apiserver serves only if it is told to (``--runtime-config``). Only
#: those are here that a controller of kube-controller-manager needs.
OPTIONAL_GROUPS = """
certificates.k8s.io v1beta1
clustertrustbundles ClusterTrustBundle cl - - -
podcertificaterequests PodCertificateRequest ns - - status
internal.apiserver.k8s.io v1alpha1
storageversions StorageVersion cl - - status
resource.k8s.io v1beta2
devicetaintrules DeviceTaintRule cl - - status
resource.k8s.io v1alpha3
resourcepoolstatusrequests ResourcePoolStatusRequest cl - - status
scheduling.k8s.io v1alpha2
podgroups PodGroup ns - - status
workloads Workload ns - - -
storagemigration.k8s.io v1beta1
storageversionmigrations StorageVersionMigration cl - - status
"""
