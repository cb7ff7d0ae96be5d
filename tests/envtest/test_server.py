from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest
import yaml

from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer, ServerError
from tests.envtest.conftest import Http

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more}}


async def test_a_request_without_the_token_is_refused(server: ApiServer) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{server.url}/api/v1/pods") as response:
        body = await response.json()
    assert (response.status, body["reason"]) == (401, "Unauthorized")


async def test_health_is_told_to_anybody(server: ApiServer) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{server.url}/readyz") as response:
        assert await response.text() == "ok"


def test_the_kubeconfig_leads_to_the_server(tmp_path: Path) -> None:
    server = ApiServer(port=16443)
    path = tmp_path / "config"
    server.write_kubeconfig(path)
    config = yaml.safe_load(path.read_text())
    assert config["clusters"][0]["cluster"]["server"] == server.url
    assert config["users"][0]["user"]["token"] == server.token
    assert path.stat().st_mode & 0o077 == 0
    assert [one.name for one in tmp_path.iterdir()] == ["config"]


def test_the_kubeconfig_is_written_through_a_link_and_a_pipe(tmp_path: Path) -> None:
    server = ApiServer(port=16443)
    real, link, pipe = tmp_path / "real", tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(real)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        server.write_kubeconfig(link)
        server.write_kubeconfig(pipe)

        assert os.read(reader, 2**16) == real.read_bytes() == server.kubeconfig().encode()
    finally:
        os.close(reader)
    assert link.is_symlink()
    assert pipe.is_fifo()
    assert real.stat().st_mode & 0o077 == 0


def test_a_server_outside_asyncio_says_so() -> None:
    with pytest.raises(RuntimeError, match="kinformer runs on asyncio"):
        ApiServer().__aenter__().send(None)


async def test_a_port_in_use_is_one_clear_error(server: ApiServer) -> None:
    with pytest.raises(ServerError, match=f"127.0.0.1:{server.port}: the port is in use"):
        async with ApiServer(port=server.port):
            pass


async def test_a_server_that_is_closed_ends_its_watches_and_leaves_no_task() -> None:
    before = asyncio.all_tasks()
    clock = FakeClock()
    async with aiohttp.ClientSession() as session:
        async with ApiServer(clock=clock) as server:
            session.headers["Authorization"] = f"Bearer {server.token}"
            response = await session.get(f"{server.url}/api/v1/pods?watch=true")
        with anyio.fail_after(60):
            assert await response.read() == b""
    await anyio.wait_all_tasks_blocked()
    assert asyncio.all_tasks() == before


async def test_a_watch_sends_what_happens_after_its_version(http: Http, clock: FakeClock) -> None:
    created = await http.create(CONFIG_MAPS, config_map("a"))
    version = created["metadata"]["resourceVersion"]
    await http.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "1"}})
    url = f"{http.server.url}{CONFIG_MAPS}?watch=true&resourceVersion={version}"
    async with http.session.get(url) as response:
        first = json.loads(await response.content.readline())
        await http("DELETE", f"{CONFIG_MAPS}/a")
        second = json.loads(await response.content.readline())
    assert (first["type"], first["object"]["data"]) == ("MODIFIED", {"k": "1"})
    assert (second["type"], second["object"]["kind"]) == ("DELETED", "ConfigMap")


async def test_a_watch_sees_the_last_state_when_the_last_finalizer_goes(http: Http) -> None:
    await http.create(CONFIG_MAPS, config_map("a", finalizers=["x.io/hold"]))
    await http("DELETE", f"{CONFIG_MAPS}/a")
    version = (await http.get(f"{CONFIG_MAPS}/a"))["metadata"]["resourceVersion"]
    answered = await http.merge(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}, "data": {"k": "new"}})
    async with http.session.get(f"{http.server.url}{CONFIG_MAPS}?watch=true&resourceVersion={version}") as response:
        event = json.loads(await response.content.readline())
    assert (event["type"], event["object"]["metadata"]["finalizers"]) == ("DELETED", ["x.io/hold"])
    assert "data" not in event["object"]
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(version)
    assert ("finalizers" in answered["metadata"], answered["data"]) == (False, {"k": "new"})


async def test_a_proxy_to_a_pod_is_refused_and_is_no_servers_error(http: Http) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
    await http.create("/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": spec})
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "a"}
    for headers in ({}, upgrade):
        code, refused = await http("GET", "/api/v1/namespaces/default/pods/p/proxy", **headers)
        assert (code, refused["reason"]) == (405, "MethodNotAllowed")


