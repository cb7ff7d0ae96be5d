"""What the server does with objects, beyond what the recorded cases show."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from kinformer.envtest import ApiServer
from tests.definitions import DEFINITIONS, FREE, definition
from tests.envtest.conftest import Http

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
APPLY = "application/apply-patch+yaml"
CONTAINERS = [{"name": "c", "image": "i"}]


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"app": "a"}}, "spec": {"containers": CONTAINERS, **spec}}


# -- services ----------------------------------------------------------------------------------------------------------


async def test_each_service_has_an_address_and_ports_of_its_own(http: Http) -> None:
    spec = {"type": "NodePort", "ports": [{"port": 80}]}
    first = await http.create(SERVICES, {"metadata": {"name": "a"}, "spec": spec})
    second = await http.create(SERVICES, {"metadata": {"name": "b"}, "spec": spec})
    assert first["spec"]["clusterIP"] != second["spec"]["clusterIP"]
    assert first["spec"]["ports"][0]["nodePort"] != second["spec"]["ports"][0]["nodePort"]


async def test_an_address_that_is_taken_is_refused_until_it_is_free(http: Http) -> None:
    first = await http.create(SERVICES, {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}})
    wanted = {"clusterIP": first["spec"]["clusterIP"], "ports": [{"port": 80}]}
    code, refused = await http("POST", SERVICES, {"metadata": {"name": "b"}, "spec": wanted})
    assert code == 422
    assert "provided IP is already allocated" in refused["message"]
    await http("DELETE", f"{SERVICES}/a")
    await http.create(SERVICES, {"metadata": {"name": "b"}, "spec": wanted})


async def test_an_update_that_leaves_the_address_out_keeps_it(http: Http) -> None:
    created = await http.create(SERVICES, {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}})
    body = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 81}]}}
    code, updated = await http("PUT", f"{SERVICES}/a", body)
    assert (code, updated["spec"]["clusterIP"]) == (200, created["spec"]["clusterIP"])


async def test_nodes_tell_a_load_balancer_where_the_pods_are(http: Http) -> None:
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]}
    created = await http.create(SERVICES, {"metadata": {"name": "a"}, "spec": spec})
    port = created["spec"]["healthCheckNodePort"]
    assert port != created["spec"]["ports"][0]["nodePort"]
    moved = await http.merge(f"{SERVICES}/a", {"spec": {"externalTrafficPolicy": "Cluster"}})
    assert "healthCheckNodePort" not in moved["spec"]
    code, refused = await http(
        "POST", SERVICES, {"metadata": {"name": "b"}, "spec": {**spec, "type": "NodePort", "healthCheckNodePort": port}}
    )
    assert (code, refused["details"]["causes"][0]["field"]) == (422, "spec.healthCheckNodePort")


async def test_a_service_that_becomes_a_name_gives_back_all_that_it_had(http: Http) -> None:
    spec = {"type": "NodePort", "ports": [{"port": 80}]}
    await http.create(SERVICES, {"metadata": {"name": "a"}, "spec": spec})
    named = (await http.merge(f"{SERVICES}/a", {"spec": {"type": "ExternalName", "externalName": "a.b"}}))["spec"]
    assert {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "externalTrafficPolicy"}.isdisjoint(named)
    assert "nodePort" not in named["ports"][0]


async def test_node_ports_stay_with_the_names_of_ports(http: Http) -> None:
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    created = await http.create(SERVICES, {"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": ports}})
    given = {port["name"]: port["nodePort"] for port in created["spec"]["ports"]}
    body = {"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [{"name": "b", "port": 8080}]}}
    _, updated = await http("PUT", f"{SERVICES}/a", body)
    assert updated["spec"]["ports"][0]["nodePort"] == given["b"]


RANGES = ["spec.LoadBalancerSourceRanges", "spec.LoadBalancerSourceRanges[0]"]


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"externalIPs": ["nowhere", "127.0.0.1"]}, ["spec.externalIPs[0]", "spec.externalIPs[1]"]),
        ({"loadBalancerSourceRanges": ["10.0.0.0"]}, RANGES),
        ({"loadBalancerClass": "a.com/c"}, ["spec.loadBalancerClass"]),
        ({"ipFamilies": ["IPv5"]}, ["spec.ipFamilies[0]"]),
        ({"ipFamilyPolicy": "Both"}, ["spec.ipFamilyPolicy"]),
        ({"trafficDistribution": "Far"}, ["spec.trafficDistribution"]),
        ({"clusterIPs": ["10.96.1.1", "10.96.1.2"]}, ["spec.clusterIPs"]),
        (
            {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}},
            ["spec.sessionAffinityConfig.clientIP.timeoutSeconds"],
        ),
    ],
)
async def test_what_a_service_cannot_be_is_refused(http: Http, spec: dict[str, Any], fields: list[str]) -> None:
    body = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}], **spec}}
    code, refused = await http("POST", SERVICES, body)
    assert (code, [cause["field"] for cause in refused["details"]["causes"]]) == (422, fields)


# -- pods --------------------------------------------------------------------------------------------------------------


async def test_an_eviction_waits_for_its_budget(http: Http) -> None:
    await http.create(PODS, pod("p", nodeName="n"))
    status = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    await http.merge(f"{PODS}/p/status", status)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    await http.create(BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
    state = {
        "observedGeneration": 1,
        "disruptionsAllowed": 0,
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "expectedPods": 1,
    }
    await http.merge(f"{BUDGETS}/b/status", {"status": state})
    code, refused = await http("POST", f"{PODS}/p/eviction", {"metadata": {"name": "p"}})
    assert (code, refused["reason"]) == (429, "TooManyRequests")
    assert (
        refused["details"]["causes"][0]["message"] == "The disruption budget b needs 1 healthy pods and has 1 currently"
    )

    await http.merge(f"{BUDGETS}/b/status", {"status": {"disruptionsAllowed": 1}})
    assert (await http("POST", f"{PODS}/p/eviction", {"metadata": {"name": "p"}}))[0] == 201
    budget = await http.get(f"{BUDGETS}/b")
    assert (budget["status"]["disruptionsAllowed"], list(budget["status"]["disruptedPods"])) == (0, ["p"])
    assert "deletionTimestamp" in (await http.get(f"{PODS}/p"))["metadata"]


async def test_an_evicted_pod_gets_a_condition_before_it_is_deleted(http: Http) -> None:
    made = await http.create(PODS, pod("p", nodeName="n"))
    version = made["metadata"]["resourceVersion"]

    async def evict(version: str) -> int:
        options = {"preconditions": {"resourceVersion": version}}
        code, _ = await http("POST", f"{PODS}/p/eviction", {"metadata": {"name": "p"}, "deleteOptions": options})
        return code

    assert await evict("1") == 409
    assert await http.get(f"{PODS}/p") == made
    assert await evict(version) == 201
    evicted = await http.get(f"{PODS}/p")
    assert "deletionTimestamp" in evicted["metadata"]
    assert [(one["type"], one["reason"]) for one in evicted["status"]["conditions"]] == [
        ("DisruptionTarget", "EvictionByEvictionAPI")
    ]


async def test_a_pod_that_gets_a_finalizer_is_marked_by_one_write() -> None:
    headers = {"Authorization": "Bearer t"}
    async with ApiServer(plugins=False, token="t") as server, aiohttp.ClientSession(headers=headers) as session:
        http = Http(server, session)
        made = await http.create(PODS, pod("p"))
        options = {"gracePeriodSeconds": 0, "propagationPolicy": "Foreground"}
        code, marked = await http("DELETE", f"{PODS}/p", options)
        assert (code, marked["metadata"]["finalizers"]) == (200, ["foregroundDeletion"])
        versions = [int(one["metadata"]["resourceVersion"]) for one in (made, marked)]
        assert versions[1] == versions[0] + 1


async def test_a_write_through_a_pods_subresource_changes_only_its_part(http: Http) -> None:
    limits = {"requests": {"cpu": "1"}}
    await http.create(PODS, pod("p", containers=[{"name": "c", "image": "i", "resources": limits}]))
    change = {"spec": {"containers": [{"name": "c", "image": "other", "resources": {"requests": {"cpu": "2"}}}]}}
    type_ = "application/strategic-merge-patch+json"
    _, resized = await http("PATCH", f"{PODS}/p/resize", change, type_)
    (container,) = resized["spec"]["containers"]
    assert (container["image"], container["resources"]["requests"], resized["metadata"]["generation"]) == (
        "i",
        {"cpu": "2"},
        2,
    )
    debug = {"spec": {"ephemeralContainers": [{"name": "d", "image": "i"}], "priority": 7}}
    _, debugged = await http("PATCH", f"{PODS}/p/ephemeralcontainers", debug, type_)
    assert debugged["spec"]["ephemeralContainers"][0]["terminationMessagePolicy"] == "File"
    assert (debugged["spec"]["priority"], debugged["metadata"]["generation"]) == (0, 3)
    nothing = {"spec": {"containers": [{"name": "c", "resources": {"$patch": "replace"}}]}}
    code, refused = await http("PATCH", f"{PODS}/p/resize", nothing, type_)
    assert (code, refused["details"]["causes"][0]["field"]) == (422, "spec")


async def test_what_is_bound_is_a_pod_to_a_node(http: Http) -> None:
    await http.create(PODS, pod("p"))
    for body, code in (
        ({"metadata": {"name": "q"}, "target": {"kind": "Node", "name": "n"}}, 400),
        ({"metadata": {"name": "p"}, "target": {"kind": "Pod", "name": "n"}}, 500),
        ({"metadata": {"name": "p"}, "target": {"kind": "Node"}}, 500),
    ):
        assert (await http("POST", f"{PODS}/p/binding", body))[0] == code


async def test_the_phase_of_a_namespace_is_what_its_deletion_says(http: Http) -> None:
    path = "/api/v1/namespaces/default"
    change = {"status": {"phase": "Terminating"}}
    code, refused = await http("PATCH", f"{path}/status", change, "application/merge-patch+json")
    assert (code, refused["details"]["causes"][0]["field"]) == (422, "status.Phase")
    body = {"metadata": {"name": "default"}, "spec": {"finalizers": ["not one"]}}
    code, refused = await http("PUT", f"{path}/finalize", body)
    assert (code, refused["details"]["causes"][0]["field"]) == (422, "spec.finalizers[0]")


async def test_a_token_lasts_ten_minutes_at_least(http: Http) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    await http.create(accounts, {"metadata": {"name": "a"}})
    code, refused = await http("POST", f"{accounts}/a/token", {"spec": {"expirationSeconds": 10}})
    assert (code, refused["details"]["causes"][0]["field"]) == (422, "spec.expirationSeconds")

    for spec in ({}, {"audiences": [], "expirationSeconds": None}):
        code, issued = await http("POST", f"{accounts}/a/token", {"spec": spec})
        assert (code, issued["spec"]["expirationSeconds"], len(issued["spec"]["audiences"])) == (201, 3600, 1)


@pytest.mark.parametrize("part", ["binding", "eviction"])
async def test_a_pod_is_bound_and_evicted_in_its_own_namespace(http: Http, part: str) -> None:
    await http.create(PODS, {"metadata": {"name": "p"}, "spec": {"containers": CONTAINERS}})
    body = {"metadata": {"name": "p", "namespace": "other"}, "target": {"kind": "Node", "name": "n"}}
    code, refused = await http("POST", f"{PODS}/p/{part}", body)
    assert (code, "namespace of the provided object does not match" in refused["message"]) == (400, True)


@pytest.mark.parametrize(("option", "limit"), [("sinceSeconds=0", "0"), ("tailLines=-1", "or equal to 0")])
async def test_options_of_a_log_are_checked_before_the_pod(http: Http, option: str, limit: str) -> None:
    code, refused = await http("GET", f"{PODS}/nope/log?{option}")
    assert (code, refused["message"].startswith('PodLogOptions "nope" is invalid')) == (422, True)
    assert refused["message"].endswith(f"must be greater than {limit}")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"containers": [*CONTAINERS, {"name": "d", "image": "i"}]}, "pod updates may not add or remove containers"),
        ({"tolerations": [{"key": "k", "operator": "Wrong"}]}, "Unsupported value"),
        ({"activeDeadlineSeconds": 0}, "must be between 1 and 2147483647, inclusive"),
        ({"restartPolicy": "Never"}, "pod updates may not change fields other than"),
    ],
)
async def test_of_a_pod_little_may_change(http: Http, change: dict[str, Any], said: str) -> None:
    await http.create(PODS, pod("p"))
    type_ = "application/merge-patch+json"
    code, refused = await http("PATCH", f"{PODS}/p", {"spec": change}, type_)
    assert code == 422
    assert said in refused["message"]


# -- apply -------------------------------------------------------------------------------------------------------------


async def apply(http: Http, name: str, manager: str, data: dict[str, Any], query: str = "") -> tuple[int, Any]:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    return await http("PATCH", f"{CONFIG_MAPS}/{name}?fieldManager={manager}{query}", body, APPLY)


async def test_what_managers_want_differently_is_told_field_by_field(http: Http) -> None:
    await apply(http, "a", "one", {"x": "1", "y": "1"})
    code, refused = await apply(http, "a", "two", {"x": "2", "y": "2"})
    assert code == 409
    assert refused["message"] == 'Apply failed with 2 conflicts: conflicts with "one":\n- .data.x\n- .data.y'


async def test_what_a_manager_no_longer_applies_stays_if_another_does(http: Http) -> None:
    await apply(http, "a", "one", {"x": "1", "y": "1"})
    await apply(http, "a", "two", {"x": "1"})
    _, applied = await apply(http, "a", "one", {})
    assert applied["data"] == {"x": "1"}


async def test_an_update_takes_fields_from_who_applied_them(http: Http) -> None:
    await apply(http, "a", "one", {"x": "1"})
    type_ = "application/merge-patch+json"
    await http("PATCH", f"{CONFIG_MAPS}/a?fieldManager=hand", {"data": {"x": "2"}}, type_)
    code, refused = await apply(http, "a", "one", {"x": "3"})
    assert code == 409
    assert refused["message"] == 'Apply failed with 1 conflict: conflict with "hand" using v1: .data.x'


async def test_containers_are_applied_by_name(http: Http) -> None:
    def body(*names: str) -> dict[str, Any]:
        template = {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": n, "image": n} for n in names]},
        }
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}

    url = "/apis/apps/v1/namespaces/default/deployments/d"
    code, _ = await http("PATCH", f"{url}?fieldManager=one", body("x", "y"), APPLY)
    assert code == 201
    code, applied = await http("PATCH", f"{url}?fieldManager=two", body("z"), APPLY)
    assert code == 200
    assert [one["name"] for one in applied["spec"]["template"]["spec"]["containers"]] == ["x", "y", "z"]
    code, applied = await http("PATCH", f"{url}?fieldManager=one", body("y"), APPLY)
    assert [one["name"] for one in applied["spec"]["template"]["spec"]["containers"]] == ["y", "z"]


# -- custom resources --------------------------------------------------------------------------------------------------

WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}


def widgets(**version: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": FREE}}
    return definition("widgets", "Widget", schema=schema, **version)


async def test_a_custom_resource_can_be_scaled(http: Http) -> None:
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.s"}
    await http.create(DEFINITIONS, widgets(subresources={"status": {}, "scale": scale}))
    await http.create(WIDGETS, {**WIDGET, "spec": {"n": 1}})
    scaled = await http.merge(f"{WIDGETS}/w/scale", {"spec": {"replicas": 5}})
    assert scaled["spec"] == {"replicas": 5}
    assert (await http.get(f"{WIDGETS}/w"))["spec"] == {"n": 5}


async def test_a_definition_goes_with_its_objects(http: Http) -> None:
    await http.create(DEFINITIONS, widgets())
    await http.create(WIDGETS, WIDGET)
    await http("DELETE", f"{DEFINITIONS}/widgets.example.com")
    assert await http("GET", WIDGETS) == (404, "404 page not found\n")
    await http.create(DEFINITIONS, widgets())
    assert (await http.get(WIDGETS))["items"] == []


async def test_a_custom_resource_prints_its_own_columns(http: Http) -> None:
    columns = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]
    await http.create(DEFINITIONS, widgets(additionalPrinterColumns=columns))
    await http.create(WIDGETS, {**WIDGET, "spec": {"size": 7}})
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    _, table = await http("GET", WIDGETS, Accept=accept)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size"]
    assert table["rows"][0]["cells"] == ["w", 7]


# -- events ------------------------------------------------------------------------------------------------------------


async def test_an_event_is_seen_in_both_of_its_groups(http: Http) -> None:
    event = {
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
        "note": "hello",
        "reason": "Greeted",
        "type": "Normal",
        "action": "Greet",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "test",
        "reportingInstance": "test-1",
    }
    await http.create("/apis/events.k8s.io/v1/namespaces/default/events", event)
    core = await http.get("/api/v1/namespaces/default/events/e")
    assert (core["involvedObject"]["name"], core["message"]) == ("p", "hello")
    listed = await http.get("/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=regarding.name%3Dp")
    assert listed["items"][0]["note"] == "hello"
