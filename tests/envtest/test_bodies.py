"""Bodies of creates and updates that are hardly objects, and what is said of them."""

from __future__ import annotations

import pytest

from tests.envtest.conftest import Http
from tests.envtest.test_server import CONFIG_MAPS

JSON, YAML = "application/json", "application/yaml"
NO_STRUCT = (
    "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type "
    'struct {{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }}'
)
NO_JSON = "couldn't get version/kind; json parse error: "
NOT_STRING = "json: cannot unmarshal number into Go struct field .kind of type string"


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize(
    ("body", "why", "shown"),
    [
        (b"", f"{NO_JSON}unexpected end of JSON input", "<empty>"),
        (b" ", f"{NO_JSON}unexpected end of JSON input", "20"),
        (b"[]", NO_STRUCT.format("array"), "5b5d"),
        (b"5", NO_STRUCT.format("number"), "35"),
        (b'"x"', NO_STRUCT.format("string"), "227822"),
        (b"true", NO_STRUCT.format("bool"), "74727565"),
        (
            b'{"kind":"ConfigMap","metadata":{',
            f"{NO_JSON}unexpected end of JSON input",
            '{"kind":"ConfigMap","metadata" ...',
        ),
        (b'{"kind":5}', f"{NO_JSON}{NOT_STRING}", '{"kind":5}'),
        (b'{"apiVersion":"a/b/c"}', "unexpected GroupVersion string: a/b/c", '{"apiVersion":"a/b/c"}'),
    ],
)
async def test_a_body_that_is_no_object_is_shown_in_the_refusal(
    http: Http, method: str, body: bytes, why: str, shown: str
) -> None:
    path = CONFIG_MAPS if method == "POST" else f"{CONFIG_MAPS}/x"
    code, refused = await http(method, path, body)
    assert (code, refused["reason"]) == (400, "BadRequest")
    head = "the object provided is unrecognized (must be of type ConfigMap)"
    assert refused["message"] == f"{head}: {why} ({shown})"


async def test_null_is_an_object_without_anything(http: Http) -> None:
    code, refused = await http("POST", CONFIG_MAPS, b"null")
    cause = refused["details"]["causes"][0]
    assert (code, cause["field"]) == (422, "metadata.name")
    code, refused = await http("PUT", f"{CONFIG_MAPS}/x", b"null")
    assert (code, refused["message"]) == (
        400,
        "the name of the object (x based on URL) was undeterminable: name must be provided",
    )


NOT_REGISTERED = 'no kind "{}" is registered for version "{}" in scheme "pkg/api/legacyscheme/scheme.go:30"'
NO_CONVERSION = "converting (v1.Deployment) to (core.ConfigMap): unknown conversion"


@pytest.mark.parametrize(
    ("kind", "api_version", "version", "why"),
    [
        ("Nothing", "", "v1", NOT_REGISTERED.format("Nothing", "v1")),
        ("ConfigMap", "v9", "v9", NOT_REGISTERED.format("ConfigMap", "v9")),
        ("Deployment", "apps/v1", "v1", NO_CONVERSION),
    ],
)
async def test_a_body_of_another_kind_is_refused_by_name(
    http: Http, kind: str, api_version: str, version: str, why: str
) -> None:
    code, refused = await http("POST", CONFIG_MAPS, {"kind": kind, "apiVersion": api_version})
    head = f'{kind} in version "{version}" cannot be handled as a ConfigMap'
    assert (code, refused["message"]) == (400, f"{head}: {why}")


TWICE = b"metadata:\n  name: a\n  name: b\nbogus: 1\ndata:\n  k: x\ndata:\n  k: z\n"
LINES = ['line 3: key "name" already set in map', 'line 8: key "data" already set in map']


async def test_keys_that_yaml_has_twice_are_refused_if_the_request_is_strict(http: Http) -> None:
    code, refused = await http("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", TWICE, YAML)
    head = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:'
    assert code == 400
    assert refused["message"] == f'{head}\n  {LINES[0]}\n  {LINES[1]}, unknown field "bogus"'


