"""Versions over the lives of a server, and what is made of those of an earlier one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from tests.envtest.conftest import Http

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(headers={"Authorization": "Bearer t"})


async def first_event(http: Http, version: str, more: str = "") -> Any:
    url = f"{http.server.url}{CONFIG_MAPS}?watch=true&resourceVersion={version}{more}"
    async with http.session.get(url) as response:
        return json.loads(await response.content.readline())


async def test_a_server_that_is_started_anew_gives_out_no_version_again() -> None:
    clock = FakeClock()
    async with session() as client:
        async with ApiServer(clock=clock, token="t", plugins=False) as server:
            http = Http(server, client)
            for number in range(100):
                created = await http.create(CONFIG_MAPS, {"metadata": {"name": f"a{number}"}})
        await clock.advance(0.01)
        async with ApiServer(clock=clock, token="t", plugins=False) as server:
            listed = await Http(server, client).get(CONFIG_MAPS)
    assert int(listed["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])


async def test_a_watch_from_an_earlier_servers_version_is_expired() -> None:
    clock = FakeClock()
    async with session() as client:
        async with ApiServer(clock=clock, token="t", plugins=False) as server:
            created = await Http(server, client).create(CONFIG_MAPS, {"metadata": {"name": "a"}})
        version = created["metadata"]["resourceVersion"]
        await clock.advance(1)
        async with ApiServer(clock=clock, token="t", plugins=False) as server:
            http = Http(server, client)
            event = await first_event(http, version)
            assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
            code, refused = await http("GET", f"{CONFIG_MAPS}?resourceVersion={version}&resourceVersionMatch=Exact")
            assert (code, refused["reason"]) == (410, "Expired")
            # What is not older than that, the present is.
            assert (await http.get(f"{CONFIG_MAPS}?resourceVersion={version}"))["items"] == []


async def test_a_wiped_server_repeats_no_version_even_with_a_still_clock(http: Http) -> None:
    created = await http.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
    await http.server.restart(keep_data=False)
    event = await first_event(http, created["metadata"]["resourceVersion"])
    assert event["object"]["code"] == 410


async def test_small_numbers_count_from_the_servers_beginning(http: Http) -> None:
    created = await http.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
    event = await first_event(http, "1")
    assert (event["type"], event["object"]["metadata"]["uid"]) == ("ADDED", created["metadata"]["uid"])


@pytest.mark.parametrize("query", ["", "&resourceVersion=0"])
async def test_a_bookmark_ends_the_objects_that_a_watch_begins_with(http: Http, query: str) -> None:
    await http.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
    path = f"{http.server.url}{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true{query}"
    async with http.session.get(path) as response:
        events = [json.loads(await response.content.readline()) for _ in range(2)]
    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK"]
    assert events[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_a_number_that_nobody_has_given_out_is_yet_to_come(http: Http) -> None:
    code, refused = await http("GET", f"{CONFIG_MAPS}?resourceVersion=999999999")
    assert (code, refused["reason"]) == (504, "Timeout")
    current = http.server.storage.version
    assert refused["message"] == f"Timeout: Too large resource version: 999999999, current: {current}"
    more = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    event = await first_event(http, "999999999", more)
    assert event["object"]["message"] == refused["message"]


async def test_data_that_lasts_keeps_its_versions(tmp_path: Path) -> None:
    data, clock = tmp_path / "data.db", FakeClock()
    async with session() as client:
        async with ApiServer(data=data, clock=clock, token="t", plugins=False) as server:
            created = await Http(server, client).create(CONFIG_MAPS, {"metadata": {"name": "a"}})
        await clock.advance(1000)
        async with ApiServer(data=data, clock=clock, token="t", plugins=False) as server:
            http = Http(server, client)
            assert (await http.get(CONFIG_MAPS))["metadata"]["resourceVersion"] == created["metadata"][
                "resourceVersion"
            ]
            event = await first_event(http, "1")
            assert event["object"]["code"] == 410
