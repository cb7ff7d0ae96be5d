"""Nobody gives rights that he does not have."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.envtest.access.escalation import missing, shown
from tests.envtest.access.conftest import ROLES, bind, bind_cluster_role, binding
from tests.envtest.conftest import Http

GROUP = "rbac.authorization.k8s.io"
WRITE_ROLES = {
    "verbs": ["create", "update", "patch", "get"],
    "apiGroups": [GROUP],
    "resources": ["roles", "rolebindings"],
}
READ_PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}
LOCAL = f"{ROLES}/namespaces/default"


def rule(*verbs: str, resources: tuple[str, ...] = ("pods",), **more: Any) -> dict[str, Any]:
    return {"verbs": list(verbs), "apiGroups": [""], "resources": list(resources), **more}


async def test_a_role_with_more_rights_than_its_writers_is_refused(http: Http, account: dict[str, str]) -> None:
    await bind(http, WRITE_ROLES)
    code, refused = await http(
        "POST", f"{LOCAL}/roles", {"metadata": {"name": "x"}, "rules": [rule("list", "get")]}, **account
    )
    groups = '["system:serviceaccounts" "system:serviceaccounts:default" "system:authenticated"]'
    why = f'user "system:serviceaccount:default:reader" (groups={groups}) is attempting to grant RBAC permissions '
    lacking = 'not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["list" "get"]}'
    assert (code, refused["message"]) == (403, f'roles.{GROUP} "x" is forbidden: {why}{lacking}')


@pytest.mark.parametrize("how", ["holding the rights", "escalate"])
async def test_a_role_is_written_by_who_has_its_rights_or_may_escalate(
    http: Http, account: dict[str, str], how: str
) -> None:
    await bind(http, WRITE_ROLES)
    escalate = {"verbs": ["escalate"], "apiGroups": [GROUP], "resources": ["roles"]}
    await bind(http, READ_PODS if how == "holding the rights" else escalate, "more")
    body = {"metadata": {"name": "x"}, "rules": [rule("get")]}
    assert (await http("POST", f"{LOCAL}/roles", body, **account))[0] == 201
    patch = "application/merge-patch+json"
    wide = {"rules": [rule("*")]}
    expected = 403 if how == "holding the rights" else 200
    assert (await http("PATCH", f"{LOCAL}/roles/x", wide, patch, **account))[0] == expected


async def test_a_role_of_others_can_lose_its_finalizers(http: Http, account: dict[str, str]) -> None:
    await bind(http, WRITE_ROLES)
    body = {"metadata": {"name": "x", "finalizers": ["a.b/c"]}, "rules": [rule("*")]}
    await http.create(f"{LOCAL}/roles", body)
    patch = "application/merge-patch+json"
    code, _ = await http("PATCH", f"{LOCAL}/roles/x", {"metadata": {"finalizers": None}}, patch, **account)
    assert code == 200
    code, _ = await http("PATCH", f"{LOCAL}/roles/x", {"metadata": {"labels": {"a": "b"}}}, patch, **account)
    assert code == 403


@pytest.mark.parametrize("place", ["namespace", "cluster"])
async def test_a_binding_to_more_rights_than_its_writers_is_refused(
    http: Http, account: dict[str, str], place: str
) -> None:
    path = f"{LOCAL}/rolebindings" if place == "namespace" else f"{ROLES}/clusterrolebindings"
    rules = [{"verbs": ["create"], "apiGroups": [GROUP], "resources": ["rolebindings", "clusterrolebindings"]}]
    await http.create(f"{ROLES}/clusterroles", {"metadata": {"name": "binder"}, "rules": rules})
    await bind_cluster_role(http, "binder")

    code, refused = await http("POST", path, binding("mine", "ClusterRole", "cluster-admin"), **account)

    assert code == 403
    assert 'Resources:["*"], Verbs:["*"]' in refused["message"]
    assert (await http("GET", "/api/v1/namespaces/default/secrets", **account))[0] == 403
    assert (await http("POST", path, binding("mine", "ClusterRole", "none"), **account))[0] == 404
    rules = [{"verbs": ["bind"], "apiGroups": [GROUP], "resources": ["clusterroles"], "resourceNames": ["view"]}]
    await http.create(f"{ROLES}/clusterroles", {"metadata": {"name": "viewers"}, "rules": rules})
    await bind_cluster_role(http, "viewers")
    assert (await http("POST", path, binding("mine", "ClusterRole", "view"), **account))[0] == 201
    assert (await http("POST", path, binding("other", "ClusterRole", "edit"), **account))[0] == 403


async def test_only_who_may_do_everything_has_roles_gathered(http: Http, account: dict[str, str]) -> None:
    rules = [{"verbs": ["create"], "apiGroups": [GROUP], "resources": ["clusterroles"]}]
    await http.create(f"{ROLES}/clusterroles", {"metadata": {"name": "writer"}, "rules": rules})
    await bind_cluster_role(http, "writer")
    aggregation = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    body = {"metadata": {"name": "x"}, "aggregationRule": aggregation}
    code, refused = await http("POST", f"{ROLES}/clusterroles", body, **account)
    assert (code, "must have cluster-admin privileges" in refused["message"]) == (403, True)
    await bind_cluster_role(http, "cluster-admin")
    assert (await http("POST", f"{ROLES}/clusterroles", body, **account))[0] == 201


COVERED = [
    ([rule("get")], [rule("get")], 0),
    ([rule("*")], [rule("get", "list")], 0),
    ([rule("get")], [rule("get", "list")], 1),
    ([rule("get", resources=("*",))], [rule("get", resources=("pods", "pods/log"))], 0),
    ([rule("get", resources=("*/log",))], [rule("get", resources=("pods", "pods/log"))], 1),
    ([rule("get", resourceNames=["a"])], [rule("get", resourceNames=["a"])], 0),
    ([rule("get", resourceNames=["a"])], [rule("get")], 1),
    ([rule("get")], [rule("get", resourceNames=["a", "b"])], 0),
    ([{"verbs": ["get"], "nonResourceURLs": ["/a/*"]}], [{"verbs": ["get"], "nonResourceURLs": ["/a/b", "/b"]}], 1),
]


@pytest.mark.parametrize(("held", "wanted", "lacking"), COVERED)
def test_rules_cover_others(held: list[dict[str, Any]], wanted: list[dict[str, Any]], lacking: int) -> None:
    assert len(missing(held, wanted)) == lacking


def test_rules_that_differ_in_their_verbs_are_told_as_one() -> None:
    lacking = missing([], [rule("get", "list", resources=("a", "b"), resourceNames=["n"])])
    assert shown(lacking) == [
        f'{{APIGroups:[""], Resources:["{name}"], ResourceNames:["n"], Verbs:["get" "list"]}}' for name in "ab"
    ]
