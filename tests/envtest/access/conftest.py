"""A service account that may do nothing yet, and ways to give it rights."""

from __future__ import annotations

from typing import Any

import pytest

from tests.envtest.conftest import Http

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
SUBJECT = {"kind": "ServiceAccount", "name": "reader", "namespace": "default"}


@pytest.fixture
async def account(http: Http) -> dict[str, str]:
    """The headers of a service account that may do nothing yet."""
    await http.create(ACCOUNTS, {"metadata": {"name": "reader"}})
    code, token = await http("POST", f"{ACCOUNTS}/reader/token", {"spec": {"expirationSeconds": 600}})
    assert code == 201
    return {"Authorization": f"Bearer {token['status']['token']}"}


def binding(name: str, kind: str, role: str) -> dict[str, Any]:
    reference = {"kind": kind, "name": role, "apiGroup": "rbac.authorization.k8s.io"}
    return {"metadata": {"name": name}, "subjects": [SUBJECT], "roleRef": reference}


async def bind(http: Http, role: dict[str, Any], name: str = "r") -> None:
    """Give the account a rule in its namespace."""
    await http.create(f"{ROLES}/namespaces/default/roles", {"metadata": {"name": name}, "rules": [role]})
    await http.create(f"{ROLES}/namespaces/default/rolebindings", binding(name, "Role", name))


async def bind_cluster_role(http: Http, role: str, namespace: str = "") -> None:
    """Give the account a ClusterRole, in one namespace or everywhere."""
    place = f"namespaces/{namespace}/rolebindings" if namespace else "clusterrolebindings"
    await http.create(f"{ROLES}/{place}", binding(f"the-{role}", "ClusterRole", role))
