"""Writes of a status: what of the rest of an object goes with it, and what stays as it is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.definitions import DEFINITIONS, definition
from tests.envtest.conftest import Http

NAMESPACE = "/namespaces/default"
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SELECTING = {"selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE}
JOB = {"template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}}
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
#: Kinds whose status brings labels and annotations along, with the kind's spec.
OPEN = {
    f"/apis/apps/v1{NAMESPACE}/replicasets": SELECTING,
    f"/apis/apps/v1{NAMESPACE}/statefulsets": {**SELECTING, "serviceName": "s"},
    f"/apis/apps/v1{NAMESPACE}/daemonsets": SELECTING,
    f"/apis/batch/v1{NAMESPACE}/jobs": JOB,
    f"/apis/batch/v1{NAMESPACE}/cronjobs": {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}},
    f"/apis/policy/v1{NAMESPACE}/poddisruptionbudgets": {"minAvailable": 1},
    f"/api/v1{NAMESPACE}/replicationcontrollers": {"template": TEMPLATE},
    "/api/v1/nodes": {},
}
DEPLOYMENTS = f"/apis/apps/v1{NAMESPACE}/deployments"
PODS = f"/api/v1{NAMESPACE}/pods"
MERGE = "application/merge-patch+json"
CHANGE = {"labels": {"l": "1"}, "annotations": {"deployment.kubernetes.io/revision": "1"}}


async def write(http: Http, method: str, path: str, created: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Write a status with some metadata beside it, as a whole object or as a patch."""
    if method == "PUT":
        body = {**created, "metadata": {**created["metadata"], **change["metadata"]}, "status": change["status"]}
        code, written = await http("PUT", f"{path}/x/status", body)
        assert code == 200, written
        return dict(written)
    return dict(await http.merge(f"{path}/x/status", change))


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_deployments_status_brings_annotations_and_no_labels(http: Http, method: str) -> None:
    created = await http.create(DEPLOYMENTS, {"metadata": {"name": "x", "labels": {"a": "b"}}, "spec": SELECTING})
    change = {"metadata": CHANGE, "spec": {"replicas": 9}, "status": {"observedGeneration": 1}}

    written = await write(http, method, DEPLOYMENTS, created, change)

    assert written["metadata"]["annotations"] == CHANGE["annotations"]
    assert written["metadata"]["labels"] == {"a": "b"}
    assert (written["spec"], written["metadata"]["generation"]) == (created["spec"], 1)
    assert written["status"]["observedGeneration"] == 1


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize("path", OPEN)
async def test_most_statuses_bring_the_metadata_of_the_request(http: Http, path: str, method: str) -> None:
    created = await http.create(path, {"metadata": {"name": "x"}, "spec": OPEN[path]})

    written = await write(http, method, path, created, {"metadata": CHANGE, "status": {}})

    metadata = written["metadata"]
    assert CHANGE["labels"].items() <= metadata["labels"].items()
    assert CHANGE["annotations"].items() <= metadata["annotations"].items()
    assert written["spec"] == created["spec"]
    assert metadata.get("generation") == created["metadata"].get("generation")


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_pods_status_brings_everything_but_owners(http: Http, method: str) -> None:
    created = await http.create(PODS, {"metadata": {"name": "x"}, "spec": TEMPLATE["spec"]})
    change = {"metadata": {**CHANGE, "ownerReferences": [OWNER]}, "status": {"phase": "Running"}}

    written = await write(http, method, PODS, created, change)

    assert (written["metadata"]["labels"], "ownerReferences" in written["metadata"]) == (CHANGE["labels"], False)
    assert (written["status"]["phase"], written["status"]["qosClass"]) == ("Running", "BestEffort")


async def test_a_custom_resources_status_brings_nothing_else(http: Http) -> None:
    await http.create(DEFINITIONS, definition("widgets", "Widget", "a.b", subresources={"status": {}}))
    path = f"/apis/a.b/v1{NAMESPACE}/widgets"
    await http.create(path, {"apiVersion": "a.b/v1", "kind": "Widget", "metadata": {"name": "x"}})

    written = await http.merge(f"{path}/x/status", {"metadata": CHANGE, "status": {"a": 1}})

    assert {"labels", "annotations"}.isdisjoint(written["metadata"])
    assert written["status"] == {"a": 1}


async def test_a_status_may_take_out_the_last_finalizer(http: Http) -> None:
    path = f"/api/v1{NAMESPACE}/replicationcontrollers"
    await http.create(path, {"metadata": {"name": "x", "finalizers": ["a.b/c"]}, "spec": {"template": TEMPLATE}})
    await http("DELETE", f"{path}/x?propagationPolicy=Background")

    await http.merge(f"{path}/x/status", {"metadata": {"finalizers": None}})

    assert (await http("GET", f"{path}/x"))[0] == 404


async def test_what_annotations_a_status_brings_belongs_to_who_wrote_it(http: Http) -> None:
    await http.create(DEPLOYMENTS, {"metadata": {"name": "x"}, "spec": SELECTING})

    written = await http.merge(f"{DEPLOYMENTS}/x/status?fieldManager=manager", {"metadata": CHANGE})

    (entry,) = [one for one in written["metadata"]["managedFields"] if one["manager"] == "manager"]
    assert (entry["subresource"], list(entry["fieldsV1"]["f:metadata"])) == ("status", ["f:annotations"])


