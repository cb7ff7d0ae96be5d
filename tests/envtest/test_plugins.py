"""What the server's own admission fills in, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.envtest.conftest import Http

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
RANGES = "/api/v1/namespaces/default/limitranges"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
RUNTIMES = "/apis/node.k8s.io/v1/runtimeclasses"
STORAGE_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


def pod(resources: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", "resources": resources or {}}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def claim(size: str, **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"storage": size}}
    return {"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources, **spec}}


async def limit(http: Http, **limits: Any) -> None:
    await http.create(RANGES, {"metadata": {"name": "r"}, "spec": {"limits": [limits]}})


async def why_not(http: Http, path: str, body: Any, method: str = "POST") -> str:
    type_ = "application/merge-patch+json" if method == "PATCH" else "application/json"
    code, refused = await http(method, path, body, type_)
    assert (code, refused["reason"]) == (403, "Forbidden")
    return str(refused["message"].partition(" is forbidden: ")[2])


async def test_a_container_gets_what_it_does_not_ask_for(http: Http) -> None:
    await limit(http, type="Container", default={"cpu": "2", "memory": "1Gi"}, defaultRequest={"cpu": "1"})
    created = await http.create(PODS, pod({"requests": {"memory": "512Mi"}}))
    (container,) = created["spec"]["containers"]
    assert container["resources"] == {
        "limits": {"cpu": "2", "memory": "1Gi"},
        "requests": {"cpu": "1", "memory": "512Mi"},
    }
    told = "LimitRanger plugin set: cpu request for container c; cpu, memory limit for container c"
    assert created["metadata"]["annotations"] == {"kubernetes.io/limit-ranger": told}
    assert created["status"]["qosClass"] == "Burstable"


OUT_OF_RANGE = (
    "[minimum cpu usage per Container is 200m, but request is 100m, "
    "maximum cpu usage per Container is 1, but limit is 2]"
)


@pytest.mark.parametrize(
    ("limits", "resources", "why"),
    [
        (
            {"type": "Container", "min": {"cpu": "200m"}, "max": {"cpu": "1"}},
            {"requests": {"cpu": "100m"}, "limits": {"cpu": "2"}},
            OUT_OF_RANGE,
        ),
        (
            {"type": "Pod", "min": {"cpu": "2"}},
            {"requests": {"cpu": "1"}},
            "minimum cpu usage per Pod is 2, but request is 1",
        ),
        (
            {"type": "Pod", "max": {"memory": "1Gi"}},
            {"limits": {"cpu": "1"}},
            "maximum memory usage per Pod is 1Gi.  No limit is specified",
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "1"}, "limits": {"cpu": "3"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
    ],
)
async def test_a_pod_out_of_range_is_refused(http: Http, limits: Any, resources: Any, why: str) -> None:
    await limit(http, **limits)
    assert await why_not(http, PODS, pod(resources)) == why


async def test_a_claim_out_of_range_is_refused(http: Http) -> None:
    await limit(http, type="PersistentVolumeClaim", max={"storage": "1Gi"})
    why = await why_not(http, CLAIMS, claim("2Gi"))
    assert why == "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi"


async def test_a_pod_has_the_priority_of_its_class(http: Http) -> None:
    await http.create(PRIORITIES, {"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"})
    spec = (await http.create(PODS, pod(priorityClassName="high")))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (7, "Never")
    assert await why_not(http, PODS, pod(priorityClassName="low")) == "no PriorityClass with name low was found"
    assert "must not be provided" in await why_not(http, PODS, pod(priority=8, priorityClassName="high"))


async def test_a_pod_that_is_replaced_keeps_its_priority(http: Http) -> None:
    await http.create(PODS, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}})
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i:2"}]}}
    code, answer = await http("PUT", f"{PODS}/p", body)
    assert code == 200, answer
    assert (answer["spec"]["priority"], answer["spec"]["preemptionPolicy"]) == (0, "PreemptLowerPriority")


async def test_one_priority_is_everybodys(http: Http) -> None:
    await http.create(PRIORITIES, {"metadata": {"name": "usual"}, "value": 3, "globalDefault": True})
    spec = (await http.create(PODS, pod()))["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("usual", 3)
    second = {"metadata": {"name": "other"}, "value": 4, "globalDefault": True}
    assert "already marked as default" in await why_not(http, PRIORITIES, second)


RUNTIME = {
    "handler": "h",
    "overhead": {"podFixed": {"cpu": "100m", "memory": "10Mi"}},
    "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]},
}


async def make_runtimes(http: Http) -> None:
    await http.create(RUNTIMES, {"metadata": {"name": "rt"}, **RUNTIME})
    await http.create(RUNTIMES, {"metadata": {"name": "plain"}, "handler": "h"})


@pytest.mark.parametrize("own", [{}, {"overhead": {"cpu": "0.1", "memory": "10Mi"}, "nodeSelector": {"c": "d"}}])
async def test_a_pod_gets_what_its_runtime_class_says(http: Http, own: dict[str, Any]) -> None:
    await make_runtimes(http)

    spec = (await http.create(PODS, pod(runtimeClassName="rt", **own)))["spec"]

    assert spec["overhead"] == {"cpu": "100m", "memory": "10Mi"}
    assert spec["nodeSelector"] == own.get("nodeSelector", {}) | {"a": "b"}
    assert [one["key"] for one in spec["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "k",
    ]


WITHOUT = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


@pytest.mark.parametrize(
    ("own", "why"),
    [
        ({"runtimeClassName": "no"}, 'pod rejected: RuntimeClass "no" not found'),
        ({"overhead": {"cpu": "1"}}, WITHOUT),
        ({"runtimeClassName": "plain", "overhead": {"cpu": "1"}}, WITHOUT),
        (
            {"runtimeClassName": "rt", "overhead": {"cpu": "1"}},
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            {"runtimeClassName": "rt", "nodeSelector": {"a": "c"}},
            "conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c",
        ),
    ],
)
async def test_a_pod_must_agree_with_its_runtime_class(http: Http, own: dict[str, Any], why: str) -> None:
    await make_runtimes(http)

    assert await why_not(http, PODS, pod(**own)) == why


async def test_a_limit_range_without_a_name_gets_one(http: Http) -> None:
    made = await http.create(RANGES, {"spec": {"limits": []}})

    assert len(made["metadata"]["name"]) == 36


async def test_a_claim_without_a_class_gets_the_one_that_is_marked(http: Http) -> None:
    marked = {"name": "usual", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    await http.create(STORAGE_CLASSES, {"metadata": marked, "provisioner": "p"})
    assert (await http.create(CLAIMS, claim("1Gi")))["spec"]["storageClassName"] == "usual"
    await http("DELETE", f"{CLAIMS}/c")
    await http.merge(f"{CLAIMS}/c", {"metadata": {"finalizers": None}})
    assert (await http.create(CLAIMS, claim("1Gi", storageClassName="")))["spec"]["storageClassName"] == ""


async def test_a_claim_grows_only_when_bound_and_allowed_by_its_class(http: Http) -> None:
    for name, grows in (("fixed", False), ("growing", True)):
        body = {"metadata": {"name": name}, "provisioner": "p", "allowVolumeExpansion": grows}
        await http.create(STORAGE_CLASSES, body)
    larger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    for class_ in ("fixed", "growing"):
        body = claim("1Gi", storageClassName=class_)
        body["metadata"]["name"] = class_
        await http.create(CLAIMS, body)
        await http.merge(f"{CLAIMS}/{class_}/status", {"status": {"phase": "Bound"}})
    assert "must support resize" in await why_not(http, f"{CLAIMS}/fixed", larger, "PATCH")
    grown = await http.merge(f"{CLAIMS}/growing", larger)
    assert grown["spec"]["resources"]["requests"]["storage"] == "2Gi"


async def test_the_priorities_of_the_system_are_there_from_the_start_and_stay(http: Http) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    _, found = await http("GET", classes)
    assert {one["metadata"]["name"]: one["value"] for one in found["items"]} == {
        "system-cluster-critical": 2000000000,
        "system-node-critical": 2000001000,
    }
    code, answer = await http("DELETE", f"{classes}/system-node-critical")
    assert (code, answer["reason"]) == (403, "Forbidden")


# -- topology -------------------------------------------------------------------------------------------------------


PLACE = {"topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/region": "r1"}


async def make_node(http: Http, name: str) -> None:
    await http.create("/api/v1/nodes", {"metadata": {"name": name, "labels": {**PLACE, "kubernetes.io/os": "linux"}}})


async def test_a_pod_that_is_created_with_a_node_says_where_that_is(http: Http) -> None:
    await make_node(http, "n")
    body = pod(nodeName="n")
    body["metadata"]["labels"] = {"app": "a", "topology.kubernetes.io/zone": "elsewhere"}

    created = await http.create(PODS, body)

    assert created["metadata"]["labels"] == {"app": "a", **PLACE}


async def test_a_pod_that_is_bound_says_where_its_node_is(http: Http) -> None:
    await make_node(http, "n")
    created = await http.create(PODS, pod())
    assert "labels" not in created["metadata"]

    body = {"metadata": {"name": "p", "labels": {"b": "c"}}, "target": {"kind": "Node", "name": "n"}}
    await http.create(f"{PODS}/p/binding", body)

    assert (await http.get(f"{PODS}/p"))["metadata"]["labels"] == {"b": "c", **PLACE}


async def test_a_pod_of_a_node_that_is_not_there_gets_no_labels(http: Http) -> None:
    created = await http.create(PODS, pod(nodeName="n"))
    assert "labels" not in created["metadata"]