@pytest.mark.parametrize(("version", "code"), [("abc", 201), ("-1", 201), ("0", 201), ("", 201), ("12", 500)])
async def test_a_new_object_may_have_any_version_that_is_no_number(http: Http, version: str, code: int) -> None:
    answered, body = await http("POST", CONFIG_MAPS, config_map("a", resourceVersion=version))
    assert answered == code, body


async def test_a_namespace_with_an_irremovable_finalizer_is_refused(http: Http) -> None:
    body = {"metadata": {"name": "n"}, "spec": {"finalizers": ["https://a:b/c"]}}
    code, refused = await http("POST", "/api/v1/namespaces", body)
    assert (code, refused["details"]["causes"][0]["field"]) == (422, "spec.finalizers")


async def test_a_watch_ends_when_its_time_is_over(http: Http, clock: FakeClock) -> None:
    async with http.session.get(f"{http.server.url}{CONFIG_MAPS}?watch=true&timeoutSeconds=60") as response:
        clock.turn(61)
        assert await response.read() == b""


async def test_a_stale_write_conflicts(http: Http) -> None:
    created = await http.create(CONFIG_MAPS, config_map("a"))
    await http.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "1"}})
    code, refused = await http("PUT", f"{CONFIG_MAPS}/a", created)
    assert (code, refused["reason"]) == (409, "Conflict")


