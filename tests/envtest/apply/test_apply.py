"""Server-side apply: fields that several managers set, side by side and against each other."""

from __future__ import annotations

import json
from typing import Any

from kinformer.clock import FakeClock
from tests.envtest.apply.test_managed_fields import (
    APPLY,
    CONFIG_MAPS,
    DEPLOYMENTS,
    JSON,
    config_map,
    entries,
)
from tests.envtest.conftest import Http


async def apply(http: Http, body: dict[str, Any], manager: str, query: str = "", path: str = "") -> tuple[int, Any]:
    path = path or f"{CONFIG_MAPS}/{body['metadata']['name']}"
    return await http("PATCH", f"{path}?fieldManager={manager}{query}", body, APPLY)


def applied_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", **config_map(name, **data)}


def applied_deployment(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


def containers(*containers: dict[str, Any]) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": list(containers)}}
    return applied_deployment(selector={"matchLabels": {"app": "a"}}, template=template)


async def test_an_apply_owns_what_it_mentions_and_not_what_is_around_it(http: Http) -> None:
    code, created = await apply(http, containers({"name": "c", "image": "i"}), "one", path=f"{DEPLOYMENTS}/d")
    assert code == 201
    assert entries(created) == {
        ("one", "Apply", ""): {
            "f:spec": {
                "f:selector": {},
                "f:template": {
                    "f:metadata": {"f:labels": {"f:app": {}}},
                    "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}, "f:name": {}}}},
                },
            }
        }
    }


async def test_a_field_set_by_an_update_is_a_conflict_with_its_author(http: Http) -> None:
    await http.create(f"{CONFIG_MAPS}?fieldManager=kubectl-create", config_map("a", x="1", y="1"))
    await http.merge(f"{CONFIG_MAPS}/a?fieldManager=kubectl-edit", {"data": {"y": "2"}})
    code, refused = await apply(http, applied_map("a", x="9", y="9"), "one")
    assert (code, refused["reason"]) == (409, "Conflict")
    assert refused["message"] == (
        'Apply failed with 2 conflicts: conflicts with "kubectl-create" using v1:\n- .data.x\n'
        'conflicts with "kubectl-edit" using v1:\n- .data.y'
    )
    assert refused["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl-create" using v1',
            "field": ".data.x",
        },
        {"reason": "FieldManagerConflict", "message": 'conflict with "kubectl-edit" using v1', "field": ".data.y"},
    ]


async def test_a_conflict_names_entries_by_their_keys_and_the_subresource(http: Http) -> None:
    await http.create(f"{DEPLOYMENTS}?fieldManager=one", containers({"name": "c", "image": "i"}))
    code, refused = await apply(http, containers({"name": "c", "image": "j"}), "two", path=f"{DEPLOYMENTS}/d")
    assert code == 409
    assert refused["message"] == (
        'Apply failed with 1 conflict: conflict with "one" using apps/v1: '
        '.spec.template.spec.containers[name="c"].image'
    )
    scaled = {"spec": {"replicas": 2}}
    await http("PATCH", f"{DEPLOYMENTS}/d/scale?fieldManager=scaler", scaled, "application/merge-patch+json")
    code, refused = await apply(http, applied_deployment(replicas=3), "two", path=f"{DEPLOYMENTS}/d")
    assert code == 409
    assert refused["message"] == (
        'Apply failed with 1 conflict: conflict with "scaler" with subresource "scale" using apps/v1: .spec.replicas'
    )


async def test_two_who_apply_the_same_value_both_own_it(http: Http) -> None:
    await apply(http, applied_map("a", x="1"), "one")
    code, applied = await apply(http, applied_map("a", x="1"), "two")
    assert code == 200
    assert set(entries(applied)) == {("one", "Apply", ""), ("two", "Apply", "")}


async def test_force_takes_ownership(http: Http) -> None:
    await apply(http, applied_map("a", x="1", y="1"), "one")
    code, applied = await apply(http, applied_map("a", x="2"), "two", "&force=true")
    assert (code, applied["data"]) == (200, {"x": "2", "y": "1"})
    assert entries(applied) == {
        ("one", "Apply", ""): {"f:data": {"f:y": {}}},
        ("two", "Apply", ""): {"f:data": {"f:x": {}}},
    }