async def test_nobody_sets_the_generation_or_the_time_of_an_object(http: Http) -> None:
    created = await http.create(DEPLOYMENTS, {"metadata": {"name": "x"}, "spec": SELECTING})
    claim = {"generation": 7, "creationTimestamp": "2001-01-01T00:00:00Z"}

    for path in ("", "/status"):
        written = await http.merge(f"{DEPLOYMENTS}/x{path}", {"metadata": claim})
        assert {name: written["metadata"][name] for name in claim} == {n: created["metadata"][n] for n in claim}


# -- where load balancers are ---------------------------------------------------------------------------------------


SERVICES = f"/api/v1{NAMESPACE}/services"
INGRESSES = f"/apis/networking.k8s.io/v1{NAMESPACE}/ingresses"
BACKEND = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}


async def causes(http: Http, path: str, point: dict[str, Any]) -> list[tuple[str, str]]:
    change = {"status": {"loadBalancer": {"ingress": [point]}}}
    code, answer = await http("PATCH", f"{path}/x/status", change, "application/merge-patch+json")
    return [] if code == 200 else [(one["field"], one["message"]) for one in answer["details"]["causes"]]


@pytest.mark.parametrize("type_", ["ClusterIP", "NodePort"])
async def test_only_a_service_of_that_type_has_a_load_balancer(http: Http, type_: str) -> None:
    await http.create(SERVICES, {"metadata": {"name": "x"}, "spec": {"type": type_, "ports": [{"port": 80}]}})

    told = await causes(http, SERVICES, {"ip": "192.0.2.7"})

    why = "Forbidden: may only be used when `spec.type` is 'LoadBalancer'"
    assert told == [("status.loadBalancer.ingress", why)]


POINTS = [
    ({"ip": "192.0.2.7"}, ()),
    ({"hostname": "a.b"}, ()),
    ({"ip": "x"}, ("ip",)),
    ({"hostname": "192.0.2.7"}, ("hostname",)),
    ({"hostname": "A_B"}, ("hostname",)),
]
MODES = [
    ({"hostname": "a.b", "ipMode": "VIP"}, ("ipMode",)),
    ({"ip": "192.0.2.7", "ipMode": "Other"}, ("ipMode",)),
    ({"ip": "192.0.2.7", "ipMode": "Proxy"}, ()),
]


@pytest.mark.parametrize(("point", "wrong"), [*POINTS, *MODES])
async def test_where_a_services_load_balancer_is_is_checked(
    http: Http, point: dict[str, Any], wrong: tuple[str, ...]
) -> None:
    await http.create(SERVICES, {"metadata": {"name": "x"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}})

    told = await causes(http, SERVICES, point)

    assert [field for field, _ in told] == [f"status.loadBalancer.ingress[0].{name}" for name in wrong]


@pytest.mark.parametrize(("point", "wrong"), POINTS)
async def test_where_an_ingress_is_reached_is_checked(
    http: Http, point: dict[str, Any], wrong: tuple[str, ...]
) -> None:
    await http.create(INGRESSES, {"metadata": {"name": "x"}, "spec": BACKEND})

    told = await causes(http, INGRESSES, point)

    assert [field for field, _ in told] == [f"status.loadBalancer.ingress[0].{name}" for name in wrong]


GOOD = {"type": "X", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("conditions", "field", "reason"),
    [
        ([{**GOOD, "type": "X y"}], "[0].type", "FieldValueInvalid"),
        ([{**GOOD, "status": "Maybe"}], "[0].status", "FieldValueNotSupported"),
        ([{**GOOD, "observedGeneration": -1}], "[0].observedGeneration", "FieldValueInvalid"),
        ([{**GOOD, "lastTransitionTime": None}], "[0].lastTransitionTime", "FieldValueRequired"),
        ([{**GOOD, "reason": ""}], "[0].reason", "FieldValueRequired"),
        ([{**GOOD, "reason": "a b"}], "[0].reason", "FieldValueInvalid"),
        ([GOOD, GOOD], "[1].type", "FieldValueDuplicate"),
    ],
)
async def test_a_budgets_conditions_are_checked(http: Http, conditions: Any, field: str, reason: str) -> None:
    path = f"/apis/policy/v1{NAMESPACE}/poddisruptionbudgets"
    await http.create(path, {"metadata": {"name": "x"}, "spec": {"minAvailable": 1}})

    code, refused = await http("PATCH", f"{path}/x/status", {"status": {"conditions": conditions}}, MERGE)

    (cause,) = refused["details"]["causes"]
    assert (code, cause["field"], cause["reason"]) == (422, f"status.conditions{field}", reason)
    await http.merge(f"{path}/x/status", {"status": {"conditions": [GOOD]}})


@pytest.mark.parametrize(
    ("status", "field"),
    [
        ({"conditions": [{"type": "bad type", "status": "True"}]}, "conditions[0].Type"),
        ({"conditions": [{"type": "Ready", "observedGeneration": -1}]}, "conditions[0].observedGeneration"),
        ({"observedGeneration": -1}, "observedGeneration"),
    ],
)
async def test_a_pods_conditions_are_checked(http: Http, status: Any, field: str) -> None:
    await http.create(PODS, {"metadata": {"name": "x"}, "spec": TEMPLATE["spec"]})

    code, refused = await http("PATCH", f"{PODS}/x/status", {"status": status}, MERGE)

    assert (code, [cause["field"] for cause in refused["details"]["causes"]]) == (422, [f"status.{field}"])