async def test_a_put_that_leaves_out_generate_name_drops_it(http: Http) -> None:
    made = await http.create(CONFIG_MAPS, {"metadata": {"generateName": "a-"}})
    name = made["metadata"]["name"]
    code, put = await http("PUT", f"{CONFIG_MAPS}/{name}", {"metadata": {"name": name}})
    assert (code, put["metadata"]["uid"]) == (200, made["metadata"]["uid"])
    assert "generateName" not in put["metadata"]


@pytest.mark.parametrize("type_", [JSON, YAML])
async def test_a_hundred_unknown_fields_are_told_of_and_no_more(http: Http, type_: str) -> None:
    body = {"metadata": {"name": "a"}, **{f"x{place}": 1 for place in range(300)}}
    code, refused = await http("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", body, type_)
    assert (code, refused["message"].count("unknown field")) == (400, 100)


@pytest.mark.parametrize(("query", "told"), [("", [*LINES, 'unknown field "bogus"']), ("?fieldValidation=Ignore", [])])
async def test_of_keys_that_yaml_has_twice_the_last_counts(http: Http, query: str, told: list[str]) -> None:
    url = f"{http.server.url}{CONFIG_MAPS}{query}"
    async with http.session.post(url, data=TWICE, headers={"Content-Type": YAML}) as response:
        created = await response.json()
        warnings = response.headers.getall("Warning", [])
    assert (created["metadata"]["name"], created["data"]) == ("b", {"k": "z"})
    assert [one[7:-1].replace('\\"', '"') for one in warnings] == told


@pytest.mark.parametrize(
    ("query", "code", "told"),
    [("Strict", 400, []), ("Warn", 201, ['line 6: key "k" already set in map']), ("Ignore", 201, [])],
)
async def test_keys_that_an_applied_configuration_has_twice_are_told_of(
    http: Http, query: str, code: int, told: list[str]
) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: x\n  k: z\n"
    url = f"{http.server.url}{CONFIG_MAPS}/a?fieldManager=m&fieldValidation={query}"
    headers = {"Content-Type": "application/apply-patch+yaml"}
    async with http.session.patch(url, data=body, headers=headers) as response:
        answer = await response.json()
        warnings = response.headers.getall("Warning", [])
    assert response.status == code
    assert [one[7:-1].replace('\\"', '"') for one in warnings] == told
    if query == "Strict":
        head = "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:"
        assert answer["message"] == f'{head}\n  line 6: key "k" already set in map'


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"a: b: c\n", "mapping values are not allowed in this context"),
        (b"a: 1\nb: [\n", "line 2: did not find expected node content"),
        (b"a: 1\nb: c: d\n", "line 2: mapping values are not allowed in this context"),
    ],
)
async def test_a_text_that_is_not_yaml_is_refused_with_its_line(http: Http, body: bytes, why: str) -> None:
    code, refused = await http("POST", CONFIG_MAPS, body, YAML)
    head = "the object provided is unrecognized (must be of type ConfigMap)"
    assert (code, refused["message"]) == (400, f"{head}: yaml: {why} ({body.hex()})")


async def test_of_several_yaml_documents_the_first_is_read_and_keys_become_texts(http: Http) -> None:
    code, created = await http("POST", CONFIG_MAPS, b"metadata: {name: a}\ndata: {2: x, true: z}\n---\nb: 1\n", YAML)
    assert (code, created["data"]) == (201, {"2": "x", "true": "z"})


async def test_data_with_more_padding_than_it_needs_is_not_base64(http: Http) -> None:
    secrets = CONFIG_MAPS.replace("configmaps", "secrets")
    code, refused = await http("POST", secrets, {"metadata": {"name": "s"}, "data": {"a": "QUJD="}})

    assert code == 400
    assert "illegal base64 data at input byte 4" in refused["message"]
    assert (await http("POST", secrets, {"metadata": {"name": "s"}, "data": {"a": "QUJD"}}))[0] == 201
