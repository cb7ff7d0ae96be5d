"""The page in a real browser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import anyio
import msgspec
import pytest
from aiohttp import web

from kinformer.clock import RealClock
from kinformer.manager.inspection import Inspector, Snapshot
from kinformer.manager.inspection.routes import inspection_routes
from kinformer.manager.inspection.views import MemberView, ShardsView
from tests.manager.inspection.chromium import CHROMIUM, MISSING, Page, browser
from tests.manager.inspection.worlds import DAEMONS, WEBHOOK, World, world

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=MISSING)

SUMMARY = "document.getElementById('answer-summary').innerText"
EVIL = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>"


@pytest.fixture(scope="module")
async def chromium(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Page]:
    async with browser(tmp_path_factory.mktemp("chromium")) as page:
        yield page


@asynccontextmanager
async def shown(page: Page) -> AsyncIterator[World]:
    """A manager with a key that went well and one that fails, and the page that shows it."""
    async with world(clock=RealClock(), endpoint=("127.0.0.1", 0)) as here:
        here.refuse["default/bad"] = "no room"
        for name in ("bad", "good"):
            await here.create(name)
        page.logged.clear()
        page.requested.clear()
        with anyio.fail_after(60):
            await page.open(address(here))
            await page.until("document.querySelectorAll('#slowest-table tbody tr').length == 2")
            yield here


def address(here: World) -> str:
    return f"http://localhost:{here.port}/page/"


async def rows(page: Page, table: str) -> list[list[str]]:
    """The texts of a table's rows."""
    script = (
        f"[...document.querySelectorAll('#{table}-table tbody tr')].map(r => [...r.cells].map(c => c.innerText.trim()))"
    )
    found: list[list[str]] = await page.look(script)
    return found


async def test_the_page_shows_what_the_manager_does(chromium: Page) -> None:
    async with shown(chromium):
        controllers = {row[0]: row for row in await rows(chromium, "controllers")}
        informers = {row[0]: row for row in await rows(chromium, "informers")}
        failing = await rows(chromium, "failing")

        assert controllers["printer"][1] == "● running"
        assert informers["configmaps"][1:4] == ["v1", "● following", "2"]
        assert {row[0] for row in await rows(chromium, "queues")} == {"printer", "counts"}
        assert [row[:3] for row in failing] == [["default/bad", "printer", "no room"]]
        assert await chromium.look("problems.innerText") == "Controller printer: the last sync of 1 key failed."
        assert chromium.logged == []


async def test_the_page_asks_nobody_else_for_anything(chromium: Page) -> None:
    async with shown(chromium) as here:
        origin = f"http://localhost:{here.port}/"
        assert [url for url in chromium.requested if not url.startswith(origin)] == []
        assert origin + "debug/events" in chromium.requested


async def test_new_figures_come_by_themselves(chromium: Page) -> None:
    async with shown(chromium) as here:
        await here.create("another")
        await chromium.until("document.querySelector('#slowest-table').innerText.includes('default/another')")


async def test_a_paused_page_stands_still(chromium: Page) -> None:
    async with shown(chromium):
        await chromium.look("pause.click()")
        assert await chromium.look("connection.innerText + pause.ariaPressed") == "pausedtrue"
        before = await chromium.look("glance.innerText")
        asked = await chromium.look("performance.now()")
        await chromium.until(f"performance.now() > {asked} + 2500")
        assert await chromium.look("glance.innerText") == before

        await chromium.look("pause.click()")
        await chromium.until(f"glance.innerText != {before!r}")


async def test_a_key_is_explained_when_it_is_clicked(chromium: Page) -> None:
    async with shown(chromium):
        await chromium.look("document.querySelector('#failing-table button.key').click()")
        told = await chromium.until("answer.innerText")

        assert "configmaps default/bad" in told
        assert "▲ failed: no room" in told
        assert "It is tried again in" in told
        summary = await chromium.look(SUMMARY)
        assert summary.startswith("default/bad: 1 controller knows of it. In the cache of configmaps")
        assert await chromium.look("location.hash") == "#why=default/bad"


async def test_a_misspelt_key_is_answered_with_the_key_that_was_meant(chromium: Page) -> None:
    async with shown(chromium):
        await chromium.look("key.value = 'default/gool', ask.requestSubmit()")
        await chromium.until("answer.querySelectorAll('button').length")
        assert await chromium.look("answer.querySelector('button').innerText") == "default/good"
        assert await chromium.look(SUMMARY) == ("Nothing is known of default/gool. Keys like it:")

        await chromium.look("answer.querySelector('button').click()")
        await chromium.until("answer.innerText.includes('went well')")


