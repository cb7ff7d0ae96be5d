"""Custom resources of two versions: v1 has a size, v2 has the same in a spec of another form; v1 is stored."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest
from aiohttp import web

from kinformer.envtest.certificates import Authority
from tests.envtest.conftest import Http

pytest.importorskip("cryptography", reason="webhooks are called over TLS only")

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
V1 = "/apis/example.com/v1/namespaces/default/widgets"
V2 = "/apis/example.com/v2/namespaces/default/widgets"
MERGE = "application/merge-patch+json"


class Converter:
    """
    :ivar asked: the requests of all reviews
    :ivar change: gives an object at the version that is wanted
    :ivar fail: a result to give instead
    """

    def __init__(self, authority: Authority) -> None:
        self.port = 0
        self.asked: list[dict[str, Any]] = []
        self.bundle = base64.b64encode(authority.certificate).decode()
        self.change: Callable[[dict[str, Any], str], dict[str, Any]] = convert
        self.fail: dict[str, Any] | None = None

    async def handle(self, http: web.BaseRequest) -> web.Response:
        review = await http.json()
        request = review["request"]
        self.asked.append({**request, "review": review["apiVersion"], "path": http.path_qs})
        response: dict[str, Any] = {"uid": request["uid"], "result": self.fail or {"status": "Success"}}
        if self.fail is None:
            version = request["desiredAPIVersion"]
            response["convertedObjects"] = [self.change(obj, version) for obj in request["objects"]]
        return web.json_response({"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response})


def convert(obj: dict[str, Any], version: str) -> dict[str, Any]:
    spec = obj["spec"]
    size = spec["dimensions"]["size"] if "dimensions" in spec else spec["size"]
    new = {"size": size} if version.endswith("/v1") else {"dimensions": {"size": size}}
    return {**obj, "apiVersion": version, "spec": new}


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
async def converter(authority: Authority) -> AsyncIterator[Converter]:
    converter = Converter(authority)
    runner = web.ServerRunner(web.Server(converter.handle), shutdown_timeout=0.2)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=authority.server_context(("127.0.0.1",))).start()
        converter.port = runner.addresses[0][1]
        yield converter
    finally:
        await runner.cleanup()


def version(name: str, spec: dict[str, Any], **fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", **spec}}}
    return {"name": name, "served": True, "storage": False, "schema": {"openAPIV3Schema": schema}, **fields}


def definition(converter: Converter, stored: str = "v1", **fields: Any) -> dict[str, Any]:
    size = {"type": "integer", "maximum": 9}
    dimensions = {"type": "object", "required": ["size"], "properties": {"size": size, "unit": UNIT}}
    versions = [
        version("v1", {"properties": {"size": size}}, **fields),
        version("v2", {"required": ["dimensions"], "properties": {"dimensions": dimensions}}, **fields),
    ]
    for one in versions:
        one["storage"] = one["name"] == stored
    client = {"url": f"https://127.0.0.1:{converter.port}/convert", "caBundle": converter.bundle}
    conversion = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
    }
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    return {"metadata": {"name": "widgets.example.com"}, "spec": {**spec, "conversion": conversion}}


UNIT = {"type": "string", "default": "cm"}


def small(name: str = "w", size: int = 1) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": size}}


def large(name: str = "w", size: int = 1) -> dict[str, Any]:
    spec = {"dimensions": {"size": size}}
    return {"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


async def test_an_object_is_read_at_another_version_as_the_webhook_makes_it(http: Http, converter: Converter) -> None:
    await http.create(DEFINITIONS, definition(converter))
    created = await http.create(V1, small(size=3))
    assert converter.asked == []
    read = await http.get(f"{V2}/w")
    assert (read["apiVersion"], read["kind"]) == ("example.com/v2", "Widget")
    assert read["spec"] == {"dimensions": {"size": 3, "unit": "cm"}}
    assert read["metadata"] == created["metadata"]
    [asked] = converter.asked
    assert (asked["review"], asked["desiredAPIVersion"]) == ("apiextensions.k8s.io/v1", "example.com/v2")
    assert asked["path"] == "/convert?timeout=30s"
    assert asked["objects"][0] == created


async def test_an_object_is_written_at_another_version(http: Http, converter: Converter) -> None:
    await http.create(DEFINITIONS, definition(converter))
    created = await http.create(V2, large(size=2))
    assert created["spec"] == {"dimensions": {"size": 2, "unit": "cm"}}
    stored = await http.get(f"{V1}/w")
    assert stored["spec"] == {"size": 2}
    assert stored["metadata"] == created["metadata"]
    patched = (await http("PATCH", f"{V2}/w", {"spec": {"dimensions": {"size": 4}}}, MERGE))[1]
    assert (patched["spec"]["dimensions"]["size"], patched["metadata"]["generation"]) == (4, 2)
    read = await http.get(f"{V1}/w")
    assert (read["spec"], read["metadata"]) == ({"size": 4}, patched["metadata"])


async def test_what_is_written_is_checked_at_the_version_it_is_written_at(http: Http, converter: Converter) -> None:
    await http.create(DEFINITIONS, definition(converter))
    code, refusal = await http("POST", V2, {**large(), "spec": {}})
    assert (code, refusal["details"]["causes"][0]["field"]) == (422, "spec.dimensions")
    code, refusal = await http("POST", V2, large(size=10))
    assert (code, refusal["details"]["causes"][0]["field"]) == (422, "spec.dimensions.size")
    assert converter.asked == []


async def test_an_update_with_an_old_version_is_a_conflict_at_any_version(http: Http, converter: Converter) -> None:
    await http.create(DEFINITIONS, definition(converter))
    await http.create(V1, small())
    read = await http.get(f"{V2}/w")
    await http.merge(f"{V1}/w", {"spec": {"size": 2}})
    code, refusal = await http("PUT", f"{V2}/w", read)
    assert (code, refusal["reason"]) == (409, "Conflict")
    read = await http.get(f"{V2}/w")
    read["spec"]["dimensions"]["size"] = 3
    assert (await http("PUT", f"{V2}/w", read))[0] == 200
    assert (await http.get(f"{V1}/w"))["spec"] == {"size": 3}


async def test_a_write_that_changes_nothing_stays_unwritten(http: Http, converter: Converter) -> None:
    await http.create(DEFINITIONS, definition(converter))
    await http.create(V2, large())
    read = await http.get(f"{V2}/w")
    assert (await http.merge(f"{V2}/w", {"spec": {"dimensions": {"size": 1}}}))["metadata"] == read["metadata"]


async def test_a_list_is_converted_and_selected_and_paged_like_any_other(http: Http, converter: Converter) -> None:
    await http.create(DEFINITIONS, definition(converter))
    for index in range(3):
        await http.create(
            V1, {**small(f"w{index}", index), "metadata": {"name": f"w{index}", "labels": {"n": f"{index}"}}}
        )
    listed = await http.get(V2)
    assert [item["spec"]["dimensions"]["size"] for item in listed["items"]] == [0, 1, 2]
    assert {item["apiVersion"] for item in listed["items"]} == {"example.com/v2"}
    assert len((await http.get(f"{V2}?labelSelector=n%3D1"))["items"]) == 1
    page = await http.get(f"{V2}?limit=2")
    rest = await http.get(f"{V2}?limit=2&continue={page['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in rest["items"]] == ["w2"]
    # One review for what came in one piece.
    assert [len(asked["objects"]) for asked in converter.asked] == [3]


async def test_a_watch_shows_changes_at_its_version(http: Http, converter: Converter) -> None:
    await http.create(DEFINITIONS, definition(converter))
    await http.create(V1, small(size=1))
    url = f"{http.server.url}{V2}?watch=true&resourceVersion=0"
    events: list[tuple[str, int]] = []
    async with http.session.get(url) as response:
        with anyio.fail_after(60):
            async for line in response.content:
                event = json.loads(line)
                events.append((event["type"], event["object"]["spec"]["dimensions"]["size"]))
                assert event["object"]["apiVersion"] == "example.com/v2"
                match len(events):
                    case 1:
                        await http.merge(f"{V1}/w", {"spec": {"size": 2}})
                    case 2:
                        await http.merge(f"{V2}/w", {"spec": {"dimensions": {"size": 3}}})
                    case 3:
                        await http("DELETE", f"{V1}/w")
                    case 4:
                        break
    assert events == [("ADDED", 1), ("MODIFIED", 2), ("MODIFIED", 3), ("DELETED", 3)]


async def test_an_object_is_deleted_at_any_version(http: Http, converter: Converter) -> None:
    await http.create(DEFINITIONS, definition(converter))
    await http.create(V1, small())
    code, deleted = await http("DELETE", f"{V2}/w")
    assert (code, deleted["status"]) == (200, "Success")
    assert (await http("GET", f"{V1}/w"))[0] == 404
    body = small()
    body["metadata"]["finalizers"] = ["example.com/wait"]
    await http.create(V1, body)
    code, marked = await http("DELETE", f"{V2}/w")
    assert (code, marked["apiVersion"], marked["spec"]["dimensions"]["size"]) == (200, "example.com/v2", 1)
    assert "deletionTimestamp" in marked["metadata"]
    await http.merge(f"{V2}/w", {"metadata": {"finalizers": None}})
    assert (await http("GET", f"{V1}/w"))[0] == 404


async def test_a_status_is_written_at_another_version(http: Http, converter: Converter) -> None:
    body = definition(converter, subresources={"status": {}})
    for one in body["spec"]["versions"]:
        schema = one["schema"]["openAPIV3Schema"]
        schema["properties"]["status"] = {"type": "object", "properties": {"ready": {"type": "integer"}}}
    await http.create(DEFINITIONS, body)
    await http.create(V1, small(size=2))
    patched = await http.merge(f"{V2}/w/status", {"status": {"ready": 1}})
    assert (patched["status"], patched["metadata"]["generation"]) == ({"ready": 1}, 1)
    assert (await http.get(f"{V1}/w"))["spec"] == {"size": 2}
    assert (await http.get(f"{V1}/w"))["status"] == {"ready": 1}


async def test_an_apply_at_another_version_is_stored(http: Http, converter: Converter) -> None:
    await http.create(DEFINITIONS, definition(converter))
    code, applied = await http("PATCH", f"{V2}/w?fieldManager=me", large(size=5), "application/apply-patch+yaml")
    assert (code, applied["spec"]["dimensions"]["size"]) == (201, 5)
    assert (await http.get(f"{V1}/w"))["spec"] == {"size": 5}


async def test_objects_keep_their_stored_version_until_they_are_written(http: Http, converter: Converter) -> None:
    await http.create(DEFINITIONS, definition(converter))
    await http.create(V1, small("old", 1))
    stored = await http.get(f"{DEFINITIONS}/widgets.example.com")
    for one in stored["spec"]["versions"]:
        one["storage"] = one["name"] == "v2"
    code, stored = await http("PUT", f"{DEFINITIONS}/widgets.example.com", stored)
    assert (code, stored["status"]["storedVersions"]) == (200, ["v1", "v2"])
    await http.create(V1, small("new", 2))
    for path, field in ((V1, lambda spec: spec["size"]), (V2, lambda spec: spec["dimensions"]["size"])):
        listed = await http.get(path)
        assert {item["metadata"]["name"]: field(item["spec"]) for item in listed["items"]} == {"old": 1, "new": 2}
    await http.merge(f"{V1}/old", {"spec": {"size": 3}})
    assert (await http.get(f"{V2}/old"))["spec"]["dimensions"]["size"] == 3


async def test_a_webhook_may_change_labels_but_no_other_metadata(http: Http, converter: Converter) -> None:
    def labelled(obj: dict[str, Any], version: str) -> dict[str, Any]:
        done = convert(obj, version)
        metadata = {**done["metadata"], "labels": {"at": version[-2:]}, "generation": 99}
        return {**done, "metadata": metadata}

    converter.change = labelled
    await http.create(DEFINITIONS, definition(converter))
    await http.create(V1, small())
    metadata = (await http.get(f"{V2}/w"))["metadata"]
    assert (metadata["labels"], metadata["generation"]) == ({"at": "v2"}, 1)


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"status": "Failure", "message": "cannot"}, "failed: cannot"),
        ({"status": "Failure"}, "failed: response.result.status was 'Failure', not 'Success'"),
        ({}, "failed: response.result.status was '', not 'Success'"),
    ],
)
async def test_a_conversion_that_fails_is_told_in_the_words_of_the_webhook(
    http: Http, converter: Converter, result: dict[str, Any], told: str
) -> None:
    await http.create(DEFINITIONS, definition(converter))
    await http.create(V1, small())
    converter.fail = {"code": 1, **result}
    for method, path, body in (("GET", f"{V2}/w", None), ("GET", V2, None), ("POST", V2, large("x"))):
        code, refusal = await http(method, path, body)
        assert (code, refusal["message"]) == (500, f"conversion webhook for example.com/v1, Kind=Widget {told}")
    assert (await http("GET", f"{V1}/w"))[0] == 200
    converter.fail = None
    assert (await http("GET", f"{V2}/w"))[0] == 200


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"apiVersion": "example.com/v9"}, "invalid groupVersion (expected example.com/v2, received example.com/v9)"),
        ({"kind": "Gadget"}, "invalid kind (expected Widget, received Gadget)"),
        ({"metadata": {"name": "other"}}, "must have the same name: w != other"),
        ({"metadata": None}, "missing metadata in converted object"),
    ],
)
async def test_an_answer_that_is_no_conversion_is_refused(
    http: Http, converter: Converter, change: dict[str, Any], told: str
) -> None:
    converter.change = lambda obj, version: {**convert(obj, version), **change}
    await http.create(DEFINITIONS, definition(converter))
    await http.create(V1, small())
    code, refusal = await http("GET", f"{V2}/w")
    assert (code, told in refusal["message"]) == (500, True), refusal["message"]


async def test_a_webhook_that_is_not_there_is_told_as_go_tells_it(http: Http, converter: Converter) -> None:
    body = definition(converter)
    service = {"namespace": "default", "name": "converter", "path": "/convert"}
    body["spec"]["conversion"]["webhook"]["clientConfig"] = {"service": service}
    created = await http.create(DEFINITIONS, body)
    assert created["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"] == 443
    await http.create(V1, small())
    code, refusal = await http("GET", f"{V2}/w")
    url = "https://converter.default.svc:443/convert?timeout=30s"
    told = 'no endpoints available for service "converter"'
    assert code == 500
    assert refusal["message"] == f'conversion webhook for example.com/v1, Kind=Widget failed: Post "{url}": {told}'


async def test_a_definition_says_how_its_webhook_is_reached(http: Http, converter: Converter) -> None:
    body = definition(converter)
    del body["spec"]["conversion"]["webhook"]
    code, refusal = await http("POST", DEFINITIONS, body)
    causes = {cause["field"]: cause["message"] for cause in refusal["details"]["causes"]}
    assert (code, causes["spec.conversion.webhookClientConfig"]) == (
        422,
        "Required value: required when strategy is set to Webhook",
    )
    assert causes["spec.conversion.conversionReviewVersions"] == "Required value"
