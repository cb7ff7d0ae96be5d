"""What a request is about, from its method and path."""

from __future__ import annotations

import pytest

from kinformer.meta.requests import about


@pytest.mark.parametrize(
    ("method", "path", "verb", "name"),
    [
        ("GET", "/api/v1/pods?watch=true&resourceVersion=5", "watch", "pods"),
        ("GET", "/api/v1/pods?resourceVersion=0", "list", "pods"),
        ("GET", "/api/v1/namespaces/default/pods", "list", "pods/default"),
        ("POST", "/api/v1/namespaces/default/pods", "create", "pods/default"),
        ("PUT", "/apis/apps/v1/namespaces/default/deployments/web", "update", "deployments.apps/default/web"),
        ("PATCH", "/api/v1/namespaces/default/pods/web/status", "patch", "pods/default/web"),
        ("DELETE", "/api/v1/namespaces/default/pods/web", "delete", "pods/default/web"),
        ("DELETE", "/api/v1/namespaces/default/pods", "deletecollection", "pods/default"),
        ("GET", "/api/v1/nodes/n1", "get", "nodes/n1"),
        ("GET", "/api/v1/namespaces/default", "get", "namespaces/default"),
        ("PUT", "/api/v1/namespaces/default/finalize", "update", "namespaces/default"),
        ("GET", "/version", "get", "version"),
    ],
)
def test_verb_and_object_are_read_from_a_request(method: str, path: str, verb: str, name: str) -> None:
    found = about(method, path)

    assert (found.verb, found.object) == (verb, name)


@pytest.mark.parametrize(
    ("method", "path", "counts"),
    [
        ("POST", "/api/v1/namespaces/default/pods", True),
        ("PATCH", "/api/v1/namespaces/default/pods/web/status", True),
        ("GET", "/api/v1/namespaces/default/pods/web", False),
        ("POST", "/api/v1/namespaces/default/events", False),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/manager", False),
    ],
)
def test_events_and_leases_are_no_writes_that_are_counted(method: str, path: str, counts: bool) -> None:
    assert about(method, path).is_counted is counts