async def test_dependents_go_with_their_owner(http: Http) -> None:
    owner = await http.create(CONFIG_MAPS, config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    await http.create(CONFIG_MAPS, config_map("dependent", ownerReferences=[reference]))
    await http("DELETE", f"{CONFIG_MAPS}/owner")
    await anyio.wait_all_tasks_blocked()
    assert (await http.get(CONFIG_MAPS))["items"] == []


async def test_an_orphan_stays_and_forgets_its_owner(http: Http) -> None:
    owner = await http.create(CONFIG_MAPS, config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    await http.create(CONFIG_MAPS, config_map("dependent", ownerReferences=[reference]))
    await http("DELETE", f"{CONFIG_MAPS}/owner?propagationPolicy=Orphan")
    await anyio.wait_all_tasks_blocked()
    (left,) = (await http.get(CONFIG_MAPS))["items"]
    assert left["metadata"]["name"] == "dependent"
    assert "ownerReferences" not in left["metadata"]


async def test_an_owner_deleted_in_the_foreground_waits_for_its_dependents(http: Http) -> None:
    owner = await http.create(CONFIG_MAPS, config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    reference["blockOwnerDeletion"] = True
    await http.create(CONFIG_MAPS, config_map("dependent", ownerReferences=[reference], finalizers=["x.io/hold"]))
    await http("DELETE", f"{CONFIG_MAPS}/owner?propagationPolicy=Foreground")
    await anyio.wait_all_tasks_blocked()
    left = (await http.get(CONFIG_MAPS))["items"]
    assert ["deletionTimestamp" in one["metadata"] for one in left] == [True, True]

    await http.merge(f"{CONFIG_MAPS}/dependent", {"metadata": {"finalizers": None}})
    await anyio.wait_all_tasks_blocked()
    assert (await http.get(CONFIG_MAPS))["items"] == []


async def test_a_namespace_that_is_deleted_is_emptied_first(http: Http) -> None:
    await http.create("/api/v1/namespaces", {"metadata": {"name": "n"}})
    await http.create("/api/v1/namespaces/n/configmaps", config_map("a"))
    await http("DELETE", "/api/v1/namespaces/n")
    await anyio.wait_all_tasks_blocked()
    assert (await http("GET", "/api/v1/namespaces/n"))[0] == 404
    assert (await http("GET", "/api/v1/namespaces/n/configmaps/a"))[0] == 404


async def test_a_bound_pod_goes_when_its_grace_is_over(http: Http, clock: FakeClock) -> None:
    pods = "/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
    await http.create(pods, {"metadata": {"name": "p"}, "spec": spec})
    await http("DELETE", f"{pods}/p")
    clock.turn(29)
    await anyio.wait_all_tasks_blocked()
    assert (await http("GET", f"{pods}/p"))[0] == 200
    clock.turn(2)
    await anyio.wait_all_tasks_blocked()
    assert (await http("GET", f"{pods}/p"))[0] == 404


async def test_a_body_that_etcd_would_refuse_is_refused(http: Http) -> None:
    body = config_map("big")
    body["data"] = {"k": "x" * (3 * 1024 * 1024)}
    code, refused = await http("POST", CONFIG_MAPS, body)
    assert (code, refused["reason"]) == (413, "RequestEntityTooLarge")
    assert (await http("GET", CONFIG_MAPS))[0] == 200


async def test_what_fits_into_a_request_may_be_too_much_for_an_object(http: Http) -> None:
    body = config_map("big")
    body["data"] = {"k": "x" * (1024 * 1024 + 1)}
    code, refused = await http("POST", CONFIG_MAPS, body)
    assert (code, refused["reason"]) == (422, "Invalid")


async def test_the_same_seed_gives_the_same_names() -> None:
    async def name() -> str:
        async with ApiServer(seed=7, plugins=False, token="t") as server, aiohttp.ClientSession() as session:
            headers = {"Authorization": "Bearer t"}
            body = {"metadata": {"generateName": "a-"}}
            async with session.post(server.url + CONFIG_MAPS, json=body, headers=headers) as response:
                return str((await response.json())["metadata"]["name"])

    assert await name() == await name()


async def test_versions_of_one_kind_are_stored_in_one(http: Http) -> None:
    hashes = {}
    for path in ("/api/v1", "/apis/events.k8s.io/v1", "/apis/autoscaling/v1", "/apis/autoscaling/v2"):
        for resource in (await http.get(path))["resources"]:
            if resource["name"] in ("events", "horizontalpodautoscalers"):
                hashes[path] = resource["storageVersionHash"]
    assert hashes == {
        "/api/v1": "r2yiGXH7wu8=",
        "/apis/events.k8s.io/v1": "r2yiGXH7wu8=",
        "/apis/autoscaling/v1": "qwQve8ut294=",
        "/apis/autoscaling/v2": "qwQve8ut294=",
    }


async def test_aggregated_discovery_tells_everything_at_once(http: Http) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    _, found = await http("GET", "/apis", Accept=accept)
    apps = next(group for group in found["items"] if group["metadata"]["name"] == "apps")
    deployments = next(one for one in apps["versions"][0]["resources"] if one["resource"] == "deployments")
    assert {one["subresource"] for one in deployments["subresources"]} == {"scale", "status"}


# -- bodies ------------------------------------------------------------------------------------------------------------


async def test_fields_that_are_there_twice_are_told_of(http: Http) -> None:
    body = b'{"metadata":{"name":"a","name":"b"},"data":{"k":"1","k":"2","says":"\\"twice\\":"}}'
    code, refused = await http("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", body)
    assert code == 400
    assert refused["message"].endswith(
        'strict decoding error: duplicate field "metadata.name", duplicate field "data.k"'
    )
    headers = {"Content-Type": "application/json"}
    async with http.session.post(http.server.url + CONFIG_MAPS, data=body, headers=headers) as response:
        created = await response.json()
        assert response.headers.getall("Warning")[0] == '299 - "duplicate field \\"metadata.name\\""'
    assert (created["metadata"]["name"], created["data"]["k"]) == ("b", "2")


async def test_the_name_of_a_field_manager_can_be_printed(http: Http) -> None:
    code, refused = await http("POST", f"{CONFIG_MAPS}?fieldManager=a%0Ab", {"metadata": {"name": "a"}})
    assert (code, refused["details"]["causes"][0]["field"]) == (422, "fieldManager")


async def test_a_name_is_warned_of_once_when_it_is_given(http: Http) -> None:
    body = {"metadata": {"name": "a.b"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    pods = f"{http.server.url}/api/v1/namespaces/default/pods"
    async with http.session.post(pods, json=body) as response:
        assert len(response.headers.getall("Warning")) == 1
        created = await response.json()
    async with http.session.put(f"{pods}/a.b", json=created) as response:
        assert "Warning" not in response.headers


# -- lists -------------------------------------------------------------------------------------------------------------


async def test_a_page_does_not_look_whether_what_follows_is_selected_too(http: Http) -> None:
    for name, label in (("a", "1"), ("b", "1"), ("c", "2")):
        await http.create(CONFIG_MAPS, {"metadata": {"name": name, "labels": {"x": label}}})
    first = await http.get(f"{CONFIG_MAPS}?labelSelector=x%3D1&limit=2")
    assert [item["metadata"]["name"] for item in first["items"]] == ["a", "b"]
    assert "remainingItemCount" not in first["metadata"]
    rest = await http.get(f"{CONFIG_MAPS}?labelSelector=x%3D1&limit=2&continue={first['metadata']['continue']}")
    assert (rest["items"], "continue" in rest["metadata"]) == ([], False)


async def test_pods_of_a_node_are_found_without_looking_at_others(http: Http) -> None:
    pods = "/api/v1/namespaces/default/pods"
    for name, node in (("a", "n"), ("b", "m")):
        spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": node}
        await http.create(pods, {"metadata": {"name": name}, "spec": spec})
    found = await http.get(f"{pods}?fieldSelector=spec.nodeName%3Dn&limit=1")
    assert ([item["metadata"]["name"] for item in found["items"]], "continue" in found["metadata"]) == (["a"], False)


async def test_a_list_that_may_be_old_comes_whole(http: Http) -> None:
    for name in "ab":
        await http.create(CONFIG_MAPS, {"metadata": {"name": name}})
    listed = await http.get(f"{CONFIG_MAPS}?resourceVersion=0&limit=1")
    assert len(listed["items"]) == 2
    assert "continue" not in listed["metadata"]


async def test_what_a_list_cannot_have_is_told_together(http: Http) -> None:
    code, refused = await http("GET", f"{CONFIG_MAPS}?resourceVersionMatch=Sometimes&sendInitialEvents=true")
    fields = [cause["field"] for cause in refused["details"]["causes"]]
    assert (code, fields) == (422, ["resourceVersionMatch", "resourceVersionMatch", "sendInitialEvents"])


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/v1/nodes?fieldSelector=metadata.namespace%3Dx", 400),
        ("/api/v1/namespaces?fieldSelector=name%3Dx", 400),
        ("/api/v1/persistentvolumes?fieldSelector=name%3Dx", 400),
        ("/api/v1/persistentvolumes?fieldSelector=metadata.namespace%3Dx", 200),
        ("/api/v1/pods?fieldSelector=status.podIPs%3Dx", 200),
        ("/apis/certificates.k8s.io/v1/certificatesigningrequests?fieldSelector=spec.signerName%3Dx", 200),
    ],
)
async def test_each_kind_knows_its_own_fields(http: Http, path: str, code: int) -> None:
    assert (await http("GET", path))[0] == code


async def test_the_address_of_a_pod_is_the_first_of_its_addresses(http: Http) -> None:
    pods = "/api/v1/namespaces/default/pods"
    await http.create(pods, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    status = (await http.merge(f"{pods}/p/status", {"status": {"podIP": "10.0.0.1"}}))["status"]
    assert status["podIPs"] == [{"ip": "10.0.0.1"}]


async def test_the_openapi_documents_say_of_what_type_each_field_is(http: Http) -> None:
    document = await http.get("/openapi/v3/apis/apps/v1")
    schemas = document["components"]["schemas"]

    def field(schema: Any, *names: str) -> Any:
        for name in names:
            while target := schema.get("items") or (schema.get("allOf") or [None])[0]:
                schema = target
            if reference := schema.get("$ref"):
                schema = schemas[reference.rpartition("/")[2]]
            schema = schema["properties"][name]
        return schema

    assert "io.k8s.V1.DeploymentSpec" in schemas  # kubectl explain shows what is behind the last dot
    kind = {"group": "apps", "version": "v1", "kind": "Deployment"}
    [deployment] = [one for one in schemas.values() if one.get("x-kubernetes-group-version-kind") == [kind]]
    assert field(deployment, "spec", "replicas") == {"type": "integer", "format": "int32"}
    containers = field(deployment, "spec", "template", "spec", "containers")
    assert (containers["x-kubernetes-list-map-keys"], containers["x-kubernetes-patch-merge-key"]) == (["name"], "name")
    limits = field(deployment, "spec", "template", "spec", "containers", "resources", "limits")
    assert limits["additionalProperties"] == {"oneOf": [{"type": "string"}, {"type": "number"}]}
    assert set(re.findall(r"schemas/([\w.]+)", json.dumps(document))) <= schemas.keys()
