"""What is said of patches that are none, or make no object."""

from __future__ import annotations

from typing import Any

import pytest

from tests.envtest.apply.test_managed_fields import APPLY, DEPLOYMENTS, JSON, MERGE, STRATEGIC, deployment
from tests.envtest.conftest import Http

IN_YAML = "error unmarshaling JSON: while decoding JSON"
INTO_MAP = "into Go value of type map[string]interface {}"


@pytest.mark.parametrize(
    ("type_", "body", "message"),
    [
        (MERGE, b"[]", f"error decoding patch: json: cannot unmarshal array {INTO_MAP}"),
        (MERGE, b'"x"', f"error decoding patch: json: cannot unmarshal string {INTO_MAP}"),
        (MERGE, b"{", "error decoding patch: unexpected end of JSON input"),
        (MERGE, b"null", "Invalid JSON Patch"),
        (STRATEGIC, b"[]", f"json: cannot unmarshal array {INTO_MAP}"),
        (STRATEGIC, b"{", "unexpected end of JSON input"),
        (
            JSON,
            b"{}",
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            JSON,
            b"[1]",
            "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
        ),
        (
            JSON,
            b'[{"op":5}]',
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
        (MERGE, b'{"metadata":{"name":"e"}}', "the name of the object (e) does not match the name on the URL (d)"),
        (
            MERGE,
            b'{"metadata":{"namespace":"e"}}',
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            APPLY,
            b"[]",
            f"error decoding YAML: {IN_YAML}: json: cannot unmarshal array {INTO_MAP}",
        ),
        (APPLY, b"", "invalid object type: /, Kind="),
    ],
)
async def test_a_bad_patch_is_a_bad_request(http: Http, type_: str, body: bytes, message: str) -> None:
    await http.create(DEPLOYMENTS, deployment("d"))
    code, refused = await http("PATCH", f"{DEPLOYMENTS}/d?fieldManager=m", body, type_)
    assert (code, refused["reason"], refused["message"]) == (400, "BadRequest", message)


@pytest.mark.parametrize(
    ("type_", "body", "shown", "why"),
    [
        (STRATEGIC, {"spec": {"replicas": "x"}}, "map[spec:map[replicas:x]]", "json: cannot unmarshal string into Go"),
        (
            STRATEGIC,
            {"spec": {"replicaz": 1}},
            "map[spec:map[replicaz:1]]",
            'strict decoding error: unknown field "spec.replicaz"',
        ),
        (
            MERGE,
            {"spec": {"replicas": "x"}},
            '"replicas":"x"',
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (JSON, [{"op": "add", "path": "/spec/replicaz", "value": 1}], '"replicaz":1', "strict decoding error: "),
        (MERGE, {"apiVersion": "apps/v9"}, '"apiVersion":"apps/v9"', 'no kind "Deployment" is registered for version'),
    ],
)
async def test_a_patch_that_makes_no_object_is_invalid(http: Http, type_: str, body: Any, shown: str, why: str) -> None:
    await http.create(DEPLOYMENTS, deployment("d"))
    code, refused = await http("PATCH", f"{DEPLOYMENTS}/d?fieldValidation=Strict", body, type_)
    assert (code, refused["reason"]) == (422, "Invalid")
    (cause,) = refused["details"].pop("causes")
    assert (cause["reason"], cause["field"], refused["details"]) == ("FieldValueInvalid", "patch", {})
    assert refused["message"] == f' "" is invalid: patch: {cause["message"]}'
    assert shown in cause["message"].replace('\\"', '"')
    assert why in cause["message"]


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"image": "x"}, "map: map[image:x] does not contain declared merge key: name"),
        ({"$patch": "nope", "name": "c"}, "unknown patch type: nope in map: map[$patch:nope name:c]"),
    ],
)
async def test_what_strategic_merge_does_not_know_is_an_error_without_a_reason(
    http: Http, container: Any, message: str
) -> None:
    await http.create(DEPLOYMENTS, deployment("d"))
    body = {"spec": {"template": {"spec": {"containers": [container]}}}}
    code, refused = await http("PATCH", f"{DEPLOYMENTS}/d", body, STRATEGIC)
    assert (code, refused.get("reason"), refused["message"]) == (500, None, message)


