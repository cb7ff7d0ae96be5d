"""The spec of a pod as kube-apiserver prints it: its internal type as JSON, with the names of Go's fields.

If an update changes a field that may not change, the error has the difference between two such texts. Fields are in the
order of the Go types, including those that are not set.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

__all__ = ("spec_difference",)

#: The limit of lines. Longer texts are not compared, because that would take seconds and nobody would read the result.
_MOST_LINES = 5000

#: Each line has a type and its fields. ``#`` marks a number, ``?`` a boolean, ``%`` a quantity, ``-`` a field that may
#: be null. The type of its value follows, if it is listed here. ``=`` marks a type that is never null, ``~`` a value
#: that is printed with only the fields that are set, and ``+`` a type whose fields are included. All other fields are
#: strings.
_TYPES = """
PodSpec Volumes-Volume InitContainers-Container Containers-Container EphemeralContainers-EphemeralContainer \
RestartPolicy TerminationGracePeriodSeconds- ActiveDeadlineSeconds- DNSPolicy NodeSelector- ServiceAccountName \
AutomountServiceAccountToken- NodeName SecurityContext-PodSecurityContext ImagePullSecrets-LocalObjectReference \
Hostname Subdomain SetHostnameAsFQDN- Affinity-Affinity SchedulerName Tolerations-Toleration HostAliases-HostAlias \
PriorityClassName Priority- PreemptionPolicy- DNSConfig-PodDNSConfig ReadinessGates-PodReadinessGate \
RuntimeClassName- Overhead- EnableServiceLinks- TopologySpreadConstraints-TopologySpreadConstraint OS-PodOS \
SchedulingGates-PodSchedulingGate ResourceClaims-PodResourceClaim Resources-ResourceRequirements HostnameOverride- \
SchedulingGroup-PodSchedulingGroup
Volume Name +VolumeSource
Container Name Image Command- Args- WorkingDir Ports-ContainerPort EnvFrom-EnvFromSource Env-EnvVar \
Resources=ResourceRequirements ResizePolicy-ContainerResizePolicy RestartPolicy- RestartPolicyRules~ \
VolumeMounts-VolumeMount VolumeDevices-VolumeDevice LivenessProbe-Probe ReadinessProbe-Probe StartupProbe-Probe \
Lifecycle-Lifecycle TerminationMessagePath TerminationMessagePolicy ImagePullPolicy SecurityContext-SecurityContext \
Stdin? StdinOnce? TTY?
EphemeralContainer +Container TargetContainerName
PodSecurityContext HostNetwork? HostPID? HostIPC? ShareProcessNamespace- HostUsers- SELinuxOptions-SELinuxOptions \
WindowsOptions~ RunAsUser- RunAsGroup- RunAsNonRoot- SupplementalGroups- SupplementalGroupsPolicy- FSGroup- \
FSGroupChangePolicy- Sysctls-Sysctl SeccompProfile-SeccompProfile AppArmorProfile-AppArmorProfile \
SELinuxChangePolicy-
LocalObjectReference Name
Affinity NodeAffinity-NodeAffinity PodAffinity-PodAffinity PodAntiAffinity-PodAntiAffinity
Toleration Key Operator Value Effect TolerationSeconds-
HostAlias IP Hostnames-
PodDNSConfig Nameservers- Searches- Options-PodDNSConfigOption
PodReadinessGate ConditionType
TopologySpreadConstraint MaxSkew# TopologyKey WhenUnsatisfiable LabelSelector- MinDomains- NodeAffinityPolicy- \
NodeTaintsPolicy- MatchLabelKeys-
PodOS Name
PodSchedulingGate Name
PodResourceClaim Name ResourceClaimName- ResourceClaimTemplateName-
ResourceRequirements Limits- Requests- Claims-ResourceClaim
PodSchedulingGroup PodGroupName-
VolumeSource HostPath-HostPathVolumeSource EmptyDir-EmptyDirVolumeSource GCEPersistentDisk~ AWSElasticBlockStore~ \
GitRepo~ Secret-SecretVolumeSource NFS-NFSVolumeSource ISCSI~ Glusterfs~ \
PersistentVolumeClaim-PersistentVolumeClaimVolumeSource RBD~ Quobyte~ FlexVolume~ Cinder~ CephFS~ Flocker~ \
DownwardAPI-DownwardAPIVolumeSource FC~ AzureFile~ ConfigMap-ConfigMapVolumeSource VsphereVolume~ AzureDisk~ \
PhotonPersistentDisk~ Projected-ProjectedVolumeSource PortworxVolume~ ScaleIO~ StorageOS~ CSI-CSIVolumeSource \
Ephemeral-EphemeralVolumeSource Image-ImageVolumeSource
ContainerPort Name HostPort# ContainerPort# Protocol HostIP
EnvFromSource Prefix ConfigMapRef-ConfigMapEnvSource SecretRef-SecretEnvSource
EnvVar Name Value ValueFrom-EnvVarSource
ContainerResizePolicy ResourceName RestartPolicy
VolumeMount Name ReadOnly? RecursiveReadOnly- MountPath SubPath MountPropagation- SubPathExpr
VolumeDevice Name DevicePath
Probe +ProbeHandler InitialDelaySeconds# TimeoutSeconds# PeriodSeconds# SuccessThreshold# FailureThreshold# \
TerminationGracePeriodSeconds-
Lifecycle PostStart-LifecycleHandler PreStop-LifecycleHandler StopSignal-
SecurityContext Capabilities-Capabilities Privileged- SELinuxOptions-SELinuxOptions WindowsOptions~ RunAsUser- \
RunAsGroup- RunAsNonRoot- ReadOnlyRootFilesystem- AllowPrivilegeEscalation- ProcMount- SeccompProfile-SeccompProfile \
AppArmorProfile-AppArmorProfile
SELinuxOptions User Role Type Level
Sysctl Name Value
SeccompProfile Type LocalhostProfile-
AppArmorProfile Type LocalhostProfile-
NodeAffinity RequiredDuringSchedulingIgnoredDuringExecution-NodeSelector \
PreferredDuringSchedulingIgnoredDuringExecution-PreferredSchedulingTerm
PodAffinity RequiredDuringSchedulingIgnoredDuringExecution-PodAffinityTerm \
PreferredDuringSchedulingIgnoredDuringExecution-WeightedPodAffinityTerm
PodAntiAffinity RequiredDuringSchedulingIgnoredDuringExecution-PodAffinityTerm \
PreferredDuringSchedulingIgnoredDuringExecution-WeightedPodAffinityTerm
PodDNSConfigOption Name Value-
ResourceClaim Name Request
HostPathVolumeSource Path Type-
EmptyDirVolumeSource Medium SizeLimit-
SecretVolumeSource SecretName Items-KeyToPath DefaultMode- Optional-
NFSVolumeSource Server Path ReadOnly?
PersistentVolumeClaimVolumeSource ClaimName ReadOnly?
DownwardAPIVolumeSource Items-DownwardAPIVolumeFile DefaultMode-
ConfigMapVolumeSource +LocalObjectReference Items-KeyToPath DefaultMode- Optional-
ProjectedVolumeSource Sources-VolumeProjection DefaultMode-
CSIVolumeSource Driver ReadOnly- FSType- VolumeAttributes- NodePublishSecretRef-LocalObjectReference
EphemeralVolumeSource VolumeClaimTemplate~
ImageVolumeSource Reference PullPolicy
ConfigMapEnvSource +LocalObjectReference Optional-
SecretEnvSource +LocalObjectReference Optional-
EnvVarSource FieldRef-ObjectFieldSelector ResourceFieldRef-ResourceFieldSelector \
ConfigMapKeyRef-ConfigMapKeySelector SecretKeyRef-SecretKeySelector FileKeyRef-FileKeySelector
ProbeHandler Exec-ExecAction HTTPGet-HTTPGetAction TCPSocket-TCPSocketAction GRPC-GRPCAction
LifecycleHandler Exec-ExecAction HTTPGet-HTTPGetAction TCPSocket-TCPSocketAction Sleep-SleepAction
Capabilities Add- Drop-
NodeSelector NodeSelectorTerms-NodeSelectorTerm
PreferredSchedulingTerm Weight# Preference=NodeSelectorTerm
PodAffinityTerm LabelSelector- Namespaces- TopologyKey NamespaceSelector- MatchLabelKeys- MismatchLabelKeys-
WeightedPodAffinityTerm Weight# PodAffinityTerm=PodAffinityTerm
KeyToPath Key Path Mode-
DownwardAPIVolumeFile Path FieldRef-ObjectFieldSelector ResourceFieldRef-ResourceFieldSelector Mode-
VolumeProjection Secret-SecretProjection DownwardAPI-DownwardAPIProjection ConfigMap-ConfigMapProjection \
ServiceAccountToken-ServiceAccountTokenProjection ClusterTrustBundle~ PodCertificate~
ObjectFieldSelector APIVersion FieldPath
ResourceFieldSelector ContainerName Resource Divisor%
ConfigMapKeySelector +LocalObjectReference Key Optional-
SecretKeySelector +LocalObjectReference Key Optional-
FileKeySelector VolumeName Path Key Optional-
ExecAction Command-
HTTPGetAction Path Port# Host Scheme HTTPHeaders-HTTPHeader
TCPSocketAction Port# Host
GRPCAction Port# Service-
SleepAction Seconds#
NodeSelectorTerm MatchExpressions-NodeSelectorRequirement MatchFields-NodeSelectorRequirement
SecretProjection +LocalObjectReference Items-KeyToPath Optional-
DownwardAPIProjection Items-DownwardAPIVolumeFile
ConfigMapProjection +LocalObjectReference Items-KeyToPath Optional-
ServiceAccountTokenProjection Audience ExpirationSeconds# Path
HTTPHeader Name Value
NodeSelectorRequirement Key Operator Values-
"""
_ZERO = {"": "", "#": 0, "?": False, "%": "0", "-": None, "~": None}
#: Fields that belong to the security context in the printed text, and to the spec in the API.
_OF_HOST = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


def spec_difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    """The difference between two specs of pods, with three lines of context."""
    before, after = (_dump(spec) for spec in (old, new))
    if max(len(before), len(after)) > _MOST_LINES:
        return "(the difference is too long to be shown)\n"
    # The first two lines are for the names of files.
    return "".join(list(difflib.unified_diff(before, after, n=3))[2:])


def _dump(spec: dict[str, Any]) -> list[str]:
    context = {**(spec.get("securityContext") or {}), **{name: spec[name] for name in _OF_HOST if name in spec}}
    text = json.dumps(_typed({**spec, "securityContext": context}, "PodSpec"), indent=1, ensure_ascii=False)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return [f"{line}\n" for line in text.split("\n")]


@cache
def _types() -> dict[str, list[str]]:
    lines = _TYPES.strip().replace(" \\\n", " ").splitlines()
    return {line.split(" ")[0]: line.split(" ")[1:] for line in lines}


@cache
def _fields(type_: str) -> tuple[tuple[str, str, str], ...]:
    """The fields of a type: the name, the mark, and the type of the value."""
    return tuple(_read_fields(type_))


def _read_fields(type_: str) -> Iterator[tuple[str, str, str]]:
    for field in _types()[type_]:
        if field.startswith("+"):
            yield from _fields(field[1:])
            continue
        sign = next((char for char in field if char in "#?%-=~"), "")
        name, _, held = field.partition(sign) if sign else (field, "", "")
        yield name, sign, held


def _typed(value: dict[str, Any], type_: str) -> dict[str, Any]:
    given = {name.lower(): one for name, one in value.items()}
    return {name: _field(given.get(name.lower()), sign, held) for name, sign, held in _fields(type_)}


def _field(value: Any, sign: str, held: str) -> Any:
    if sign == "=":
        return _typed(value or {}, held)
    if value is None or value == []:
        return _ZERO[sign]
    if sign == "~":
        return _named(value)
    if isinstance(value, list):
        return [_typed(one, held) for one in value] if held else value
    if held:
        return _typed(value, held)
    return dict(sorted(value.items())) if isinstance(value, dict) else value


def _named(value: Any) -> Any:
    """A rare part of a pod. It is printed as the API has it, with capital letters at the beginning of names."""
    if isinstance(value, dict):
        return {name[:1].upper() + name[1:]: _named(one) for name, one in value.items()}
    return [_named(one) for one in value] if isinstance(value, list) else value
