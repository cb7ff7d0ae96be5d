from __future__ import annotations

import json

import aiohttp
import anyio
import pytest

from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.envtest.faults import EVERY_FAULT
from tests.envtest.conftest import Http

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


async def watch(http: Http, query: str = "") -> aiohttp.ClientResponse:
    """Watch what changes from now on, or with other options."""
    if not query:
        query = f"&resourceVersion={(await http.get(CONFIG_MAPS))['metadata']['resourceVersion']}"
    return await http.session.get(f"{http.server.url}{CONFIG_MAPS}?watch=true&allowWatchBookmarks=true{query}")


async def until_idle(server: ApiServer) -> None:
    """Let every watch send what there is; sockets on loopback take a few turns of the loop."""
    for _ in range(50):
        await anyio.lowlevel.checkpoint()
    while not server.watches.idle:
        await anyio.lowlevel.checkpoint()


async def test_so_many_requests_are_refused_and_no_more(http: Http) -> None:
    http.server.faults.refuse(429, retry_after=3, times=2)
    async with http.session.get(http.server.url + CONFIG_MAPS) as response:
        assert (response.status, response.headers["Retry-After"]) == (429, "3")
    assert (await http("GET", CONFIG_MAPS))[0] == 429
    assert (await http("GET", CONFIG_MAPS))[0] == 200


@pytest.mark.parametrize("code", [500, 503])
async def test_only_the_requests_that_match_are_refused(http: Http, code: int) -> None:
    http.server.faults.refuse(code, matching=lambda call: call.verb == "create")
    assert (await http("GET", CONFIG_MAPS))[0] == 200
    assert (await http("POST", CONFIG_MAPS, {"metadata": {"name": "a"}}))[0] == code


async def test_a_delayed_request_takes_its_time(http: Http, clock: FakeClock) -> None:
    http.server.faults.delay(30)
    answers = []

    async def ask() -> None:
        answers.append(await http("GET", CONFIG_MAPS))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        while clock.next_due is None:
            await anyio.lowlevel.checkpoint()
        assert not answers
        clock.turn(30)
    assert answers[0][0] == 200


async def test_a_watch_that_is_closed_ends_in_good_order(http: Http) -> None:
    async with await watch(http) as response:
        http.server.faults.close_watches()
        assert await response.read() == b""


async def test_a_watch_is_cut_in_the_middle_of_a_line(http: Http) -> None:
    async with await watch(http) as response:
        http.server.faults.cut_watches(in_a_line=True)
        line = await response.content.readany()
        assert line.startswith(b'{"type":"BOOKMARK"')
        assert not line.endswith(b"\n")
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()


async def test_a_stalled_watch_says_nothing_until_it_goes_on(http: Http) -> None:
    async with await watch(http) as response:
        http.server.faults.stall_watches()
        await http.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
        await until_idle(http.server)
        assert not response.content._buffer
        http.server.faults.resume_watches()
        assert json.loads(await response.content.readline())["object"]["metadata"]["name"] == "a"


async def test_a_watch_that_is_opened_after_others_stalled_can_work(http: Http) -> None:
    async with await watch(http) as silent:
        http.server.faults.stall_watches(later=False)
        async with await watch(http) as later:
            await http.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
            assert json.loads(await later.content.readline())["object"]["metadata"]["name"] == "a"
            assert not silent.content._buffer
        http.server.faults.resume_watches()
        assert json.loads(await silent.content.readline())["object"]["metadata"]["name"] == "a"


async def test_after_a_compaction_old_versions_are_gone(http: Http) -> None:
    created = await http.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
    await http.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})
    http.server.faults.compact()
    async with await watch(http, f"&resourceVersion={created['metadata']['resourceVersion']}") as response:
        event = json.loads(await response.content.readline())
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


async def test_a_lagging_replica_answers_with_what_was(http: Http) -> None:
    http.server.faults.lag()
    await http.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
    assert (await http.get(f"{CONFIG_MAPS}?resourceVersion=0"))["items"] == []
    assert len((await http.get(CONFIG_MAPS))["items"]) == 1
    http.server.faults.catch_up()
    assert len((await http.get(f"{CONFIG_MAPS}?resourceVersion=0"))["items"]) == 1


@pytest.mark.parametrize("keep_data", [True, False])
async def test_a_restarted_server_has_its_data_or_has_lost_it(http: Http, keep_data: bool) -> None:
    await http.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
    url = http.server.url
    async with await watch(http) as response:
        await http.server.restart(keep_data=keep_data)
        await response.read()
    assert http.server.url == url
    assert len((await http.get(CONFIG_MAPS))["items"]) == keep_data


async def test_a_schedule_brings_about_the_same_faults_each_time(http: Http, clock: FakeClock) -> None:
    async def faults_of(seed: int) -> list[str]:
        happened: list[str] = []
        http.server.faults._happen = lambda kind, rng: happened.append(kind)  # type: ignore[method-assign]
        async with anyio.create_task_group() as group:
            group.start_soon(http.server.faults.run, seed)
            await clock.advance(100)
            group.cancel_scope.cancel()
        return happened

    first = await faults_of(1)
    assert len(first) > 10
    assert set(first) <= set(EVERY_FAULT)
    assert await faults_of(1) == first
    assert await faults_of(2) != first


async def test_every_fault_of_a_schedule_can_happen(http: Http, clock: FakeClock) -> None:
    for kind in EVERY_FAULT:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda kind=kind: http.server.faults.run(1, kinds=[kind]))
            await clock.advance(10)
            group.cancel_scope.cancel()
    assert (await http("GET", CONFIG_MAPS))[0] == 200
