"""What a server offers to who asks for it: objects without managedFields, compressed answers, shares of a list."""

from __future__ import annotations

import gzip
import json
from typing import Any

import aiohttp
import anyio
import pytest
import yaml

from kinformer.envtest import ApiServer
from kinformer.meta import parse_shard_selector, shard_selectors
from tests.envtest.conftest import Http

MAPS = "/api/v1/namespaces/default/configmaps"
DROP = "application/json;drop=metadata.managedFields"
AS_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"app": "web"}}, "data": data}


async def get(http: Http, path: str, accept: str) -> Any:
    code, found = await http("GET", path, Accept=accept)
    assert code == 200, found
    return found


async def events(http: Http, path: str, count: int, **headers: str) -> list[Any]:
    """The first events of a watch, and that they came as they are."""
    async with http.session.get(f"{http.server.url}{path}", headers=headers) as response:
        assert "Content-Encoding" not in response.headers
        with anyio.fail_after(60):
            return [json.loads(await response.content.readline()) for _ in range(count)]


@pytest.mark.parametrize(
    "accept",
    [
        DROP,
        "application/json; drop=metadata.managedFields",
        "application/json;drop=metadata.annotations+metadata.managedFields",
        f"{DROP},application/json",
    ],
)
async def test_managed_fields_are_left_out_for_who_asks(http: Http, accept: str) -> None:
    whole = await http.create(MAPS, config_map("a", key="value"))
    assert whole["metadata"].pop("managedFields")

    assert await get(http, f"{MAPS}/a", accept) == whole
    listed = (await get(http, MAPS, accept))["items"][0]
    assert listed == {name: value for name, value in whole.items() if name not in ("kind", "apiVersion")}
    assert await events(http, f"{MAPS}?watch=true", 1, Accept=accept) == [{"type": "ADDED", "object": whole}]


@pytest.mark.parametrize(
    "accept", ["application/json", "application/json;drop=metadata.labels", "application/json;drop="]
)
async def test_managed_fields_stay_for_who_does_not(http: Http, accept: str) -> None:
    whole = await http.create(MAPS, config_map("a"))

    assert await get(http, f"{MAPS}/a", accept) == whole
    assert "managedFields" in (await events(http, f"{MAPS}?watch=true", 1, Accept=accept))[0]["object"]["metadata"]


async def test_managed_fields_are_left_out_of_partial_metadata_and_answers(http: Http) -> None:
    code, made = await http("POST", MAPS, config_map("a"), Accept=DROP)
    assert (code, "managedFields" in made["metadata"]) == (201, False)

    partial = await get(http, f"{MAPS}/a", f"{AS_METADATA};drop=metadata.managedFields")
    assert (partial["kind"], partial["metadata"]) == ("PartialObjectMetadata", made["metadata"])
    assert "managedFields" in (await get(http, f"{MAPS}/a", AS_METADATA))["metadata"]


async def raw(server: ApiServer, path: str, accept_encoding: str) -> tuple[str | None, bytes]:
    headers = {"Authorization": f"Bearer {server.token}", "Accept-Encoding": accept_encoding}
    async with (
        aiohttp.ClientSession(headers=headers, auto_decompress=False) as session,
        session.get(server.url + path) as response,
    ):
        return response.headers.get("Content-Encoding"), await response.read()


async def test_a_large_answer_is_compressed_for_who_asks(http: Http) -> None:
    for number in range(3):
        await http.create(MAPS, config_map(f"m{number}", text="x" * 50_000))

    _, plain = await raw(http.server, MAPS, "identity")
    encoding, packed = await raw(http.server, MAPS, "deflate, gzip")

    assert encoding == "gzip"
    assert len(packed) < len(plain) / 10
    assert gzip.decompress(packed) == plain


@pytest.mark.parametrize("accept_encoding", ["identity", "deflate", "gzip;q=0"])
async def test_it_is_not_for_who_does_not(http: Http, accept_encoding: str) -> None:
    await http.create(MAPS, config_map("m", text="x" * 150_000))

    assert (await raw(http.server, MAPS, accept_encoding))[0] is None


async def test_a_small_answer_and_a_watch_are_never_compressed(http: Http) -> None:
    await http.create(MAPS, config_map("m", text="x" * 100_000))
    assert (await raw(http.server, MAPS, "gzip"))[0] is None

    await http.create(MAPS, config_map("n", text="x" * 100_000))
    query = f"{MAPS}?watch=true"
    assert len(await events(http, query, 2, **{"Accept-Encoding": "gzip"})) == 2


def names(found: Any) -> set[str]:
    return {item["metadata"]["name"] for item in found["items"]}


async def test_shards_share_a_list_out_and_say_which_they_are(http: Http) -> None:
    made = {(await http.create(MAPS, config_map(f"m{number}")))["metadata"]["name"] for number in range(20)}
    found = []

    for shard in shard_selectors(3):
        code, answer = await http("GET", f"{MAPS}?shardSelector={shard.replace(' ', '%20')}")
        assert (code, answer["metadata"]["shardInfo"]) == (200, {"selector": shard})
        assert all(parse_shard_selector(shard).matches(one["metadata"]["uid"], "") for one in answer["items"])
        found.append(names(answer))

    assert sum(map(len, found)) == 20
    assert set.union(*found) == made
    assert "shardInfo" not in (await http.get(MAPS))["metadata"]


async def test_a_watch_of_a_shard_brings_only_its_own(http: Http) -> None:
    uids = {}
    for number in range(20):
        created = await http.create(MAPS, config_map(f"m{number}"))
        uids[f"m{number}"] = created["metadata"]["uid"]
    shard = shard_selectors(2)[1]
    ours = {name for name, uid in uids.items() if parse_shard_selector(shard).matches(uid, "")}

    found = await events(http, f"{MAPS}?watch=true&shardSelector={shard.replace(' ', '%20')}", len(ours))

    assert {event["object"]["metadata"]["name"] for event in found} == ours


async def test_pages_of_a_shard_are_whole(http: Http) -> None:
    for number in range(20):
        await http.create(MAPS, config_map(f"m{number}"))
    query = f"shardSelector={shard_selectors(2)[0].replace(' ', '%20')}"
    whole = names(await http.get(f"{MAPS}?{query}"))
    found: set[str] = set()
    token = ""

    while True:
        page = await http.get(f"{MAPS}?{query}&limit=3&continue={token}")
        assert page["metadata"]["shardInfo"]
        found |= names(page)
        if not (token := page["metadata"].get("continue", "")):
            break

    assert found == whole


async def test_what_is_no_shard_selector_is_an_error(http: Http) -> None:
    code, answer = await http("GET", f"{MAPS}?shardSelector=true")

    assert code == 500
    assert answer["message"].startswith("invalid shard selector: ")


async def test_objects_lists_and_refusals_come_in_yaml_for_who_asks(http: Http) -> None:
    made = await http.create(MAPS, config_map("a", key="yes", text="a\nb"))
    found = []
    for path in (f"{MAPS}/a", f"{MAPS}?labelSelector=no", f"{MAPS}/no", f"{MAPS}?watch=true"):
        async with http.session.get(f"{http.server.url}{path}", headers={"Accept": "application/yaml"}) as response:
            found.append((response.status, response.content_type, yaml.safe_load(await response.text())))

    assert [each[:2] for each in found] == [(code, "application/yaml") for code in (200, 200, 404, 406)]
    assert found[0][2] == made
    assert [each[2]["kind"] for each in found] == ["ConfigMap", "ConfigMapList", "Status", "Status"]
