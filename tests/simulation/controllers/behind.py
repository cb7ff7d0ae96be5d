"""Controllers that destroy because of what their cache does not show, with a cache that does not show it.

Each case has something alive, and plans that keep the sign of its life from the controller: an event that never comes,
a watch that says nothing, a network that is gone. Nothing may be deleted, evicted or marked that is not without faults.
"""

from __future__ import annotations

from typing import Any

from tests.simulation.controllers.catalogue import Case

__all__ = ("BEHIND",)

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


def _pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": _CONTAINERS, **spec}}


def _taints(*taints: dict[str, str]) -> dict[str, Any]:
    return {"patch": {"kind": "Node", "name": "n", "type": "merge", "body": {"spec": {"taints": list(taints)}}}}


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
            {"delete": {"kind": "PersistentVolumeClaim", "name": "c"}},
            {"sleep": 300},
        ],
        plans=("seed=0 hide(manager,pods/case/p,event=1,seconds=120)",),
    ),
    Case(
        "legacy-token-cleaner-behind",
        ["legacy-service-account-token-cleaner"],
        [
            {
                "create": {
                    "apiVersion": "v1",
                    "kind": "ServiceAccount",
                    "metadata": {"name": "bot"},
                    "secrets": [{"name": "old"}],
                }
            },
            {"legacy_token": {"account": "bot", "name": "old"}},
            {"create": _pod(nodeName="n", volumes=[{"name": "v", "secret": {"secretName": "old"}}])},
            {"sleep": 5 * 24 * 3600},
        ],
        options={"legacy_service_account_token_clean_up_period": 3600.0},
        plans=("seed=0 hide(manager,pods/case/p,event=1,seconds=280000)",),
    ),
)
