from __future__ import annotations

from typing import Any

import pytest

from tests.envtest.conftest import Http

ROLES = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
READ = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]}


@pytest.fixture
async def account(http: Http) -> dict[str, str]:
    """The headers of a service account that may do nothing yet."""
    await http.create(ACCOUNTS, {"metadata": {"name": "reader"}})
    code, token = await http("POST", f"{ACCOUNTS}/reader/token", {"spec": {"expirationSeconds": 600}})
    assert code == 201
    return {"Authorization": f"Bearer {token['status']['token']}"}


async def bind(http: Http, role: dict[str, Any]) -> None:
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": "default"}
    await http.create(f"{ROLES}/namespaces/default/roles", {"metadata": {"name": "r"}, "rules": [role]})
    reference = {"kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "b"}, "subjects": [subject], "roleRef": reference}
    await http.create(f"{ROLES}/namespaces/default/rolebindings", binding)


async def test_who_has_no_role_may_do_nothing(http: Http, account: dict[str, str]) -> None:
    code, refused = await http("GET", CONFIG_MAPS, **account)
    assert code == 403
    assert refused["message"] == (
        'configmaps is forbidden: User "system:serviceaccount:default:reader" cannot list resource "configmaps" '
        'in API group "" in the namespace "default"'
    )


async def test_a_role_allows_what_it_says_where_it_is_bound(http: Http, account: dict[str, str]) -> None:
    await bind(http, READ)
    assert (await http("GET", CONFIG_MAPS, **account))[0] == 200
    assert (await http("POST", CONFIG_MAPS, {"metadata": {"name": "a"}}, **account))[0] == 403
    assert (await http("GET", "/api/v1/namespaces/kube-system/configmaps", **account))[0] == 403
    assert (await http("GET", "/api/v1/nodes", **account))[0] == 403


async def test_a_role_can_be_for_some_names_only(http: Http, account: dict[str, str]) -> None:
    await bind(http, {**READ, "resourceNames": ["a"]})
    await http.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
    assert (await http("GET", f"{CONFIG_MAPS}/a", **account))[0] == 200
    assert (await http("GET", f"{CONFIG_MAPS}/b", **account))[0] == 403


async def test_a_review_says_what_a_request_would_meet(http: Http, account: dict[str, str]) -> None:
    await bind(http, READ)
    for verb, allowed in (("list", True), ("delete", False)):
        attributes = {"verb": verb, "resource": "configmaps", "namespace": "default"}
        _, review = await http("POST", REVIEWS, {"spec": {"resourceAttributes": attributes}}, **account)
        assert review["status"] == {"allowed": allowed}


async def test_a_cluster_role_reaches_everywhere(http: Http, account: dict[str, str]) -> None:
    subject = {"kind": "Group", "name": "system:serviceaccounts"}
    reference = {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "b"}, "subjects": [subject], "roleRef": reference}
    await http.create(f"{ROLES}/clusterrolebindings", binding)
    assert (await http("GET", "/api/v1/nodes", **account))[0] == 200
    assert (await http("DELETE", f"{CONFIG_MAPS}/a", **account))[0] == 403