async def test_what_is_typed_is_completed(chromium: Page) -> None:
    async with shown(chromium):
        await chromium.look("key.focus()")
        await chromium.type("goo")
        await chromium.until("keys.options.length && keys.options[0].value == 'default/good'")


async def test_names_and_errors_of_the_cluster_are_never_markup(chromium: Page) -> None:
    async with shown(chromium) as here:
        key = f"default/{EVIL}"
        here.refuse[key] = f"the server says {EVIL}"
        here.controller.queue.add(key)
        await chromium.until("document.querySelectorAll('#failing-table tbody tr').length == 2")
        assert [key, "printer", f"the server says {EVIL}"] in [row[:3] for row in await rows(chromium, "failing")]

        found = "[...document.querySelectorAll('#failing-table button.key')].find(it => it.innerText.includes('<img'))"
        await chromium.look(f"{found}.click()")
        await chromium.until("answer.innerText.includes('<script>')")
        await chromium.look(f"key.value = {EVIL!r}, ask.requestSubmit()")
        await chromium.until(
            "document.getElementById('answer-summary').innerText.startsWith('Nothing is known of <img')"
        )

        assert await chromium.look("document.querySelectorAll('main img, main script').length") == 0
        assert await chromium.look("window.hacked") is None


async def test_the_policy_forbids_scripts_within_the_page(chromium: Page) -> None:
    async with shown(chromium):
        await chromium.look(
            "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hacked = 1'}))"
        )
        assert await chromium.look("window.hacked") is None
        assert any("Content Security Policy" in text for text in chromium.logged)


# --- for everybody

