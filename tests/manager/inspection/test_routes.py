from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from importlib.resources import files
from typing import Any

import aiohttp
import anyio
import msgspec
import pytest

from kinformer.manager.inspection import Answer, Snapshot, inspector
from kinformer.manager.inspection.routes import STREAMS
from kinformer.manager.inspection.views import ControllerView, InformerView, QueueView
from tests.manager.inspection.worlds import World, world
from tests.turning import quiet


@asynccontextmanager
async def served(host: str = "127.0.0.1") -> AsyncIterator[tuple[World, aiohttp.ClientSession]]:
    async with (
        world(endpoint=(host, 0)) as here,
        aiohttp.ClientSession(f"http://127.0.0.1:{here.port}") as session,
    ):
        yield here, session


async def got(session: aiohttp.ClientSession, path: str, **options: Any) -> tuple[int, bytes]:
    async with session.get(path, **options) as answer:
        return answer.status, await answer.read()


async def test_a_snapshot_and_its_parts_are_served_as_json() -> None:
    async with served() as (here, session):
        await here.create("a")
        await here.until_synced("a")
        types: dict[str, Any] = {
            "snapshot": Snapshot,
            "informers": list[InformerView],
            "queues": list[QueueView],
            "controllers": list[ControllerView],
        }
        for path, type_ in types.items():
            async with session.get(f"/debug/{path}") as answer:
                assert (answer.status, answer.content_type) == (200, "application/json")
                assert msgspec.json.decode(await answer.read(), type=type_)


async def test_a_key_is_explained() -> None:
    async with served() as (here, session):
        await here.create("a")
        await here.until_synced("a")
        _, body = await got(session, "/debug/why", params={"key": "default/a", "controller": "printer"})

    found = msgspec.json.decode(body, type=Answer)
    assert [why.controller for why in found.controllers] == ["printer"]


@pytest.mark.parametrize("query", ["", "key=", "key=" + "x" * 2000])
async def test_a_question_without_a_key_is_told_what_is_wanted(query: str) -> None:
    async with served() as (_, session):
        status, body = await got(session, f"/debug/why?{query}")

    assert (status, body) == (400, b"want why?key=NAMESPACE/NAME")


async def test_keys_are_searched() -> None:
    async with served() as (here, session):
        await here.create("frontend")
        await here.until_synced("frontend")

        assert json.loads((await got(session, "/debug/search?q=front"))[1]) == ["default/frontend"]
        assert json.loads((await got(session, "/debug/search"))[1]) == []


async def snapshots(answer: aiohttp.ClientResponse) -> AsyncIterator[Snapshot]:
    rest = b""
    while True:
        rest += await answer.content.readany()
        while b"\n\n" in rest:
            event, _, rest = rest.partition(b"\n\n")
            name, data = event.split(b"\n")
            assert name == b"event: snapshot"
            yield msgspec.json.decode(data.removeprefix(b"data: "), type=Snapshot)


async def test_snapshots_are_streamed_at_the_pace_that_was_asked_for() -> None:
    async with served() as (here, session), session.get("/debug/events?seconds=5") as answer:
        assert answer.content_type == "text/event-stream"
        stream = snapshots(answer)
        first = await anext(stream)
        here.clock.turn(4.9)
        await quiet()
        before = here.clock.now()
        here.clock.turn(0.1)
        second = await anext(stream)

    assert first.at < inspector.text_of(before) <= second.at


async def test_a_stream_ends_when_its_reader_has_gone() -> None:
    async with served() as (_, session), AsyncExitStack() as stack:
        first = await session.get("/debug/events")
        for _ in range(STREAMS - 1):
            await stack.enter_async_context(session.get("/debug/events"))
        status, body = await got(session, "/debug/events")
        assert (status, json.loads(body)) == (
            503,
            {"error": f"{STREAMS} streams are open already: try again later"},
        )

        first.close()
        status = 503
        while status == 503:
            await quiet()
            async with session.get("/debug/events") as answer:
                status = answer.status
        assert status == 200


async def test_the_stream_of_a_manager_that_ends_is_ended() -> None:
    async with aiohttp.ClientSession() as session, AsyncExitStack() as stack:
        async with world(endpoint=("127.0.0.1", 0)) as here:
            answer = await stack.enter_async_context(session.get(f"http://127.0.0.1:{here.port}/debug/events"))
            await answer.content.readany()
        with anyio.fail_after(60), suppress(aiohttp.ClientError):
            while await answer.content.readany():
                pass


async def test_a_pace_that_is_no_number_is_refused() -> None:
    async with served() as (_, session):
        status, body = await got(session, "/debug/events?seconds=often")

    assert (status, json.loads(body)) == (400, {"error": "seconds: want a number"})


@pytest.mark.parametrize("path", ["/debug/snapshot", "/debug/why?key=a", "/debug/search?q=a", "/debug/events"])
@pytest.mark.parametrize("host", ["attacker.example", "localhost.attacker.example", "attacker.example:8080"])
async def test_a_foreign_name_for_this_machine_is_not_answered(path: str, host: str) -> None:
    async with served() as (_, session):
        status, body = await got(session, path, headers={"Host": host})

    assert status == 421
    assert b"informers" not in body


async def test_a_manager_on_all_addresses_refuses_foreign_names_for_this_machine() -> None:
    async with served("0.0.0.0") as (_, session):
        assert (await got(session, "/debug/snapshot", headers={"Host": "attacker.example"}))[0] == 421


@pytest.mark.parametrize("host", ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "manager.localhost"])
async def test_the_machines_own_names_are_answered(host: str) -> None:
    async with served() as (_, session):
        assert (await got(session, "/debug/snapshot", headers={"Host": host}))[0] == 200


@pytest.mark.parametrize("path", ["/page/", "/page/page.js", "/page/page.css", "/page/icon.svg", "/debug/snapshot"])
async def test_every_answer_says_what_a_browser_may_do_with_it(path: str) -> None:
    async with served() as (_, session), session.get(path) as answer:
        assert answer.status == 200
        policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["form-action"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "Access-Control-Allow-Origin" not in answer.headers
        assert answer.headers["Cache-Control"] in ("no-cache", "no-store")


@pytest.mark.parametrize("path", ["/", "/page"])
async def test_who_asks_for_nothing_is_led_to_the_page(path: str) -> None:
    async with served() as (_, session), session.get(path) as answer:
        assert (answer.url.path, answer.status) == ("/page/", 200)
        assert "<main" in await answer.text()


@pytest.mark.parametrize("path", ["/page/../routes.py", "/page/%2e%2e/routes.py", "/page/nothing", "/page/page.py"])
async def test_nothing_but_the_pages_files_is_served(path: str) -> None:
    async with served() as (_, session):
        assert (await got(session, path))[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_nothing_can_be_written(method: str) -> None:
    async with served() as (_, session):
        for path in ("/debug/snapshot", "/debug/why?key=default/a", "/debug/events", "/page/"):
            async with session.request(method, path) as answer:
                assert answer.status == 405, path


def test_the_page_has_no_script_or_style_that_its_policy_refuses() -> None:
    html = (files("kinformer.manager.inspection") / "page" / "index.html").read_text()

    assert html.count("<script") == html.count('<script type="module" src="page.js"></script>') == 1
    assert "<style" not in html
    assert "style=" not in html
    assert "http://" not in html
    assert "https://" not in html


def test_the_page_puts_nothing_into_markup() -> None:
    script = (files("kinformer.manager.inspection") / "page" / "page.js").read_text()

    for markup in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert markup not in script