async def test_a_value_of_a_wrong_type_cannot_be_applied(http: Http) -> None:
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"replicas": "x"}}
    code, refused = await http("PATCH", f"{DEPLOYMENTS}/d?fieldManager=m", body, APPLY)
    assert code == 500
    assert refused["message"] == (
        "failed to create typed patch object (/d; apps/v1, Kind=Deployment): "
        "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    )


@pytest.mark.parametrize(("method", "code"), [("PATCH", 422), ("PUT", 409)])
async def test_another_uid_is_a_conflict_in_updates_and_invalid_in_patches(http: Http, method: str, code: int) -> None:
    made = await http.create(DEPLOYMENTS, deployment("d"))
    body = {**made, "metadata": {**made["metadata"], "uid": "u"}}
    type_ = MERGE if method == "PATCH" else "application/json"
    assert (await http(method, f"{DEPLOYMENTS}/d", body, type_))[0] == code


async def test_what_has_a_uid_is_not_created_by_an_apply(http: Http) -> None:
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "n", "uid": "u"}}
    code, refused = await http("PATCH", f"{DEPLOYMENTS}/n?fieldManager=m", body, APPLY)
    assert (code, refused["reason"]) == (409, "Conflict")
    why = "uid mismatch: the provided object specified uid u, and no existing object was found"
    assert refused["message"].endswith(why)


TWICE = b'{"spec":{"paused":true,"paused":false},"zzz":1,"aaa":2}'
SAID_TWICE = [
    (MERGE, TWICE, ['duplicate field "spec.paused"', 'unknown field "aaa"', 'unknown field "zzz"']),
    (STRATEGIC, TWICE, ['duplicate field "spec.paused"', 'unknown field "aaa"', 'unknown field "zzz"']),
    (STRATEGIC, b'{"spec":{"paused":true,"paused":false}}', ['duplicate field "spec.paused"']),
    (
        JSON,
        b'[{"op":"test","op":"add","path":"/spec/paused","value":true}]',
        ['json patch duplicate field "[0].op"'],
    ),
    (
        JSON,
        b'[{"op":"add","path":"/metadata/labels","value":{"a":"b","a":"c"}}]',
        ['json patch duplicate field "[0].value.a"'],
    ),
    (
        JSON,
        b'[{"op":"add","path":"/spec/nope","value":1}]',
        ['unknown field "spec.nope"'],
    ),
]


@pytest.mark.parametrize(("type_", "body", "told"), SAID_TWICE)
async def test_a_strict_patch_says_nothing_twice(http: Http, type_: str, body: bytes, told: list[str]) -> None:
    await http.create(DEPLOYMENTS, deployment("d"))
    code, refused = await http("PATCH", f"{DEPLOYMENTS}/d?fieldValidation=Strict", body, type_)
    assert (code, refused["reason"]) == (422, "Invalid")
    assert refused["message"].endswith(f": strict decoding error: {', '.join(told)}")


@pytest.mark.parametrize(("type_", "body", "told"), SAID_TWICE)
async def test_what_a_patch_says_twice_is_warned_of_unless_it_is_ignored(
    http: Http, type_: str, body: bytes, told: list[str]
) -> None:
    await http.create(DEPLOYMENTS, deployment("d"))
    for query, expected in (("", told), ("?fieldValidation=Ignore", [])):
        url = f"{http.server.url}{DEPLOYMENTS}/d{query}"
        async with http.session.patch(url, data=body, headers={"Content-Type": type_}) as response:
            assert response.status == 200
            warnings = response.headers.getall("Warning", [])
        assert [one[7:-1].replace('\\"', '"') for one in warnings] == expected


@pytest.mark.parametrize("type_", [MERGE, STRATEGIC])
@pytest.mark.parametrize(
    "path",
    ["/api/v1/namespaces/default/events/e", "/apis/coordination.k8s.io/v1/namespaces/default/leases/e"],
)
async def test_a_patch_creates_nothing_also_where_a_put_does(http: Http, type_: str, path: str) -> None:
    code, refused = await http("PATCH", path, b'{"metadata":{"name":"e","namespace":"default"}}', type_)
    assert (code, refused["reason"]) == (404, "NotFound")