CONTRASTS = """
(() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (element) => {
    for (let it = element; it; it = it.parentElement) {
      const colour = numbers(getComputedStyle(it).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = {};
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !element.checkVisibility() || element.closest("script")) continue;
    const text = getComputedStyle(element).color;
    const [a, b] = [light(numbers(text)), light(ground(element))].sort((one, other) => other - one);
    found[`${text} on ${ground(element)}`] = (a + 0.05) / (b + 0.05);
  }
  return found;
})()
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_all_text_has_a_contrast_of_four_and_a_half(chromium: Page, scheme: str) -> None:
    async with shown(chromium):
        await chromium.look("document.querySelector('#failing-table button.key').click()")
        await chromium.until("answer.innerText")
        await chromium.colours(scheme)
        contrasts = await chromium.look(CONTRASTS)
        ground = await chromium.look("getComputedStyle(document.body).backgroundColor")

    assert ground == {"light": "rgb(246, 247, 249)", "dark": "rgb(20, 23, 27)"}[scheme]
    assert len(contrasts) >= 4
    assert {pair: round(contrast, 2) for pair, contrast in contrasts.items() if contrast < 4.5} == {}


async def tree(page: Page) -> list[tuple[str, str]]:
    """What a screen reader is told: the role and the name of each thing."""
    nodes = (await page.send("Accessibility.getFullAXTree"))["nodes"]
    return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")]


async def test_a_screen_reader_finds_its_way(chromium: Page) -> None:
    async with shown(chromium):
        told = await tree(chromium)
        headings = await chromium.look(
            "[...document.querySelectorAll('h1, h2, h3')].filter(it => it.checkVisibility()).map(it => +it.tagName[1])"
        )
        tables = await chromium.look(
            "[...document.querySelectorAll('table')].filter(it => it.checkVisibility()).map(t => "
            "[!!t.caption?.innerText, [...t.querySelectorAll('th')].every(h => h.scope), "
            "[...t.tBodies[0].rows].every(r => r.cells[0].tagName == 'TH')])"
        )
        live = await chromium.look("[...document.querySelectorAll('[role=status], [aria-live]')].map(it => it.id)")

    roles = [role for role, _ in told]
    for landmark in ("banner", "main", "navigation", "search"):
        assert roles.count(landmark) == 1, landmark
    assert [role for role, name in told if role in ("button", "textbox", "combobox", "link") and not name] == []
    assert headings[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))
    assert len(tables) == 5
    assert all(all(table) for table in tables)
    # Whether there is a connection, and what was asked for. Figures that change each second are announced to nobody.
    assert live == ["connection", "answer-summary"]
    assert await chromium.look("document.documentElement.lang") == "en"


async def test_everything_works_by_keyboard_and_the_focus_is_visible(chromium: Page) -> None:
    async with shown(chromium):
        focused = "document.activeElement.innerText || document.activeElement.id"
        seen = []
        for _ in range(60):
            await chromium.press("Tab")
            outline = await chromium.look("getComputedStyle(document.activeElement).outline")
            assert "solid 3px" in outline, await chromium.look(focused)
            seen.append(await chromium.look(focused))
            if seen[-1] == "default/bad":
                break
        assert seen[:3] == ["Skip to the tables", "Pause", "Attention"]
        assert "key" in seen
        assert "Ask" in seen

        await chromium.press("Enter", text="\r")
        await chromium.until("answer.innerText.includes('no room')")
        assert await chromium.look("document.activeElement.id") == "key"


async def test_the_focus_stays_where_it_is_while_figures_change(chromium: Page) -> None:
    async with shown(chromium) as here:
        await chromium.look("document.querySelector('#failing-table button.key').focus()")
        await here.create("another")
        await chromium.until("document.querySelector('#slowest-table').innerText.includes('default/another')")

        assert await chromium.look("document.activeElement.innerText") == "default/bad"


async def test_a_table_is_sorted_by_the_column_that_was_chosen(chromium: Page) -> None:
    async with shown(chromium):
        head = "[...document.querySelectorAll('#informers-table th')].find(it => it.innerText.startsWith('objects'))"
        await chromium.look(f"{head}.querySelector('button').click()")
        assert await chromium.look(f"{head}.ariaSort") == "descending"
        assert [row[0] for row in await rows(chromium, "informers")] == ["configmaps", "resourcequotas"]

        await chromium.look(f"{head}.querySelector('button').click()")
        assert await chromium.look(f"{head}.ariaSort") == "ascending"
        assert [row[0] for row in await rows(chromium, "informers")] == ["resourcequotas", "configmaps"]


async def test_a_narrow_window_scrolls_tables_and_not_the_page(chromium: Page) -> None:
    async with shown(chromium):
        await chromium.resize(360, 800)
        try:
            assert await chromium.look("document.documentElement.scrollWidth") <= 360
        finally:
            await chromium.resize(1280, 900)


# --- what only a server of another kind shows


class Staged:
    """Stands where an inspector would, and shows what it is given."""

    def __init__(self, inspector: Inspector, change: Callable[[Snapshot], Snapshot]) -> None:
        self.clock = RealClock()
        self.informers = inspector.informers
        self.controllers = inspector.controllers
        self._inspector = inspector
        self._change = change

    def snapshot(self) -> Snapshot:
        return self._change(self._inspector.snapshot())


Rule = Callable[[web.Request, Callable[[web.Request], Awaitable[web.StreamResponse]]], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def staged(
    change: Callable[[Snapshot], Snapshot] = lambda it: it, rule: Rule | None = None, port: int = 0
) -> AsyncIterator[int]:
    """A server with a changed snapshot, or with a rule before it; its port."""
    async with world(clock=RealClock()) as here:
        inspector: Any = Staged(here.manager.inspector, change)
        app = web.Application(middlewares=[web.middleware(rule)] if rule is not None else [])
        app.add_routes(inspection_routes(inspector))
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", port).start()
            with anyio.fail_after(60):
                yield runner.addresses[0][1]
        finally:
            await runner.cleanup()


async def test_a_table_shows_two_hundred_rows_and_how_many_there_are(chromium: Page) -> None:
    def many(snapshot: Snapshot) -> Snapshot:
        one = snapshot.informers[0]
        return msgspec.structs.replace(
            snapshot, informers=[msgspec.structs.replace(one, name=f"kind-{number}") for number in range(5000)]
        )

    async with staged(many) as port:
        await chromium.open(f"http://localhost:{port}/page/")
        await chromium.until("document.querySelectorAll('#informers-table tbody tr').length == 200")
        assert "(200 of 5,000)" in await chromium.look("document.querySelector('#informers-table caption').innerText")


async def test_the_group_of_a_resource_is_shown_in_its_version_only(chromium: Page) -> None:
    def grouped(snapshot: Snapshot) -> Snapshot:
        one = msgspec.structs.replace(
            snapshot.informers[0], name="poddisruptionbudgets.policy", api_version="policy/v1"
        )
        return msgspec.structs.replace(snapshot, informers=[one])

    async with staged(grouped) as port:
        await chromium.open(f"http://localhost:{port}/page/")
        await chromium.until("document.querySelectorAll('#informers-table tbody tr').length == 1")
        cells = "[...document.querySelectorAll('#informers-table tbody tr > *')].map(it => it.innerText).slice(0, 2)"
        assert await chromium.look(cells) == ["poddisruptionbudgets", "policy/v1"]


async def test_members_and_the_ranges_without_an_owner_are_shown(chromium: Page) -> None:
    members = [
        MemberView(name="one", alive=True, ranges=2, is_self=True, objects=1200, syncs=30),
        MemberView(name="two", alive=False, ranges=1, is_self=False),
    ]
    shards = ShardsView(members=members, ranges=["one", "one", "two", ""], object_skew=1.5)

    async with staged(lambda snapshot: msgspec.structs.replace(snapshot, shards=shards)) as port:
        await chromium.open(f"http://localhost:{port}/page/")
        await chromium.until("document.querySelectorAll('#members-table tbody tr').length")

        assert await rows(chromium, "members") == [
            ["one (this one)", "● alive", "2", "1,200", "30"],
            ["two", "▲ not heard of", "1", "\u2013", "\u2013"],
        ]
        assert await chromium.look("leader.innerText") == (
            "4 ranges, 1 of them without an owner. The largest member has 1.50 times its even share of the objects, "
            "and 1.00 times that of the syncs."
        )


async def test_a_webhook_that_is_not_registered_is_a_problem(chromium: Page) -> None:
    def with_webhook(snapshot: Snapshot) -> Snapshot:
        return msgspec.structs.replace(snapshot, webhooks=[WEBHOOK])

    async with staged(with_webhook) as port:
        await chromium.open(f"http://localhost:{port}/page/")
        await chromium.until("document.querySelectorAll('#webhooks-table tbody tr').length")

        (row,) = await rows(chromium, "webhooks")
        assert row[:4] == ["/validate", "validating", "webapps.example.com", "▲ not registered"]
        assert row[6:8] == ["2", "1"]
        assert await chromium.look("problems.innerText") == "Webhook /validate is not registered."


async def test_daemons_that_fail_are_a_problem(chromium: Page) -> None:
    async with staged(lambda snapshot: msgspec.structs.replace(snapshot, tasks=[DAEMONS])) as port:
        await chromium.open(f"http://localhost:{port}/page/")
        await chromium.until("document.querySelectorAll('#tasks-table tbody tr').length")

        assert await rows(chromium, "tasks") == [
            ["probes", "daemons", "▲ failing", "3", "1", "2", "4", "8.0 s", "default/shop: no answer"]
        ]
        assert await chromium.look("problems.innerText") == "Controller probes: the daemons of 1 object fail."


async def test_who_has_to_show_a_token_is_asked_for_one(chromium: Page) -> None:
    shown_tokens = []

    async def rule(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if request.path.startswith("/debug/"):
            shown_tokens.append(request.headers.get("Authorization"))
            if shown_tokens[-1] != "Bearer secret":
                raise web.HTTPUnauthorized
        return await handler(request)

    async with staged(rule=rule) as port:
        await chromium.open(f"http://localhost:{port}/page/")
        await chromium.until("document.getElementById('sign-in').checkVisibility()")
        assert await chromium.look("document.activeElement.id") == "token"
        await chromium.type("wrong")
        await chromium.press("Enter", text="\r")
        await chromium.until("document.getElementById('sign-in').checkVisibility()")
        await chromium.type("secret")
        await chromium.press("Enter", text="\r")
        await chromium.until("document.querySelectorAll('#informers-table tbody tr').length")

        assert not await chromium.look("document.getElementById('sign-in').checkVisibility()")
        assert await chromium.look("location.href + document.cookie") == f"http://localhost:{port}/page/"
    assert shown_tokens[:2] == [None, "Bearer wrong"]


async def test_the_page_shows_that_a_manager_is_gone_or_back(chromium: Page) -> None:
    async with staged() as port:
        await chromium.open(f"http://localhost:{port}/page/")
        await chromium.until("connection.innerText == '● live'")
    with anyio.fail_after(60):
        await chromium.until("connection.innerText.startsWith('▲')")
    async with staged(port=port):
        await chromium.until("connection.innerText == '● live'")