async def test_what_is_no_longer_applied_goes_unless_somebody_else_has_it(http: Http) -> None:
    await apply(http, applied_map("a", mine="1", shared="1", other="1"), "one")
    await apply(http, applied_map("a", shared="1"), "two")
    await http.merge(f"{CONFIG_MAPS}/a?fieldManager=three", {"data": {"added": "1"}})
    code, applied = await apply(http, applied_map("a", other="1"), "one")
    assert (code, applied["data"]) == (200, {"shared": "1", "other": "1", "added": "1"})
    assert entries(applied)["one", "Apply", ""] == {"f:data": {"f:other": {}}}


async def test_an_entry_no_longer_applied_is_removed_with_its_contents(http: Http) -> None:
    path = f"{DEPLOYMENTS}/d"
    await apply(http, containers({"name": "a", "image": "i"}, {"name": "b", "image": "i"}), "one", path=path)
    code, applied = await apply(http, containers({"name": "b", "image": "i"}), "one", path=path)
    assert code == 200
    assert [one["name"] for one in applied["spec"]["template"]["spec"]["containers"]] == ["b"]


async def test_an_entry_partly_owned_by_another_keeps_that_part(http: Http) -> None:
    path = f"{DEPLOYMENTS}/d"
    await apply(http, containers({"name": "a", "image": "i"}, {"name": "b", "image": "i"}), "one", path=path)
    other = containers({"name": "a", "image": "i", "workingDir": "/w"})
    del other["spec"]["selector"]
    await apply(http, other, "two", path=path)
    code, applied = await apply(http, containers({"name": "b", "image": "i"}), "one", path=path)
    assert code == 200
    found = {one["name"]: one for one in applied["spec"]["template"]["spec"]["containers"]}
    assert (found["a"]["workingDir"], found["a"]["image"]) == ("/w", "i")


async def test_entries_come_in_the_configurations_order_and_others_stay_where_they_were(http: Http) -> None:
    path = f"{DEPLOYMENTS}/d"
    await http.create(DEPLOYMENTS, containers(*({"name": name, "image": "i"} for name in "abcd")))
    wanted = containers(*({"name": name, "image": "i"} for name in ("d", "x", "b")))
    code, applied = await apply(http, wanted, "one", path=path)
    assert code == 200
    names = [one["name"] for one in applied["spec"]["template"]["spec"]["containers"]]
    assert names == ["a", "c", "d", "x", "b"]


async def test_an_apply_that_changes_nothing_makes_no_version(http: Http, clock: FakeClock) -> None:
    _, created = await apply(http, applied_map("a", x="1"), "one")
    await clock.advance(5)
    assert await apply(http, applied_map("a", x="1"), "one") == (200, created)


async def test_who_comes_to_own_something_without_changing_it_has_no_time(http: Http) -> None:
    await apply(http, applied_map("a", x="1"), "one")
    _, applied = await apply(http, applied_map("a", x="1"), "two")
    times = {one["manager"]: "time" in one for one in applied["metadata"]["managedFields"]}
    assert times == {"one": True, "two": False}


async def test_what_nobody_kept_account_of_belongs_to_before_first_apply(http: Http) -> None:
    created = await http.create(CONFIG_MAPS, config_map("a", x="1"))
    created["metadata"]["managedFields"] = []
    await http("PUT", f"{CONFIG_MAPS}/a", created)
    code, refused = await apply(http, applied_map("a", x="2"), "one")
    assert (code, refused["details"]["causes"][0]["message"]) == (409, 'conflict with "before-first-apply" using v1')
    code, applied = await apply(http, applied_map("a", y="1"), "one")
    assert set(entries(applied)) == {("before-first-apply", "Update", ""), ("one", "Apply", "")}


async def test_a_status_is_applied_through_its_subresource_alone(http: Http) -> None:
    path = f"{DEPLOYMENTS}/d"
    await apply(http, containers({"name": "a", "image": "i"}), "one", path=path)
    body = {**applied_deployment(replicas=9), "status": {"observedGeneration": 1}}
    code, applied = await apply(http, body, "two", path=f"{path}/status")
    assert (code, applied["status"]["observedGeneration"]) == (200, 1)
    assert entries(applied)["two", "Apply", "status"] == {"f:status": {"f:observedGeneration": {}}}
    assert applied["spec"]["replicas"] == 1


