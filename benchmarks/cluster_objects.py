"""The objects of a cluster in which all controllers are measured: nodes with Leases, and teams with apps.

Each team is a namespace with a quota. Each app is a Deployment with its ReplicaSets (one of them has all the pods, as
after some rollouts), a disruption budget, and Services that select its pods. Pods are bound and run. Which objects
there are follows from a :class:`Shape` alone, so they can be found again without asking the server.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from kinformer.meta import GroupVersionResource

__all__ = (
    "LIMIT",
    "SHAPES",
    "App",
    "Obj",
    "Pod",
    "Shape",
    "budget",
    "conditions",
    "deployment",
    "healthy",
    "lease",
    "node",
    "pod",
    "quota",
    "replica_set",
    "service",
)

Obj = dict[str, Any]

NAMESPACES: Final = GroupVersionResource("", "v1", "namespaces")
ACCOUNTS: Final = GroupVersionResource("", "v1", "serviceaccounts")
NODES: Final = GroupVersionResource("", "v1", "nodes")
PODS: Final = GroupVersionResource("", "v1", "pods")
SERVICES: Final = GroupVersionResource("", "v1", "services")
ENDPOINTS: Final = GroupVersionResource("", "v1", "endpoints")
QUOTAS: Final = GroupVersionResource("", "v1", "resourcequotas")
LEASES: Final = GroupVersionResource("coordination.k8s.io", "v1", "leases")
SLICES: Final = GroupVersionResource("discovery.k8s.io", "v1", "endpointslices")
DEPLOYMENTS: Final = GroupVersionResource("apps", "v1", "deployments")
REPLICA_SETS: Final = GroupVersionResource("apps", "v1", "replicasets")
BUDGETS: Final = GroupVersionResource("policy", "v1", "poddisruptionbudgets")

ZONE: Final = "topology.kubernetes.io/zone"
LEASE_NAMESPACE: Final = "kube-node-lease"
_REVISION = "deployment.kubernetes.io/revision"
_SINCE = "2026-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """
    The numbers of objects.

    :param teams: namespaces
    :param apps: the Deployments of each team
    :param pods: the pods of each Deployment
    :param services: the Services of each Deployment
    :param revisions: the ReplicaSets of each Deployment
    :param lease_seconds: each Lease is renewed once in so many seconds
    :param status_seconds: each node's status is written once in so many seconds; 0 for never
    """

    nodes: int
    teams: int
    apps: int
    pods: int
    services: int = 1
    revisions: int = 10
    lease_seconds: float = 10.0
    status_seconds: float = 0.0

    def scaled(self, scale: float) -> Shape:
        """Return a shape with this part of the nodes and teams. The teams stay as they are."""
        nodes, teams = (max(round(number * scale), 1) for number in (self.nodes, self.teams))
        return replace(self, nodes=nodes, teams=teams)

    def in_teams(self, teams: int) -> Shape:
        """Return a shape with the same apps in another number of namespaces."""
        return replace(self, teams=teams, apps=self.teams * self.apps // teams)

    @property
    def all_apps(self) -> list[App]:
        names = ((team, app) for team in range(self.teams) for app in range(self.apps))
        return [App(number, f"team-{team}", f"app-{app}") for number, (team, app) in enumerate(names)]

    @property
    def all_nodes(self) -> list[str]:
        return [f"node-{index}" for index in range(self.nodes)]

    def pods_of(self, app: App) -> Iterator[Pod]:
        for index in range(self.pods):
            count = app.number * self.pods + index
            yield Pod(count, app.team, f"{app.replica_set(self.revisions)}-{count:06}", count % self.nodes)

    def __str__(self) -> str:
        apps = self.teams * self.apps
        numbers = {
            "nodes": self.nodes,
            "namespaces": self.teams,
            "Deployments": apps,
            "ReplicaSets": apps * self.revisions,
            "Services": apps * self.services,
            "pods": apps * self.pods,
        }
        return ", ".join(f"{number:,} {name}" for name, number in numbers.items())


class App(NamedTuple):
    """A Deployment, by its number among all."""

    number: int
    team: str
    name: str

    @property
    def labels(self) -> dict[str, str]:
        return {"app": self.name}

    def replica_set(self, revision: int) -> str:
        return f"{self.name}-r{revision}"

    def services(self, shape: Shape) -> list[str]:
        return [self.name, *(f"{self.name}-{index}" for index in range(1, shape.services))]


class Pod(NamedTuple):
    """A pod, by its number among all."""

    number: int
    namespace: str
    name: str
    node: int


#: Kubernetes' own limits: 5,000 nodes, 150,000 pods and 10,000 Services, and 3,000 pods in a namespace.
LIMIT: Final = Shape(nodes=5000, teams=50, apps=100, pods=30, services=2, revisions=2, status_seconds=300.0)
SHAPES: Final = {"usual": Shape(nodes=1000, teams=10, apps=10, pods=100), "limit": LIMIT}


def node(index: int, name: str) -> tuple[Obj, Obj]:
    """Return a Ready node and its status."""
    size = {"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    images = [{"names": [f"registry.example/app-{image}:1"], "sizeBytes": 10**8} for image in range(20)]
    status = {
        "conditions": healthy(_SINCE),
        "capacity": size,
        "allocatable": size,
        "addresses": [{"type": "InternalIP", "address": _node_ip(index)}],
        "images": images,
    }
    zone = {ZONE: f"zone-{index % 3}", "kubernetes.io/os": "linux"}
    return {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **zone}}}, status


def healthy(beat: str) -> list[Obj]:
    """Return the conditions of a Ready node. `beat` is the time of the heartbeat."""
    types = ("MemoryPressure", "DiskPressure", "PIDPressure")
    without = [{"type": type_, "status": "False", "reason": "KubeletHasSufficient"} for type_ in types]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return [{**each, "lastHeartbeatTime": beat, "lastTransitionTime": _SINCE} for each in (ready, *without)]


def lease(name: str) -> Obj:
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.000000Z"}
    return {"metadata": {"name": name, "namespace": LEASE_NAMESPACE}, "spec": spec}


def deployment(app: App, shape: Shape) -> Obj:
    meta = {"name": app.name, "namespace": app.team, "annotations": {_REVISION: str(shape.revisions)}}
    template = _template(app.labels, shape.revisions)
    return {
        "metadata": meta,
        "spec": {"replicas": shape.pods, "selector": {"matchLabels": app.labels}, "template": template},
    }


def replica_set(app: App, revision: int, owner: Obj, shape: Shape) -> Obj:
    """
    Return one of the ReplicaSets. The latest one has all the pods.

    :param owner: the Deployment, as the server has it
    """
    hashed = {**app.labels, "pod-template-hash": f"r{revision}"}
    annotations = {
        _REVISION: str(revision),
        "deployment.kubernetes.io/desired-replicas": str(shape.pods),
        "deployment.kubernetes.io/max-replicas": str(shape.pods * 5 // 4),
    }
    meta = {
        "name": app.replica_set(revision),
        "namespace": app.team,
        "labels": hashed,
        "ownerReferences": [_owner("Deployment", owner)],
        "annotations": annotations,
    }
    replicas = shape.pods if revision == shape.revisions else 0
    template = _template(hashed, revision)
    return {
        "metadata": meta,
        "spec": {"replicas": replicas, "selector": {"matchLabels": hashed}, "template": template},
    }


def pod(which: Pod, owner: Obj, node_name: str) -> tuple[Obj, Obj]:
    """
    Return a pod that runs, and its status.

    :param owner: the ReplicaSet, as the server has it
    """
    template = owner["spec"]["template"]
    meta = {
        "name": which.name,
        "namespace": which.namespace,
        "labels": template["metadata"]["labels"],
        "ownerReferences": [_owner("ReplicaSet", owner)],
    }
    image = {"image": template["spec"]["containers"][0]["image"], "imageID": f"sha256:{which.number:064}"}
    state = {"running": {"startedAt": _SINCE}}
    container = {"name": "main", "ready": True, "started": True, "restartCount": 0, "state": state, **image}
    ip = f"10.{1 + which.number // 62500}.{which.number // 250 % 250}.{which.number % 250 + 1}"
    status = {
        "phase": "Running",
        "conditions": conditions(_SINCE, ready=True),
        "hostIP": _node_ip(which.node),
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "startTime": _SINCE,
        "containerStatuses": [container],
    }
    return {"metadata": meta, "spec": {**template["spec"], "nodeName": node_name}}, status


def conditions(since: str, *, ready: bool) -> list[Obj]:
    """Return the conditions of a running pod. `since` is the time at which it became ready, or not ready."""
    others = ("PodScheduled", "Initialized", "ContainersReady")
    fixed = [{"type": type_, "status": "True", "lastTransitionTime": _SINCE} for type_ in others]
    return [*fixed, {"type": "Ready", "status": str(ready), "lastTransitionTime": since}]


def service(app: App, name: str) -> Obj:
    port = {"name": "http", "port": 80, "targetPort": 8080}
    meta = {"name": name, "namespace": app.team, "labels": app.labels}
    return {"metadata": meta, "spec": {"selector": app.labels, "ports": [port]}}


def budget(app: App) -> Obj:
    spec = {"minAvailable": "50%", "selector": {"matchLabels": app.labels}}
    return {"metadata": {"name": app.name, "namespace": app.team}, "spec": spec}


def quota(team: str) -> Obj:
    return {
        "metadata": {"name": "quota", "namespace": team},
        "spec": {"hard": {"pods": "500k", "requests.cpu": "500k"}},
    }


def _template(labels: dict[str, str], revision: int) -> Obj:
    requests = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    probe = {"httpGet": {"path": "/ready", "port": 8080}}
    env = [{"name": f"SETTING_{index}", "value": f"value-{index}"} for index in range(10)]
    main = {"name": "main", "image": f"registry.example/app:{revision}", "resources": requests, "env": env}
    main |= {"readinessProbe": probe, "ports": [{"containerPort": 8080}]}
    return {"metadata": {"labels": labels}, "spec": {"containers": [main]}}


def _owner(kind: str, obj: Obj) -> Obj:
    meta = obj["metadata"]
    who = {"apiVersion": "apps/v1", "kind": kind, "name": meta["name"], "uid": meta["uid"]}
    return {**who, "controller": True, "blockOwnerDeletion": True}


def _node_ip(index: int) -> str:
    return f"172.{16 + index // 62500}.{index // 250 % 250}.{index % 250 + 1}"
