from __future__ import annotations

import pytest

from tests.envtest.access.conftest import ROLES, bind, bind_cluster_role
from tests.envtest.conftest import Http

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
RULES = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
READ = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]}


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
    await bind_cluster_role(http, "view")
    assert (await http("GET", "/api/v1/namespaces/kube-system/configmaps", **account))[0] == 200
    assert (await http("GET", "/api/v1/pods", **account))[0] == 200
    assert (await http("DELETE", f"{CONFIG_MAPS}/a", **account))[0] == 403


#: What each built-in role lets somebody do in a namespace.
BUILT_IN = {
    ("get", "", "configmaps"): "view edit admin",
    ("list", "apps", "deployments"): "view edit admin",
    ("get", "", "secrets"): "edit admin",
    ("create", "", "pods"): "edit admin",
    ("create", "", "pods/exec"): "edit admin",
    ("impersonate", "", "serviceaccounts"): "edit admin",
    ("update", "", "resourcequotas"): "",
    ("patch", "", "pods/status"): "",
    ("list", "", "nodes"): "",
    ("create", "rbac.authorization.k8s.io", "roles"): "admin",
    ("get", "rbac.authorization.k8s.io", "rolebindings"): "admin",
    ("delete", "", "namespaces"): "",
}


@pytest.mark.parametrize("role", ["view", "edit", "admin", "cluster-admin"])
async def test_built_in_roles_allow_what_they_do_in_kubernetes(http: Http, account: dict[str, str], role: str) -> None:
    await bind_cluster_role(http, role, namespace="default")
    for (verb, group, resource), who in BUILT_IN.items():
        plural, _, part = resource.partition("/")
        attributes = {"verb": verb, "group": group, "resource": plural, "subresource": part, "namespace": "default"}
        _, review = await http("POST", REVIEWS, {"spec": {"resourceAttributes": attributes}}, **account)
        expected = role == "cluster-admin" or role in who.split()
        assert review["status"] == {"allowed": expected}, (role, verb, resource)


async def test_a_role_gathers_those_that_are_labelled_for_it(http: Http, account: dict[str, str]) -> None:
    selectors = [{"matchLabels": {"gather": "yes"}}]
    body = {"metadata": {"name": "all"}, "aggregationRule": {"clusterRoleSelectors": selectors}}
    await http.create(f"{ROLES}/clusterroles", body)
    await bind_cluster_role(http, "all")
    await bind_cluster_role(http, "view")
    assert (await http("GET", "/api/v1/nodes", **account))[0] == 403
    rules = [{"verbs": ["list"], "apiGroups": [""], "resources": ["nodes"]}]
    await http.create(f"{ROLES}/clusterroles", {"metadata": {"name": "n", "labels": {"gather": "yes"}}, "rules": rules})
    assert (await http("GET", "/api/v1/nodes", **account))[0] == 200

    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    rules = [{"verbs": ["list"], "apiGroups": ["storage.k8s.io"], "resources": ["*"]}]
    assert (await http("GET", "/apis/storage.k8s.io/v1/storageclasses", **account))[0] == 403
    await http.create(f"{ROLES}/clusterroles", {"metadata": {"name": "s", "labels": labels}, "rules": rules})
    assert (await http("GET", "/apis/storage.k8s.io/v1/storageclasses", **account))[0] == 200


async def test_roles_that_gather_each_other_do_not_gather_for_ever(http: Http, account: dict[str, str]) -> None:
    for name in ("a", "b"):
        aggregation = {"clusterRoleSelectors": [{"matchLabels": {"x": "y"}}]}
        body = {"metadata": {"name": name, "labels": {"x": "y"}}, "aggregationRule": aggregation}
        await http.create(f"{ROLES}/clusterroles", body)
    await bind_cluster_role(http, "a")
    assert (await http("GET", "/api/v1/nodes", **account))[0] == 403


async def test_a_name_that_a_field_selector_asks_for_counts_as_a_name(http: Http, account: dict[str, str]) -> None:
    await bind(http, {"verbs": ["*"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"]})
    for query, code in (("", 403), ("?fieldSelector=metadata.name=a", 200), ("?fieldSelector=metadata.name=b", 403)):
        assert (await http("GET", CONFIG_MAPS + query, **account))[0] == code
        assert (await http("DELETE", CONFIG_MAPS + query, **account))[0] == code
    assert (await http("GET", f"{CONFIG_MAPS}?fieldSelector=metadata.name", **account))[0] == 403


async def test_an_update_that_creates_needs_the_right_to_create(http: Http, account: dict[str, str]) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    rule = {"verbs": ["update", "patch"], "apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    await bind(http, rule)
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}}
    apply = "application/apply-patch+yaml"
    for method, query, type_ in (("PUT", "", "application/json"), ("PATCH", "?fieldManager=m", apply)):
        code, refused = await http(method, f"{path}/a{query}", lease, type_, **account)
        assert code == 403
        assert 'cannot create resource "leases"' in refused["message"]
    created = await http.create(path, lease)
    assert (await http("PUT", f"{path}/a", created, **account))[0] == 200
    assert (await http("PATCH", f"{path}/a?fieldManager=m", lease, apply, **account))[0] == 200


async def test_a_review_answers_for_paths_too(http: Http, account: dict[str, str]) -> None:
    rules = [{"verbs": ["get"], "nonResourceURLs": ["/metrics", "/debug/*"]}]
    await http.create(f"{ROLES}/clusterroles", {"metadata": {"name": "p"}, "rules": rules})
    await bind_cluster_role(http, "p")
    for path, allowed in (("/metrics", True), ("/debug/x", True), ("/metrics/x", False), ("/apis", True)):
        spec = {"nonResourceAttributes": {"path": path, "verb": "get"}}
        _, review = await http("POST", REVIEWS, {"spec": spec}, **account)
        assert review["status"] == {"allowed": allowed}, path
    _, rules_review = await http("POST", RULES, {"spec": {"namespace": "default"}}, **account)
    assert rules[0] in rules_review["status"]["nonResourceRules"]