async def test_an_applied_status_is_not_owned_by_an_apply_of_the_object(http: Http) -> None:
    body = {**containers({"name": "a", "image": "i"}), "status": {"observedGeneration": 1}}
    code, applied = await apply(http, body, "one", path=f"{DEPLOYMENTS}/d")
    assert code == 201
    assert "f:status" not in entries(applied)["one", "Apply", ""]


async def test_a_configuration_of_another_kind_or_with_managed_fields_is_refused(http: Http) -> None:
    path = f"{CONFIG_MAPS}/a"
    refusals: list[tuple[dict[str, Any], str]] = [
        ({**applied_map("a"), "kind": "Secret"}, "invalid object type: /v1, Kind=Secret"),
        ({"metadata": {"name": "a"}}, "invalid object type: /, Kind="),
        (
            {**applied_map("a"), "metadata": {"name": "a", "managedFields": []}},
            "metadata.managedFields must be nil",
        ),
        (applied_map("b"), "the name of the object (b) does not match the name on the URL (a)"),
    ]
    for body, message in refusals:
        code, refused = await apply(http, body, "one", path=path)
        assert (code, refused["reason"], refused["message"]) == (400, "BadRequest", message)


async def test_two_entries_that_are_the_same_are_refused(http: Http) -> None:
    body = containers({"name": "c", "image": "i"}, {"name": "c", "image": "j"})
    code, refused = await apply(http, body, "one", path=f"{DEPLOYMENTS}/d")
    assert code == 500
    assert refused["message"] == (
        "failed to create typed patch object (/d; apps/v1, Kind=Deployment): "
        '.spec.template.spec.containers: duplicate entries for key [name="c"]'
    )


async def test_a_field_that_the_type_does_not_have_is_refused(http: Http) -> None:
    code, refused = await apply(http, applied_deployment(replicaz=1), "one", path=f"{DEPLOYMENTS}/d")
    assert code == 500
    assert refused["message"] == (
        "failed to create typed patch object (/d; apps/v1, Kind=Deployment): "
        ".spec.replicaz: field not declared in schema"
    )


async def test_all_unknown_fields_are_told_also_those_of_atomic_values(http: Http) -> None:
    body = containers({"name": "c", "image": "i", "imagee": "i"})
    body["spec"]["selector"] = {"matchLabels": {"a": "b"}, "matchLabel": {}}
    code, refused = await apply(http, body, "one", path=f"{DEPLOYMENTS}/d")
    assert code == 500
    _, _, mistakes = refused["message"].partition("errors:")
    assert sorted(mistakes.split("\n  ")) == [
        "",
        ".spec.selector.matchLabel: field not declared in schema",
        '.spec.template.spec.containers[name="c"].imagee: field not declared in schema',
    ]


async def test_kubectl_may_change_what_it_has_applied_by_itself_before(http: Http) -> None:
    note = "kubectl.kubernetes.io/last-applied-configuration"
    text = json.dumps(applied_map("a", x="1"))
    body = config_map("a", x="1", y="1")
    body["metadata"]["annotations"] = {note: text}
    await http.create(f"{CONFIG_MAPS}?fieldManager=kubectl-client-side-apply", body)
    assert (await apply(http, applied_map("a", x="2"), "other"))[0] == 409
    assert (await apply(http, applied_map("a", y="2"), "kubectl"))[0] == 409
    code, applied = await apply(http, applied_map("a", x="2"), "kubectl")
    assert (code, applied["data"]) == (200, {"x": "2", "y": "1"})
    assert json.loads(applied["metadata"]["annotations"][note]) == applied_map("a", x="2")


async def test_a_plain_update_takes_a_field_from_who_applied_it(http: Http) -> None:
    await apply(http, applied_map("a", x="1", y="1"), "one")
    body = [{"op": "replace", "path": "/data/x", "value": "2"}]
    _, patched = await http("PATCH", f"{CONFIG_MAPS}/a?fieldManager=two", body, JSON)
    assert entries(patched) == {
        ("one", "Apply", ""): {"f:data": {"f:y": {}}},
        ("two", "Update", ""): {"f:data": {"f:x": {}}},
    }
