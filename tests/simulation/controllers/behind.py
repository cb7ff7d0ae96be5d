"""Controllers that destroy because of what their cache does not show, with a cache that does not show it.

Each case has something alive, and plans that keep the sign of its life from the controller: an event that never comes,
a watch that says nothing, a network that is gone. Nothing may be deleted, evicted or marked that is not without faults.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinformer.client import AlreadyExists
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap, V1ObjectMeta
from kinformer_controllers.noderoute.controller import NodeRouteController
from kinformer_controllers.shared.cloud.interface import Route
from tests.golden.controllers import SCENARIOS
from tests.golden.scenario import Scenario
from tests.simulation.controllers import csi
from tests.simulation.controllers.case import Case
from tests.simulation.controllers.steps import NAMESPACE
from tests.simulation.controllers.writes import create, delete, patch

__all__ = ("BEHIND", "make_route")


class _RoutesAsConfigMaps:
    """A cloud whose routes are objects of the server, so that a route that was deleted is missed at the end."""

    def __init__(self, context: ControllerContext) -> None:
        self._maps = context.client.resource(V1ConfigMap)

    async def list_routes(self, cluster: str) -> Sequence[Route]:
        found = (await self._maps.list(NAMESPACE)).items
        return [Route(each.metadata.name, **each.data) for each in found if "destination_cidr" in (each.data or {})]

    async def create_route(self, cluster: str, name_hint: str, route: Route) -> None:
        data = {"target_node": route.target_node, "destination_cidr": route.destination_cidr}
        meta = V1ObjectMeta(name=f"route-{route.target_node}", namespace=NAMESPACE)
        try:
            await self._maps.create(V1ConfigMap(metadata=meta, data=data))
        except AlreadyExists:
            return

    async def delete_route(self, cluster: str, route: Route) -> None:
        await self._maps.delete(route.name, NAMESPACE)


def make_route(context: ControllerContext) -> Controller:
    """The route controller with this cloud."""
    context.options = {**context.options, "cluster_cidr": "10.244.0.0/16"}
    return NodeRouteController(context, _RoutesAsConfigMaps(context)).controller


_READY = {"type": "Ready", "status": "True", "reason": "K", "message": "m", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
_NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"kubernetes.io/os": "linux"}},
    "status": {"conditions": [_READY]},
}
_CONTAINERS = [{"name": "c", "image": "i"}]
_TAINT = {"key": "k", "effect": "NoExecute"}
_TOLERATED = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
_MOUNTED = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
_CLAIM: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "c"},
    "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "x", "resources": {"requests": {"storage": "1Gi"}}},
}


_REQUEST = next(step for step in Scenario.read(SCENARIOS / "csr_denied.json").steps if "create" in step)
_APPROVED = {"type": "Approved", "status": "True", "reason": "R"}
_TOKEN: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "type": "kubernetes.io/service-account-token",
    "metadata": {"name": "t", "annotations": {"kubernetes.io/service-account.name": "bot"}},
}
_ENDS = {"spec": {"restartPolicy": "Never", "containers": _CONTAINERS}}


def _pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": _CONTAINERS, **spec}}


def _taints(*taints: dict[str, str]) -> dict[str, Any]:
    return patch("Node", "n", spec={"taints": list(taints)})


BEHIND = (
    Case(
        "podgc-behind",
        ["podgc"],
        [{"create": [_NODE, _pod(nodeName="n")]}, {"run_pods": {}}, {"sleep": 300}],
        plans=("seed=0 hide(manager,nodes/n,event=1,seconds=3600)",),
    ),
    Case(
        "node-health-behind",
        ["nodelifecycle"],
        [{"create": [_NODE, _pod(nodeName="n")]}, {"run_pods": {}}, {"renew": {"node": "n", "seconds": 300}}],
        plans=(
            "seed=0 partition(manager,write=1,seconds=90)",
            "seed=1 partition(manager,write=1,seconds=200)",
            "seed=2 silent(manager,leases.coordination.k8s.io,event=3,seconds=150)",
        ),
    ),
    Case(
        "taint-eviction-behind",
        ["taint-eviction"],
        [
            {"create": [_NODE, _pod(nodeName="n", tolerations=[_TOLERATED])]},
            _taints(_TAINT),
            {"wait": 20},
            _taints(),
            {"sleep": 120},
        ],
        plans=(
            "seed=0 hide(manager,nodes/n,event=3,seconds=3600)",
            "seed=1 silent(manager,nodes,event=3,seconds=300)",
        ),
    ),
    Case(
        "pvc-protection-behind",
        ["pvc-protection"],
        [
            {"create": [_CLAIM, _pod(nodeName="n", volumes=_MOUNTED)]},
            {"wait": 20},
            delete("PersistentVolumeClaim", "c"),
            {"sleep": 300},
        ],
        plans=("seed=0 hide(manager,pods/case/p,event=1,seconds=120)",),
    ),
    Case(
        "legacy-token-cleaner-behind",
        ["legacy-service-account-token-cleaner"],
        [
            create("ServiceAccount", "bot", secrets=[{"name": "old"}]),
            {"legacy_token": {"account": "bot", "name": "old", "is_invalid": True}},
            {"create": _pod(nodeName="n", volumes=[{"name": "v", "secret": {"secretName": "old"}}])},
            {"sleep": 25 * 3600},
        ],
        options={"legacy_service_account_token_clean_up_period": 3600.0},
        plans=("seed=0 hide(manager,pods/case/p,event=1,seconds=89900)",),
    ),
    Case(
        "route-behind",
        ["tests.simulation.controllers.behind:make_route"],
        [
            {"create": {**_NODE, "spec": {"podCIDR": "10.244.1.0/24", "podCIDRs": ["10.244.1.0/24"]}}},
            create("ConfigMap", "route-n", data={"target_node": "n", "destination_cidr": "10.244.1.0/24"}),
            {"sleep": 120},
        ],
        plans=("seed=0 hide(manager,nodes/n,event=1,seconds=60)",),
    ),
    Case(
        "cloud-node-lifecycle-behind",
        ["cloud-node-lifecycle"],
        [
            # The cloud says of a node of such a name that it is gone.
            create("Node", "n-gone", status={"conditions": [{**_READY, "status": "False"}]}),
            patch("Node", "n-gone", type_="strategic", subresource="status", status={"conditions": [_READY]}),
            {"sleep": 120},
        ],
        plans=("seed=0 hide(manager,nodes/n-gone,event=2,seconds=60)",),
    ),
    Case(
        "csrcleaner-behind",
        ["csrcleaner"],
        [
            _REQUEST,
            {"wait": 23.5 * 3600},
            patch("CertificateSigningRequest", "${ns}-r", subresource="approval", status={"conditions": [_APPROVED]}),
            {"sleep": 3600},
        ],
        plans=("seed=0 hide(manager,certificatesigningrequests.certificates.k8s.io/case-r,event=2,seconds=3000)",),
    ),
    Case(
        "serviceaccount-token-behind",
        ["serviceaccount-token"],
        [
            {"create": [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bot"}}, _TOKEN]},
            {"sleep": 120},
        ],
        # Signatures have random numbers of OpenSSL's in them.
        may_differ=("secrets/*:data.token",),
        plans=("seed=0 hide(manager,serviceaccounts/case/bot,event=1,seconds=60)",),
    ),
    Case(
        "ttl-after-finished-behind",
        ["job", "ttl-after-finished"],
        [
            create("Job", "j", "batch/v1", spec={"ttlSecondsAfterFinished": 60, "template": _ENDS}),
            {"wait": 5},
            {"run_pods": {"phase": "Succeeded", "ready": False}},
            {"wait": 20},
            patch("Job", "j", spec={"ttlSecondsAfterFinished": 9000}),
            {"wait": 600},
        ],
        plans=("seed=0 silent(manager,jobs.batch,event=5,seconds=300)",),
    ),
    Case(
        "attachdetach-behind",
        ["attachdetach", "persistentvolume-binder", "tests.simulation.controllers.csi:make_driver"],
        [
            csi.node("n"),
            *csi.disk("shared", "ReadWriteMany"),
            {"sleep": 1},
            csi.pod("one", "n", "shared"),
            {"sleep": 1},
            csi.pod("two", "n", "shared"),
            delete("Pod", "one", gracePeriodSeconds=0),
            {"sleep": 130},
        ],
        begin=csi.begin,
        plans=("seed=0 hide(manager,pods/case/two,event=1,seconds=600)",),
    ),
)
