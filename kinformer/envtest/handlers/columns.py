"""The columns of each kind's table, which ``kubectl get`` shows. ``-o wide`` shows all of them.

A cell is a value of an object, or a text made from several values. An age is the time up to the request.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from kinformer.envtest.handlers import cells
from kinformer.envtest.handlers.pod_cells import pod_ready, pod_restarts, pod_status, readiness_gates
from kinformer.envtest.handlers.spans import NONE, age_of, since

__all__ = ("Column", "columns_of")

Obj = dict[str, Any]
#: A column: name, type, priority (0 is always shown), and the function that reads its cell.
Column = tuple[str, str, int, Callable[[Obj, datetime], Any]]

_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _text(name: str, read: str | Callable[[Obj, datetime], Any], otherwise: str = "", wide: bool = False) -> Column:
    return name, "string", int(wide), cells.at(read, otherwise) if isinstance(read, str) else read


def _number(name: str, path: str, type_: str = "integer") -> Column:
    return name, type_, 0, cells.at(path, 0)


_NAME = _text("Name", "metadata.name")
_AGE = _text("Age", age_of)


def _containers(template: str, selector: Callable[[Obj, datetime], str] | None) -> list[Column]:
    containers = f"{template}.spec.containers"
    columns = [
        _text("Containers", cells.joined(containers, "name"), wide=True),
        _text("Images", cells.joined(containers, "image"), wide=True),
    ]
    return columns if selector is None else [*columns, _text("Selector", selector, wide=True)]


def _named(*annotations: str) -> Column:
    """The name, with a note if the object is the default one of its kind."""

    def name(obj: Obj, now: datetime) -> str:
        return f"{obj['metadata']['name']}{' (default)' if cells.is_default(obj, *annotations) else ''}"

    return _text("Name", name)


_REPLICAS = [
    _number("Desired", "spec.replicas"),
    _number("Current", "status.replicas"),
    _number("Ready", "status.readyReplicas"),
]
_BINDING = [
    _NAME,
    _text("Role", cells.role),
    _AGE,
    *(_text(f"{kind}s", cells.subjects(kind), wide=True) for kind in ("User", "Group", "ServiceAccount")),
]
_HOOKS = [_NAME, ("Webhooks", "integer", 0, cells.length("webhooks")), _AGE]
_PLAIN = [_NAME, _text("Created At", "metadata.creationTimestamp")]

_COLUMNS: dict[tuple[str, str], list[Column]] = {
    ("", "pods"): [
        _NAME,
        _text("Ready", pod_ready),
        _text("Status", pod_status),
        _text("Restarts", pod_restarts),
        _AGE,
        _text("IP", "status.podIP", NONE, wide=True),
        _text("Node", "spec.nodeName", NONE, wide=True),
        _text("Nominated Node", "status.nominatedNodeName", NONE, wide=True),
        _text("Readiness Gates", readiness_gates, wide=True),
    ],
    ("", "podtemplates"): [
        _NAME,
        *((name, type_, 0, read) for name, type_, _, read in _containers("template", None)),
        _text("Pod Labels", lambda obj, now: cells.pairs((obj["template"].get("metadata") or {}).get("labels"))),
    ],
    ("", "replicationcontrollers"): [
        _NAME,
        *_REPLICAS,
        _AGE,
        *_containers("spec.template", lambda obj, now: cells.pairs(obj["spec"].get("selector"))),
    ],
    ("apps", "replicasets"): [_NAME, *_REPLICAS, _AGE, *_containers("spec.template", cells.selector("spec.selector"))],
    ("apps", "deployments"): [
        _NAME,
        _text("Ready", cells.ready_of),
        _number("Up-to-date", "status.updatedReplicas", "string"),
        _number("Available", "status.availableReplicas", "string"),
        _AGE,
        *_containers("spec.template", cells.selector("spec.selector")),
    ],
    ("apps", "statefulsets"): [_NAME, _text("Ready", cells.ready_of), _AGE, *_containers("spec.template", None)],
    ("apps", "daemonsets"): [
        _NAME,
        _number("Desired", "status.desiredNumberScheduled"),
        _number("Current", "status.currentNumberScheduled"),
        _number("Ready", "status.numberReady"),
        _number("Up-to-date", "status.updatedNumberScheduled"),
        _number("Available", "status.numberAvailable"),
        _text("Node Selector", lambda obj, now: cells.pairs(obj["spec"]["template"]["spec"].get("nodeSelector"))),
        _AGE,
        *_containers("spec.template", cells.selector("spec.selector")),
    ],
    ("apps", "controllerrevisions"): [
        _NAME,
        _text("Controller", cells.controller),
        _number("Revision", "revision", "string"),
        _AGE,
    ],
    ("batch", "jobs"): [
        _NAME,
        _text("Status", cells.job_status),
        _text("Completions", cells.completions),
        _text("Duration", cells.job_duration),
        _AGE,
        *_containers("spec.template", cells.selector("spec.selector")),
    ],
    ("batch", "cronjobs"): [
        _NAME,
        _text("Schedule", "spec.schedule"),
        _text("Timezone", "spec.timeZone", NONE),
        ("Suspend", "boolean", 0, cells.suspended),
        ("Active", "integer", 0, cells.length("status.active")),
        _text("Last Schedule", cells.last_schedule),
        _AGE,
        *_containers("spec.jobTemplate.spec.template", cells.selector("spec.jobTemplate.spec.selector")),
    ],
    ("policy", "poddisruptionbudgets"): [
        _NAME,
        _text("Min Available", cells.bound("minAvailable")),
        _text("Max Unavailable", cells.bound("maxUnavailable")),
        _number("Allowed Disruptions", "status.disruptionsAllowed"),
        _AGE,
    ],
    ("", "services"): [
        _NAME,
        _text("Type", "spec.type"),
        _text("Cluster-IP", "spec.clusterIP", NONE),
        _text("External-IP", cells.external),
        _text("Port(s)", cells.service_ports),
        _AGE,
        _text("Selector", lambda obj, now: cells.pairs(obj["spec"].get("selector")), wide=True),
    ],
    ("", "namespaces"): [_NAME, _text("Status", "status.phase"), _AGE],
    ("", "nodes"): [
        _NAME,
        _text("Status", cells.node_status),
        _text("Roles", cells.roles),
        _AGE,
        _text("Version", "status.nodeInfo.kubeletVersion"),
        _text("Internal-IP", cells.node_address("InternalIP"), wide=True),
        _text("External-IP", cells.node_address("ExternalIP"), wide=True),
        _text("OS-Image", cells.node_info("osImage"), wide=True),
        _text("Kernel-Version", cells.node_info("kernelVersion"), wide=True),
        _text("Container-Runtime", cells.node_info("containerRuntimeVersion"), wide=True),
    ],
    ("", "configmaps"): [_NAME, _text("Data", cells.data), _AGE],
    ("", "secrets"): [_NAME, _text("Type", "type"), _text("Data", cells.data), _AGE],
    ("", "serviceaccounts"): [_NAME, _AGE],
    ("", "endpoints"): [_NAME, _text("Endpoints", cells.endpoints), _AGE],
    ("", "resourcequotas"): [_NAME, _text("Request", cells.quota(False)), _text("Limit", cells.quota(True)), _AGE],
    ("", "persistentvolumes"): [
        _NAME,
        _text("Capacity", "spec.capacity.storage", "0"),
        _text("Access Modes", lambda obj, now: cells.modes(obj["spec"].get("accessModes"))),
        _text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
        _text("Status", cells.phase),
        _text("Claim", cells.claim),
        _text("StorageClass", "spec.storageClassName"),
        _text("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
        _text("Reason", "status.reason"),
        _AGE,
        _text("VolumeMode", "spec.volumeMode", "<unset>", wide=True),
    ],
    ("", "persistentvolumeclaims"): [
        _NAME,
        _text("Status", cells.phase),
        _text("Volume", "spec.volumeName"),
        _text("Capacity", cells.claim_capacity),
        _text("Access Modes", cells.claim_modes),
        _text("StorageClass", "spec.storageClassName"),
        _text("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
        _AGE,
        _text("VolumeMode", "spec.volumeMode", "<unset>", wide=True),
    ],
    ("", "events"): [
        _text("Last Seen", cells.last_seen),
        _text("Type", "type"),
        _text("Reason", "reason"),
        _text("Object", cells.event_about),
        _text("Subobject", "involvedObject.fieldPath", wide=True),
        _text("Source", cells.event_source, wide=True),
        _text("Message", lambda obj, now: str(obj.get("message", "")).strip()),
        _text("First Seen", lambda obj, now: since(obj.get("firstTimestamp") or obj.get("eventTime"), now), wide=True),
        ("Count", "string", 1, cells.event_count),
        _text("Name", "metadata.name", wide=True),
    ],
    ("autoscaling", "horizontalpodautoscalers"): [
        _NAME,
        _text("Reference", cells.target),
        _text("Targets", cells.metrics),
        _text("MinPods", lambda obj, now: str(obj["spec"].get("minReplicas", "<unset>"))),
        _number("MaxPods", "spec.maxReplicas", "string"),
        _number("Replicas", "status.currentReplicas", "string"),
        _AGE,
    ],
    ("networking.k8s.io", "ingresses"): [
        _NAME,
        _text("Class", "spec.ingressClassName", NONE),
        _text("Hosts", cells.hosts),
        _text("Address", lambda obj, now: cells.balancer(obj)),
        _text("Ports", lambda obj, now: "80, 443" if obj["spec"].get("tls") else "80"),
        _AGE,
    ],
    ("networking.k8s.io", "ingressclasses"): [
        _named("ingressclass.kubernetes.io/is-default-class"),
        _text("Controller", "spec.controller"),
        _text("Parameters", cells.parameters),
        _AGE,
    ],
    ("networking.k8s.io", "networkpolicies"): [_NAME, _text("Pod-Selector", cells.selector("spec.podSelector")), _AGE],
    ("networking.k8s.io", "servicecidrs"): [
        _NAME,
        _text("CIDRs", lambda obj, now: ",".join(obj["spec"].get("cidrs") or ())),
        _AGE,
    ],
    ("discovery.k8s.io", "endpointslices"): [
        _NAME,
        _text("AddressType", "addressType"),
        _text("Ports", cells.slice_ports),
        _text("Endpoints", cells.slice_endpoints),
        _AGE,
    ],
    ("storage.k8s.io", "storageclasses"): [
        _named(*_DEFAULT_CLASS),
        _text("Provisioner", "provisioner"),
        _text("ReclaimPolicy", "reclaimPolicy", "Delete"),
        _text("VolumeBindingMode", "volumeBindingMode", "Immediate"),
        ("AllowVolumeExpansion", "string", 0, cells.at("allowVolumeExpansion", False)),
        _AGE,
    ],
    ("storage.k8s.io", "csinodes"): [_NAME, ("Drivers", "integer", 0, cells.length("spec.drivers")), _AGE],
    ("storage.k8s.io", "volumeattributesclasses"): [_NAME, _text("DriverName", "driverName"), _AGE],
    ("storage.k8s.io", "volumeattachments"): [
        _NAME,
        _text("Attacher", "spec.attacher"),
        _text("PV", "spec.source.persistentVolumeName"),
        _text("Node", "spec.nodeName"),
        ("Attached", "boolean", 0, cells.at("status.attached", False)),
        _AGE,
    ],
    ("rbac.authorization.k8s.io", "rolebindings"): _BINDING,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _BINDING,
    ("coordination.k8s.io", "leases"): [_NAME, _text("Holder", "spec.holderIdentity"), _AGE],
    ("node.k8s.io", "runtimeclasses"): [_NAME, _text("Handler", "handler"), _AGE],
    ("scheduling.k8s.io", "priorityclasses"): [
        _NAME,
        _number("Value", "value"),
        ("Global-Default", "boolean", 0, cells.at("globalDefault", False)),
        _AGE,
        _text("PreemptionPolicy", "preemptionPolicy"),
    ],
    ("certificates.k8s.io", "certificatesigningrequests"): [
        _NAME,
        _AGE,
        _text("SignerName", "spec.signerName", NONE),
        _text("Requestor", "spec.username"),
        _text("RequestedDuration", "spec.expirationSeconds", NONE),
        _text("Condition", cells.signed),
    ],
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): _HOOKS,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): _HOOKS,
}


def columns_of(group: str, plural: str) -> list[Column]:
    """The columns of a built-in kind. A kind without its own columns has the name and the creation time."""
    return _COLUMNS.get(("" if plural == "events" else group, plural), _PLAIN)
