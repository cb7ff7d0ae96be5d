"""What a real API server says of who has set what: every write is noted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from tests.definitions import DEFINITIONS, definition
from tests.envtest.conftest import Http

CORE = "/api/v1/namespaces/default"
CONFIG_MAPS = f"{CORE}/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


def deployment(name: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template}}


def entries(obj: dict[str, Any]) -> dict[tuple[str, str, str], Any]:
    """Managed fields by manager, operation and subresource."""
    found = obj["metadata"].get("managedFields", [])
    return {(one["manager"], one["operation"], one.get("subresource", "")): one["fieldsV1"] for one in found}


def only(obj: dict[str, Any]) -> dict[str, Any]:
    (entry,) = obj["metadata"]["managedFields"]
    assert isinstance(entry, dict)
    return entry


# -- creates -----------------------------------------------------------------------------------------------------------


async def test_a_create_owns_what_it_sets_and_what_defaults_made_of_it(http: Http) -> None:
    pod = {
        "metadata": {"generateName": "p-", "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]},
    }
    created = await http.create(f"{CORE}/pods?fieldManager=me", pod)
    of_container = {
        ".": {},
        "f:image": {},
        "f:imagePullPolicy": {},
        "f:name": {},
        "f:ports": {
            ".": {},
            'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}, "f:protocol": {}},
        },
        "f:resources": {},
        "f:terminationMessagePath": {},
        "f:terminationMessagePolicy": {},
    }
    plain = ("dnsPolicy", "enableServiceLinks", "restartPolicy", "schedulerName", "securityContext")
    assert only(created) == {
        "manager": "me",
        "operation": "Update",
        "apiVersion": "v1",
        "time": created["metadata"]["creationTimestamp"],
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {"f:generateName": {}, "f:labels": {".": {}, "f:app": {}}},
            "f:spec": {
                "f:containers": {'k:{"name":"c"}': of_container},
                "f:terminationGracePeriodSeconds": {},
                **{f"f:{name}": {} for name in plain},
            },
        },
    }


async def test_what_the_server_adds_to_a_new_object_is_nobodys(http: Http) -> None:
    created = await http.create(f"{CORE}/services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    owned = only(created)["fieldsV1"]["f:spec"]
    assert created["spec"]["clusterIP"]
    assert "f:clusterIP" not in owned
    assert set(owned["f:ports"]) == {".", 'k:{"port":80,"protocol":"TCP"}'}


async def test_a_status_that_comes_with_a_new_object_is_not_owned(http: Http) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}, "status": {"phase": "X"}}
    assert "f:status" not in only(await http.create(f"{CORE}/pods", pod))["fieldsV1"]


async def test_an_object_that_sets_nothing_has_no_managed_fields(http: Http) -> None:
    created = await http.create(CONFIG_MAPS, config_map("a"))
    assert "managedFields" not in created["metadata"]


async def test_who_does_not_say_it_is_called_by_its_program(http: Http) -> None:
    async with http.session.post(
        http.server.url + CONFIG_MAPS,
        json=config_map("a", k="1"),
        headers={"User-Agent": "kube-thing/v1.36 (linux)"},
    ) as response:
        assert only(await response.json())["manager"] == "kube-thing"
    async with http.session.post(
        http.server.url + CONFIG_MAPS, json=config_map("b", k="1"), headers={"User-Agent": "x" * 200}
    ) as response:
        assert only(await response.json())["manager"] == "x" * 128


async def test_lists_and_watches_show_managed_fields(http: Http) -> None:
    created = await http.create(CONFIG_MAPS, config_map("a", k="1"))
    (item,) = (await http.get(CONFIG_MAPS))["items"]
    assert item["metadata"]["managedFields"] == created["metadata"]["managedFields"]
    url = f"{http.server.url}{CONFIG_MAPS}?watch=true&resourceVersion=0"
    async with http.session.get(url) as response:
        event = await response.content.readline()
    assert b'"managedFields":[{"manager":' in event
    async with http.session.get(
        f"{http.server.url}{CONFIG_MAPS}/a",
        headers={"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"},
    ) as response:
        assert only(await response.json())["fieldsV1"] == {"f:data": {".": {}, "f:k": {}}}


# -- updates -----------------------------------------------------------------------------------------------------------


async def test_a_patch_takes_what_it_changes_from_whoever_had_it(http: Http) -> None:
    await http.create(f"{CONFIG_MAPS}?fieldManager=one", config_map("a", x="1", y="1"))
    patched = await http.merge(f"{CONFIG_MAPS}/a?fieldManager=two", {"data": {"y": "2", "z": "2"}})
    assert entries(patched) == {
        ("one", "Update", ""): {"f:data": {".": {}, "f:x": {}}},
        ("two", "Update", ""): {"f:data": {"f:y": {}, "f:z": {}}},
    }


async def test_what_is_taken_away_is_nobodys_any_more(http: Http, clock: FakeClock) -> None:
    created = await http.create(f"{CONFIG_MAPS}?fieldManager=one", config_map("a", x="1", y="1"))
    await clock.advance(5)
    patched = await http.merge(f"{CONFIG_MAPS}/a?fieldManager=two", {"data": {"y": None}})
    assert entries(patched) == {("one", "Update", ""): {"f:data": {".": {}, "f:x": {}}}}
    assert only(patched)["time"] == only(created)["time"]


@pytest.mark.parametrize(
    ("type_", "body"),
    [
        (MERGE, {"metadata": {"labels": {"a": "2"}}}),
        (STRATEGIC, {"metadata": {"labels": {"a": "2"}}}),
        (JSON, [{"op": "replace", "path": "/metadata/labels/a", "value": "2"}]),
    ],
)
async def test_every_kind_of_patch_is_noted(http: Http, type_: str, body: Any) -> None:
    await http.create(f"{CONFIG_MAPS}?fieldManager=one", {"metadata": {"name": "a", "labels": {"a": "1", "b": "1"}}})
    code, patched = await http("PATCH", f"{CONFIG_MAPS}/a?fieldManager=two", body, type_)
    assert code == 200
    assert entries(patched) == {
        ("one", "Update", ""): {"f:metadata": {"f:labels": {".": {}, "f:b": {}}}},
        ("two", "Update", ""): {"f:metadata": {"f:labels": {"f:a": {}}}},
    }


async def test_time_is_that_of_a_managers_last_change(http: Http, clock: FakeClock) -> None:
    await http.create(f"{CONFIG_MAPS}?fieldManager=one", config_map("a", x="1"))
    await clock.advance(5)
    patched = await http.merge(f"{CONFIG_MAPS}/a?fieldManager=one", {"data": {"x": "2"}})
    changed = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    assert only(patched)["time"] == changed


async def test_an_update_that_changes_nothing_is_not_noted_and_makes_no_version(http: Http, clock: FakeClock) -> None:
    created = await http.create(f"{CONFIG_MAPS}?fieldManager=one", config_map("a", x="1"))
    await clock.advance(5)
    assert await http.merge(f"{CONFIG_MAPS}/a?fieldManager=two", {"data": {"x": "1"}}) == created
    code, updated = await http("PUT", f"{CONFIG_MAPS}/a?fieldManager=two", created)
    assert (code, updated) == (200, created)


async def test_an_update_that_leaves_managed_fields_out_keeps_them(http: Http) -> None:
    await http.create(f"{CONFIG_MAPS}?fieldManager=one", config_map("a", x="1", y="1"))
    code, updated = await http("PUT", f"{CONFIG_MAPS}/a?fieldManager=two", config_map("a", x="1", y="2"))
    assert code == 200
    assert set(entries(updated)) == {("one", "Update", ""), ("two", "Update", "")}


@pytest.mark.parametrize("reset", [[], [{}]])
async def test_an_update_with_no_managed_fields_gives_up_all_ownership(http: Http, reset: Any) -> None:
    created = await http.create(CONFIG_MAPS, config_map("a", x="1"))
    created["metadata"]["managedFields"] = reset
    code, updated = await http("PUT", f"{CONFIG_MAPS}/a", created)
    assert code == 200
    assert "managedFields" not in updated["metadata"]
    # Nobody keeps account of it from now on, until it is applied.
    assert "managedFields" not in (await http.merge(f"{CONFIG_MAPS}/a", {"data": {"x": "2"}}))["metadata"]


@pytest.mark.parametrize(
    ("type_", "body"),
    [
        (JSON, [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]),
        (MERGE, {"metadata": {"managedFields": [{}]}}),
    ],
)
async def test_a_patch_can_give_up_all_ownership(http: Http, type_: str, body: Any) -> None:
    await http.create(CONFIG_MAPS, config_map("a", x="1"))
    code, patched = await http("PATCH", f"{CONFIG_MAPS}/a", body, type_)
    assert code == 200
    assert "managedFields" not in patched["metadata"]


async def test_a_patch_can_take_out_one_entry(http: Http) -> None:
    await http.create(f"{CONFIG_MAPS}?fieldManager=one", config_map("a", x="1"))
    await http.merge(f"{CONFIG_MAPS}/a?fieldManager=two", {"data": {"y": "1"}})
    body = [
        {"op": "test", "path": "/metadata/managedFields/0/manager", "value": "one"},
        {"op": "remove", "path": "/metadata/managedFields/0"},
    ]
    code, patched = await http("PATCH", f"{CONFIG_MAPS}/a", body, JSON)
    assert code == 200
    assert set(entries(patched)) == {("two", "Update", "")}


async def test_managed_fields_that_cannot_be_read_are_taken_for_not_given(http: Http) -> None:
    created = await http.create(f"{CONFIG_MAPS}?fieldManager=one", config_map("a", x="1"))
    wrong: list[dict[str, Any]] = [
        {"operation": "Delete"},
        {"fieldsType": "FieldsV9"},
        {"fieldsType": ""},
        {"apiVersion": ""},
        {"fieldsV1": {"x:y": {}}},
        {"fieldsV1": {"f:a": {"k:x": {}}}},
    ]
    for change in wrong:
        entry = {**only(created), **change}
        code, updated = await http(
            "PUT", f"{CONFIG_MAPS}/a", {**config_map("a", x="1"), "metadata": {"name": "a", "managedFields": [entry]}}
        )
        assert (code, updated) == (200, created)


async def test_ten_managers_are_remembered_and_those_before_become_one(http: Http, clock: FakeClock) -> None:
    await http.create(f"{CONFIG_MAPS}?fieldManager=m0", config_map("a", k0="1"))
    for number in range(1, 13):
        await clock.advance(1)
        patched = await http.merge(f"{CONFIG_MAPS}/a?fieldManager=m{number}", {"data": {f"k{number}": "1"}})
    found = entries(patched)
    assert len(found) == 10
    assert found["ancient-changes", "Update", ""] == {
        "f:data": {".": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}}
    }
    assert set(found) == {("ancient-changes", "Update", "")} | {(f"m{n}", "Update", "") for n in range(4, 13)}


async def test_a_finalizer_and_an_owner_are_owned_each(http: Http) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1"}
    created = await http.create(
        CONFIG_MAPS, {"metadata": {"name": "a", "finalizers": ["x.io/f"], "ownerReferences": [owner]}}
    )
    assert only(created)["fieldsV1"]["f:metadata"] == {
        "f:finalizers": {".": {}, 'v:"x.io/f"': {}},
        "f:ownerReferences": {".": {}, 'k:{"uid":"u-1"}': {}},
    }


async def test_a_delete_does_not_change_who_owns_what(http: Http) -> None:
    created = await http.create(CONFIG_MAPS, {"metadata": {"name": "a", "finalizers": ["x.io/f"]}, "data": {"x": "1"}})
    code, deleted = await http("DELETE", f"{CONFIG_MAPS}/a")
    assert code == 200
    assert deleted["metadata"]["managedFields"] == created["metadata"]["managedFields"]
    assert "deletionTimestamp" in deleted["metadata"]


# -- subresources ------------------------------------------------------------------------------------------------------


async def test_who_writes_a_status_has_an_entry_of_its_own(http: Http) -> None:
    await http.create(
        f"{CORE}/pods?fieldManager=one",
        {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    )
    ready = {"type": "Ready", "status": "True"}
    body = {"metadata": {"labels": {"l": "1"}}, "spec": {"nodeName": "n"}, "status": {"conditions": [ready]}}
    patched = await http.merge(f"{CORE}/pods/p/status?fieldManager=one", body)
    assert entries(patched)["one", "Update", "status"] == {
        "f:metadata": {"f:labels": {".": {}, "f:l": {}}},
        "f:status": {
            "f:conditions": {
                ".": {},
                'k:{"type":"Ready"}': {
                    ".": {},
                    "f:lastProbeTime": {},
                    "f:lastTransitionTime": {},
                    "f:status": {},
                    "f:type": {},
                },
            }
        },
    }
    assert len(entries(patched)) == 2


async def test_managed_fields_sent_to_a_subresource_are_not_looked_at(http: Http) -> None:
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    created = await http.create(f"{CORE}/pods", body)
    created["metadata"]["managedFields"] = [{}]
    created["status"]["message"] = "m"
    code, updated = await http("PUT", f"{CORE}/pods/p/status", created)
    assert code == 200
    assert len(entries(updated)) == 2


async def test_a_scale_takes_the_replicas_and_has_no_time(http: Http) -> None:
    await http.create(f"{DEPLOYMENTS}?fieldManager=one", deployment("d"))
    code, _ = await http("PATCH", f"{DEPLOYMENTS}/d/scale?fieldManager=two", {"spec": {"replicas": 3}}, MERGE)
    assert code == 200
    scaled = await http.get(f"{DEPLOYMENTS}/d")
    found = entries(scaled)
    assert found["two", "Update", "scale"] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in found["one", "Update", ""]["f:spec"]
    (entry,) = (one for one in scaled["metadata"]["managedFields"] if one["manager"] == "two")
    assert (entry["apiVersion"], "time" in entry) == ("apps/v1", False)


async def test_a_binding_is_not_noted(http: Http) -> None:
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    created = await http.create(f"{CORE}/pods", body)
    code, _ = await http("POST", f"{CORE}/pods/p/binding", {"metadata": {"name": "p"}, "target": {"name": "n"}})
    assert code == 201
    bound = await http.get(f"{CORE}/pods/p")
    assert bound["spec"]["nodeName"] == "n"
    assert bound["metadata"]["managedFields"] == created["metadata"]["managedFields"]


# -- other things ------------------------------------------------------------------------------------------------------


async def test_a_field_of_a_custom_resource_is_owned_as_its_schema_says(http: Http) -> None:
    of_port = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "number": {"type": "integer"}},
    }
    spec = {
        "ports": {
            "type": "array",
            "items": of_port,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "plain": {"type": "array", "items": {"type": "string"}},
        "whole": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "x-kubernetes-map-type": "atomic",
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    await http.create(DEFINITIONS, definition("things", "Thing", "x.io", schema=schema))
    thing = {
        "apiVersion": "x.io/v1",
        "kind": "Thing",
        "metadata": {"name": "t"},
        "spec": {
            "ports": [{"name": "a", "number": 1}],
            "tags": ["x"],
            "plain": ["p"],
            "whole": {"k": "v"},
            "free": {"l": [1], "m": {"n": 1}},
        },
    }
    created = await http.create("/apis/x.io/v1/namespaces/default/things", thing)
    assert only(created)["fieldsV1"] == {
        "f:spec": {
            ".": {},
            "f:ports": {".": {}, 'k:{"name":"a"}': {".": {}, "f:name": {}, "f:number": {}}},
            "f:tags": {".": {}, 'v:"x"': {}},
            "f:plain": {},
            "f:whole": {},
            "f:free": {".": {}, "f:l": {}, "f:m": {".": {}, "f:n": {}}},
        }
    }


async def test_a_dry_run_shows_what_would_be_noted(http: Http) -> None:
    created = await http.create(f"{CONFIG_MAPS}?fieldManager=one", config_map("a", x="1"))
    patched = await http.merge(f"{CONFIG_MAPS}/a?fieldManager=two&dryRun=All", {"data": {"y": "1"}})
    assert set(entries(patched)) == {("one", "Update", ""), ("two", "Update", "")}
    assert await http.get(f"{CONFIG_MAPS}/a") == created


async def test_managed_fields_outlast_a_restart(tmp_path: Path) -> None:
    data = tmp_path / "data.db"
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer t"}) as session:
        async with ApiServer(data=data, token="t", plugins=False) as server:
            http = Http(server, session)
            created = await http.create(f"{CONFIG_MAPS}?fieldManager=one", config_map("a", x="1", y="1"))
        async with ApiServer(data=data, token="t", plugins=False, clock=FakeClock()) as server:
            http = Http(server, session)
            assert await http.get(f"{CONFIG_MAPS}/a") == created
            assert await http.merge(f"{CONFIG_MAPS}/a", {"data": {"x": "1"}}) == created
            patched = await http.merge(f"{CONFIG_MAPS}/a?fieldManager=two", {"data": {"y": "2"}})
    assert entries(patched) == {
        ("one", "Update", ""): {"f:data": {".": {}, "f:x": {}}},
        ("two", "Update", ""): {"f:data": {"f:y": {}}},
    }


async def test_the_same_set_is_stored_once_for_all_objects_that_have_it(http: Http, server: ApiServer) -> None:
    pods = [
        await http.create(
            f"{CORE}/pods?fieldManager=rc",
            {
                "metadata": {"generateName": "p-", "labels": {"app": "a"}},
                "spec": {"containers": [{"name": "c", "image": f"i:{number}"}]},
            },
        )
        for number in range(3)
    ]
    resource = server.registry.find("", "v1", "pods")
    assert resource is not None
    managed = {id(version.managed) for version in server.storage.log(resource.storage).select("default")}
    assert (len(pods), len(managed)) == (3, 1)
