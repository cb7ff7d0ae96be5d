"""Pods for benchmarks. They are like those of a real cluster: 5.7 KB each, with two containers and managedFields.

Other sizes (:data:`SIZES`) have more containers and environment variables, or leave out all that a pod can do without.

A pod's JSON is prepared in two parts, and its resourceVersion goes between them. So the server makes an event by
joining three pieces of bytes, and is fast enough that the benchmarks measure the client.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

__all__ = ("NAMESPACES", "SIZES", "USUAL", "PodBytes", "namespace", "pod", "pod_bytes")

#: The number of namespaces in which pods are.
NAMESPACES = 100
_VERSION = "version"


class _Size(NamedTuple):
    """
    How a pod gets its size.

    :param containers: the number of its containers
    :param variables: the environment variables of each container, besides two
    :param is_bare: whether it has no annotations, managedFields, probes, volumes and tolerations, and one condition
    """

    containers: int = 2
    variables: int = 0
    is_bare: bool = False


USUAL: Final = "5.7 KB"

#: The sizes that a pod can have, by their names.
SIZES: Final = {
    "1.7 KB": _Size(containers=1, is_bare=True),
    USUAL: _Size(),
    "10 KB": _Size(containers=3, variables=16),
    "30 KB": _Size(containers=8, variables=34),
}


@dataclass(frozen=True, slots=True)
class PodBytes:
    """
    A pod as JSON, without its resourceVersion.

    :param head: the bytes before the resourceVersion
    :param tail: the bytes after it
    """

    head: bytes
    tail: bytes

    def at(self, version: int) -> bytes:
        return b"%b%d%b" % (self.head, version, self.tail)


def pod_bytes(number: int, *, alike: bool = True, size: str = USUAL) -> PodBytes:
    """The bytes of :func:`pod`."""
    head, tail = _templates(size)
    values = _values(number, alike=alike)
    return PodBytes((head % values).encode(), (tail % values).encode())


def pod(number: int, version: str, *, alike: bool = True, size: str = USUAL) -> dict[str, Any]:
    """
    A pod. The same number always gives the same pod.

    :param number: the number of the pod
    :param version: its resourceVersion
    :param alike: whether the pod belongs to one of 500 applications, whose pods have the same labels, owner and images.
        If not, it has its own application, and no other pod has these strings
    :param size: one of :data:`SIZES`
    """
    return _pod({**_values(number, alike=alike), _VERSION: version}, SIZES[size])


def namespace(number: int) -> str:
    """The namespace of a pod."""
    return f"team-{number % NAMESPACES:02d}"


def _values(number: int, *, alike: bool = True) -> dict[str, str]:
    """The values in which pods differ."""
    of, node = number % 500 if alike else number, number % 1000
    app = f"app-{of:03d}"
    tier = "backend" if number % 3 else "frontend"
    return {
        "name": f"web-{number:07d}",
        "namespace": namespace(number),
        "uid": f"6f0e1c1e-0000-4000-8000-{number:012x}",
        "app": app,
        "instance": f"{app}-{number % 7}",
        "hash": f"{of:010x}",
        "tier": tier if alike else f"{tier}-{number}",
        "checksum": f"{number:064x}",
        "owner": f"6f0e1c1e-0000-4000-9000-{of:012x}",
        "node": f"node-{node:04d}",
        "host_ip": f"192.168.{node >> 8}.{node & 255}",
        "ip": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}",
    }


@functools.cache
def _templates(size: str) -> tuple[str, str]:
    """
    The JSON of a pod before and after its version, with ``%(name)s`` in place of its values.

    Formatting these texts is faster than encoding each of a million pods.
    """
    names = [*_values(0), _VERSION]
    made = _pod({name: f"@{name}@" for name in names}, SIZES[size])
    text = json.dumps(made, separators=(",", ":")).replace("%", "%%")
    for name in _values(0):
        text = text.replace(f"@{name}@", f"%({name})s")
    head, tail = text.split(f"@{_VERSION}@")
    return head, tail


def _pod(values: dict[str, str], size: _Size) -> dict[str, Any]:
    ip, app = values["ip"], values["app"]
    containers = ("server", "sidecar", *(f"sidecar-{number}" for number in range(2, size.containers)))
    containers = containers[: size.containers]
    annotations = {"prometheus.io/scrape": "true", "checksum/config": values["checksum"]}
    annotated = {} if size.is_bare else {"annotations": annotations}
    managed = {} if size.is_bare else {"managedFields": _managed_fields(ip, containers)}
    labels = {
        "app.kubernetes.io/name": app,
        "app.kubernetes.io/instance": values["instance"],
        "app.kubernetes.io/managed-by": "Helm",
        "pod-template-hash": values["hash"],
        "tier": values["tier"],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": values["name"],
            "generateName": "web-",
            "namespace": values["namespace"],
            "uid": values["uid"],
            "resourceVersion": values[_VERSION],
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": labels,
            **annotated,
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": app,
                    "uid": values["owner"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            **managed,
        },
        "spec": _spec(values["node"], app, containers, size),
        "status": _status(ip, values["host_ip"], containers, size),
    }


def _spec(node: str, app: str, containers: tuple[str, ...], size: _Size) -> dict[str, Any]:
    def container(name: str, port: int) -> dict[str, Any]:
        image = {
            "name": name,
            "image": f"registry.example.com/{app}/{name}:v1.23.4",
            "imagePullPolicy": "IfNotPresent",
        }
        if size.is_bare:
            return image
        probe = {"httpGet": {"path": "/healthz", "port": port, "scheme": "HTTP"}, "periodSeconds": 10}
        return {
            **image,
            "args": [f"--port={port}", "--log-level=info"],
            "env": [
                {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
                {"name": "ENVIRONMENT", "value": "production"},
                *(
                    {"name": f"SETTING_{number}", "value": f"http://{app}-{number}:8080"}
                    for number in range(size.variables)
                ),
            ],
            "ports": [{"containerPort": port, "name": "http", "protocol": "TCP"}],
            "livenessProbe": probe,
            "readinessProbe": {**probe, "failureThreshold": 3, "successThreshold": 1, "timeoutSeconds": 1},
            "resources": {
                "limits": {"cpu": "500m", "memory": "512Mi"},
                "requests": {"cpu": "250m", "memory": "256Mi"},
            },
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "volumeMounts": [
                {"mountPath": "/etc/config", "name": "config"},
                {"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "token", "readOnly": True},
            ],
        }

    mounted = {} if size.is_bare else {"tolerations": _tolerations(), "volumes": _volumes(app)}
    return {
        "containers": [container(name, 8080 + 1010 * number) for number, name in enumerate(containers)],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "nodeName": node,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "serviceAccount": "default",
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        **mounted,
    }


def _tolerations() -> list[dict[str, Any]]:
    return [
        {
            "effect": "NoExecute",
            "key": f"node.kubernetes.io/{trouble}",
            "operator": "Exists",
            "tolerationSeconds": 300,
        }
        for trouble in ("not-ready", "unreachable")
    ]


def _volumes(app: str) -> list[dict[str, Any]]:
    return [
        {"name": "config", "configMap": {"name": f"{app}-config", "defaultMode": 420}},
        {
            "name": "token",
            "projected": {
                "defaultMode": 420,
                "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                ],
            },
        },
    ]


def _status(ip: str, host_ip: str, containers: tuple[str, ...], size: _Size) -> dict[str, Any]:
    at = "2026-01-01T00:00:07Z"
    conditions = ("Ready",) if size.is_bare else ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": at} for kind in conditions
        ],
        "containerStatuses": [
            {
                "name": name,
                "image": f"registry.example.com/{name}:v1.23.4",
                "imageID": f"registry.example.com/{name}@sha256:{'0123456789abcdef' * 4}",
                "containerID": f"containerd://{'fedcba9876543210' * 4}",
                "lastState": {},
                "ready": True,
                "restartCount": 0,
                "started": True,
                "state": {"running": {"startedAt": at}},
            }
            for name in containers
        ],
        "hostIP": host_ip,
        "phase": "Running",
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "qosClass": "Burstable",
        "startTime": "2026-01-01T00:00:00Z",
    }


def _managed_fields(ip: str, containers: tuple[str, ...]) -> list[dict[str, Any]]:
    def of_container(name: str) -> dict[str, Any]:
        fields = ("args", "env", "image", "imagePullPolicy", "livenessProbe", "name", "ports", "readinessProbe")
        return {f'k:{{"name":"{name}"}}': {".": {}, **{f"f:{field}": {} for field in fields}}}

    return [
        {
            "manager": "kube-controller-manager",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:generateName": {}, "f:labels": {".": {}, "f:app.kubernetes.io/name": {}}},
                "f:spec": {
                    "f:containers": {key: value for name in containers for key, value in of_container(name).items()},
                    "f:dnsPolicy": {},
                    "f:restartPolicy": {},
                    "f:volumes": {".": {}, 'k:{"name":"config"}': {".": {}, "f:configMap": {}}},
                },
            },
        },
        {
            "manager": "kubelet",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:07Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:status": {
                    "f:conditions": {'k:{"type":"Ready"}': {".": {}, "f:status": {}, "f:type": {}}},
                    "f:containerStatuses": {},
                    "f:hostIP": {},
                    "f:phase": {},
                    "f:podIPs": {".": {}, f'k:{{"ip":"{ip}"}}': {".": {}, "f:ip": {}}},
                }
            },
            "subresource": "status",
        },
    ]
