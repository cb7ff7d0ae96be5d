"""What ``kubectl get`` shows of objects."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kinformer.clock import FakeClock
from kinformer.envtest.handlers.cells import claim_state
from kinformer.envtest.handlers.spans import in_short
from kinformer.meta.jsonpath import find
from tests.envtest.conftest import Http

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PODS = "/api/v1/namespaces/default/pods"
CONTAINERS = [{"name": "c", "image": "i"}, {"name": "d", "image": "j"}]
NAMED_PARAMETER = {"name": "x", "parameterNotFoundAction": "Deny"}
AGGREGATED = {
    "group": "a.example.com",
    "version": "v1",
    "service": {"namespace": "n", "name": "s"},
    "groupPriorityMinimum": 1,
    "versionPriority": 1,
    "insecureSkipTLSVerify": True,
}
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}


async def shown(http: Http, path: str) -> dict[str, Any]:
    """The cells of the one row of a list, by their columns."""
    code, table = await http("GET", path, Accept=TABLE)
    assert code == 200, table
    (row,) = table["rows"]
    return dict(zip([column["name"] for column in table["columnDefinitions"]], row["cells"], strict=True))


def selected(**spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS}}
    return {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec}


@pytest.mark.parametrize(
    ("path", "body", "cells"),
    [
        (
            "/apis/apps/v1/namespaces/default/deployments",
            {"spec": selected(replicas=3)},
            {
                "Ready": "0/3",
                "Up-to-date": 0,
                "Available": 0,
                "Age": "0s",
                "Containers": "c,d",
                "Images": "i,j",
                "Selector": "a=b",
            },
        ),
        (
            "/apis/apps/v1/namespaces/default/daemonsets",
            {"spec": selected()},
            {"Desired": 0, "Node Selector": "<none>", "Age": "0s"},
        ),
        (
            "/api/v1/namespaces/default/services",
            {"spec": {"type": "LoadBalancer", "selector": {"a": "b"}, "ports": [{"port": 80, "nodePort": 30080}]}},
            {"Type": "LoadBalancer", "External-IP": "<pending>", "Port(s)": "80:30080/TCP", "Selector": "a=b"},
        ),
        (
            "/apis/batch/v1/namespaces/default/cronjobs",
            {
                "spec": {
                    "schedule": "@daily",
                    "jobTemplate": {
                        "spec": {"template": {"spec": {"containers": CONTAINERS, "restartPolicy": "Never"}}}
                    },
                }
            },
            {"Schedule": "@daily", "Timezone": "<none>", "Suspend": "False", "Active": 0, "Last Schedule": "<none>"},
        ),
        (
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            {"spec": {"maxUnavailable": "50%"}},
            {"Min Available": "N/A", "Max Unavailable": "50%", "Allowed Disruptions": 0},
        ),
        (
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            {
                "spec": {
                    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
                    "maxReplicas": 3,
                }
            },
            {"Reference": "Deployment/d", "Targets": "cpu: <unknown>/80%", "MinPods": "1", "MaxPods": 3, "Replicas": 0},
        ),
        (
            "/api/v1/namespaces/default/persistentvolumeclaims",
            {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
            {"Status": "Pending", "Volume": "", "Capacity": "", "Access Modes": "", "VolumeMode": "Filesystem"},
        ),
        (
            "/apis/storage.k8s.io/v1/storageclasses",
            {"provisioner": "p"},
            {"Provisioner": "p", "ReclaimPolicy": "Delete", "AllowVolumeExpansion": False},
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            {"roleRef": {"kind": "ClusterRole", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}]},
            {"Role": "ClusterRole/r", "Users": "u", "Groups": "", "ServiceAccounts": ""},
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            {"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}},
            {"Class": "<none>", "Hosts": "*", "Address": "", "Ports": "80"},
        ),
        (
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            {
                "addressType": "IPv4",
                "endpoints": [{"addresses": ["10.0.0.1"]} for _ in range(5)],
                "ports": [{"port": 80}],
            },
            {"AddressType": "IPv4", "Ports": "80", "Endpoints": "10.0.0.1,10.0.0.1,10.0.0.1 + 2 more..."},
        ),
        (
            "/api/v1/nodes",
            {"metadata": {"labels": {"node-role.kubernetes.io/worker": ""}}, "spec": {"unschedulable": True}},
            {"Status": "Unknown,SchedulingDisabled", "Roles": "worker", "Internal-IP": "<none>"},
        ),
        (
            "/apis/storage.k8s.io/v1/csidrivers",
            {"spec": {"attachRequired": False, "tokenRequests": [{"audience": "a"}, {"audience": "b"}]}},
            {"AttachRequired": False, "TokenRequests": "a,b", "Modes": "Persistent", "Age": "0s"},
        ),
        (
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
            {"spec": {"policyName": "p", "validationActions": ["Deny"], "paramRef": NAMED_PARAMETER}},
            {"PolicyName": "p", "ParamRef": "*/x"},
        ),
        (
            "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
            {"spec": {"policyName": "p"}},
            {"PolicyName": "p", "ParamRef": "<unset>"},
        ),
        (
            "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
            {"spec": {"priorityLevelConfiguration": {"name": "l"}, "matchingPrecedence": 500}},
            {"PriorityLevel": "l", "MatchingPrecedence": 500, "DistinguisherMethod": "<none>", "MissingPL": "?"},
        ),
        (
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
            {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}},
            {"State": "pending"},
        ),
        (
            "/apis/apiregistration.k8s.io/v1/apiservices",
            {"metadata": {"name": "v1.a.example.com"}, "spec": AGGREGATED},
            {"Service": "n/s", "Available": "Unknown"},
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
            {},
            {"Name": "x", "Created At": "2026-01-01T00:00:00Z"},
        ),
    ],
)
async def test_each_kind_has_its_own_columns(http: Http, path: str, body: Any, cells: dict[str, Any]) -> None:
    await http.create(path, {**body, "metadata": {"name": "x", **body.get("metadata", {})}})
    found = await shown(http, path)
    assert {name: found[name] for name in cells} == cells


@pytest.mark.parametrize(
    ("metadata", "status", "state"),
    [
        ({}, {"allocation": {"devices": {}}}, "allocated"),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, {}, "deleted"),
        (
            {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            {"allocation": {"devices": {}}, "reservedFor": [{"name": "p"}]},
            "deleted,allocated,reserved",
        ),
    ],
)
def test_a_claim_of_devices_says_who_has_it(metadata: dict[str, Any], status: dict[str, Any], state: str) -> None:
    assert claim_state({"metadata": metadata, "status": status}, datetime(2026, 1, 1, tzinfo=UTC)) == state


async def pod_with(http: Http, status: dict[str, Any], **spec: Any) -> dict[str, Any]:
    await http.create(PODS, {"metadata": {"name": "p"}, "spec": {"containers": CONTAINERS, **spec}})
    await http.merge(f"{PODS}/p/status", {"status": status})
    return await shown(http, PODS)


RUNNING = {"name": "c", "ready": True, "state": {"running": {}}, "restartCount": 0, "image": "", "imageID": ""}


async def test_a_pod_is_called_what_its_containers_are(http: Http) -> None:
    waiting = {**RUNNING, "name": "d", "ready": False, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    ended = {"terminated": {"exitCode": 1, "finishedAt": "2025-12-31T23:59:00Z"}}
    waiting |= {"restartCount": 4, "lastState": ended}
    cells = await pod_with(http, {"phase": "Running", "containerStatuses": [RUNNING, waiting]})
    assert (cells["Ready"], cells["Status"], cells["Restarts"]) == ("1/2", "CrashLoopBackOff", "4 (60s ago)")


async def test_a_pod_that_is_set_up_says_how_far_it_is(http: Http) -> None:
    initial = [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]
    done = {**RUNNING, "name": "a", "ready": False, "state": {"terminated": {"exitCode": 0}}}
    working = {**RUNNING, "name": "b", "ready": False}
    status = {"phase": "Pending", "initContainerStatuses": [done, working]}
    assert (await pod_with(http, status, initContainers=initial))["Status"] == "Init:1/2"


async def test_a_pod_that_is_over_says_so_beside_its_cells(http: Http) -> None:
    ended = {**RUNNING, "ready": False, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
    cells = await pod_with(http, {"phase": "Succeeded", "containerStatuses": [ended]})
    assert (cells["Ready"], cells["Status"]) == ("0/2", "Completed")
    _, table = await http("GET", PODS, Accept=TABLE)
    assert table["rows"][0]["conditions"][0]["reason"] == "Succeeded"


async def test_a_pod_on_its_way_out_is_terminating(http: Http) -> None:
    await http.create(PODS, {"metadata": {"name": "p"}, "spec": {"containers": CONTAINERS, "nodeName": "n"}})
    await http("DELETE", f"{PODS}/p")
    assert (await shown(http, PODS))["Status"] == "Terminating"


async def test_ages_are_of_the_time_of_the_request(http: Http, clock: FakeClock) -> None:
    await http.create(PODS, {"metadata": {"name": "p"}, "spec": {"containers": CONTAINERS}})
    clock.turn(150)
    assert (await shown(http, PODS))["Age"] == "2m30s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (119, "119s"),
        (120, "2m"),
        (601, "10m"),
        (10800, "3h"),
        (11100, "3h5m"),
        (36000, "10h"),
        (176400, "2d1h"),
        (86400 * 400, "400d"),
        (86400 * 800, "2y70d"),
        (86400 * 4000, "10y"),
    ],
)
def test_spans_are_told_in_the_units_that_matter(seconds: int, text: str) -> None:
    assert in_short(timedelta(seconds=seconds)) == text


CONDITIONS = {
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Old", "status": "False"}],
        "a.b": {"c": 1},
    },
    "list": [1, 2, 3],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type!='Ready')].type", ["Old"]),
        (".status.conditions[*].type", ["Ready", "Old"]),
        (".list[0]", [1]),
        (".list[-1]", [3]),
        (".list[7]", []),
        (".list[-1:]", [3]),
        (".list[1:]", [2, 3]),
        (".list[:-1]", [1, 2]),
        (".list[1:1]", []),
        (".list[1:9]", []),
        (".status.conditions[-1:].type", ["Old"]),
        (".status['a.b'].c", [1]),
        (".status.a\\.b.c", [1]),
        (".nowhere.at.all", []),
        (".list[?(@.x ~ 1)]", []),
    ],
)
def test_columns_of_custom_resources_find_their_values(path: str, found: list[Any]) -> None:
    assert find(CONDITIONS, path) == found


async def test_only_the_first_table_of_a_watch_has_columns(http: Http) -> None:
    for name in ("a", "b"):
        await http.create(PODS, {"metadata": {"name": name}, "spec": {"containers": CONTAINERS}})
    async with http.session.get(f"{http.server.url}{PODS}?watch=1", headers={"Accept": TABLE}) as response:
        tables = [json.loads(await response.content.readline())["object"] for _ in range(2)]
    assert [bool(table["columnDefinitions"]) for table in tables] == [True, False]
    assert [table["rows"][0]["cells"][0] for table in tables] == ["a", "b"]


async def test_an_empty_table_without_columns_of_its_own_has_no_rows(http: Http) -> None:
    _, table = await http("GET", "/api/v1/namespaces/default/limitranges", Accept=TABLE)
    assert [(column["name"], column["type"]) for column in table["columnDefinitions"]] == [
        ("Name", "string"),
        ("Created At", "date"),
    ]
    assert table["rows"] is None
