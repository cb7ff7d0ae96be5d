"""Parts of objects of many kinds, and the paths of their groups."""

from __future__ import annotations

from typing import Any

from tests.envtest.conftest import Http

__all__ = (
    "AUTOSCALERS",
    "CONTAINERS",
    "LIMIT",
    "NETWORKING",
    "RBAC",
    "ROLE_GROUP",
    "STORAGE",
    "TOLD_LIMIT",
    "named",
    "refused",
    "template",
    "workload",
)

CONTAINERS = [{"name": "c", "image": "i"}]
LIMIT = {"resourceFieldRef": {"resource": "limits.cpu"}}
TOLD_LIMIT = {"path": "p", "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}}
NETWORKING = "/apis/networking.k8s.io/v1"
STORAGE = "/apis/storage.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
AUTOSCALERS = "namespaces/default/horizontalpodautoscalers"
ROLE_GROUP = "rbac.authorization.k8s.io"


def named(name: str, **rest: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **rest}


def template(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS, **spec}}


def workload(name: str, pods: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return named(name, spec={"selector": {"matchLabels": {"a": "b"}}, "template": pods, **spec})


async def refused(http: Http, path: str, body: Any, method: str = "POST") -> list[tuple[str, str]]:
    """The fields that a write is refused for, and why."""
    type_ = "application/merge-patch+json" if method == "PATCH" else "application/json"
    code, answer = await http(method, path, body, type_)
    assert code == 422, answer
    return [(cause["field"], cause["reason"].removeprefix("FieldValue")) for cause in answer["details"]["causes"]]
