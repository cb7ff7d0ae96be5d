"""``kinformer top`` and ``kinformer debug`` against a manager that runs."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from aiohttp import web
from rich.console import Console

from kinformer.cli import debug, figures, top
from kinformer.cli.inspection_tables import CONTROLLERS, INFORMERS, table
from kinformer.cli.remote import RemoteError, url_of
from kinformer.cli.remote_flags import RemoteFlags
from kinformer.clock import RealClock
from kinformer.manager.inspection.views import Answer, Snapshot
from kinformer.models import V1ObjectMeta, V1ResourceQuota
from tests.cli.commands import kinformer
from tests.manager.inspection.worlds import DAEMONS, WEBHOOK, World, world


@asynccontextmanager
async def managed() -> AsyncIterator[World]:
    async with world(clock=RealClock(), endpoint=("127.0.0.1", 0)) as here:
        here.refuse["default/bad"] = "no room"
        for name in ("bad", "good"):
            await here.create(name)
        with anyio.fail_after(60):
            while len(here.controller.history.keys()) < 2:  # noqa: ASYNC110 - its clock is the real one
                await anyio.sleep(0.01)
        yield here


def address(here: World) -> str:
    return f"127.0.0.1:{here.port}"


async def test_top_prints_once_where_there_is_no_terminal() -> None:
    async with managed() as here:
        done = await kinformer("top", "--address", address(here))

    assert (done.status, done.err) == (0, "")
    assert "2 of 2 informers follow" in done.out
    sections = ["FAILING KEY", "CONTROLLER ", "QUEUE ", "RESOURCE "]
    assert [name for name in sections if name not in done.out] == []
    assert "default/bad" in done.out
    assert "no room" in done.out
    assert "\x1b" not in done.out


async def test_each_part_is_shown_as_a_table() -> None:
    rows = {"informers": "configmaps", "queues": "counts", "controllers": "printer"}
    async with managed() as here:
        for part, row in rows.items():
            done = await kinformer("debug", part, "--address", address(here))
            assert (done.status, done.err) == (0, "")
            assert any(line.startswith(f"{row} ") for line in done.out.splitlines()), done.out


@pytest.mark.parametrize("part", ["informers", "queues", "controllers"])
async def test_each_part_is_shown_as_json(part: str) -> None:
    async with managed() as here:
        done = await kinformer("debug", part, "-o", "json", "--address", address(here))

    assert len(json.loads(done.out)) == 2
    assert done.out.isascii()


async def test_why_tells_what_a_key_was_synced_for_and_how_that_ended() -> None:
    async with managed() as here:
        done = await kinformer("debug", "why", "default/bad", KINFORMER_ADDRESS=address(here))

    assert (done.status, done.err) == (0, "")
    assert "default/bad: in configmaps (version " in done.out
    assert "printer: " in done.out
    assert "times in a row" in done.out or "time in a row" in done.out
    assert "configmaps default/bad" in done.out
    assert "failed: no room" in done.out


@pytest.mark.parametrize(
    ("key", "said"),
    [("default/bad", "tried again in 5.0ms"), ("default/q", "synced again in 60s")],
    ids=["a failure", "a time that the sync asked for"],
)
async def test_only_what_has_failed_is_tried_again(key: str, said: str) -> None:
    text = io.StringIO()
    async with world(endpoint=("127.0.0.1", 0)) as here:
        here.refuse["default/bad"] = "no room"
        await here.create("bad")
        await here.client.resource(V1ResourceQuota).create(
            V1ResourceQuota(metadata=V1ObjectMeta(name="q", namespace="default"))
        )
        with anyio.fail_after(60):
            while all(it.queue.due_in(key) is None for it in here.manager.inspector.controllers):
                await anyio.lowlevel.checkpoint()
        await debug.why(key, controller="", remote=flags(address(here)), output="table", console=Console(file=text))

    assert said in text.getvalue()


async def test_why_for_scripts_has_all_that_is_known() -> None:
    async with managed() as here:
        done = await kinformer("debug", "why", "default/good", "-o", "json", "--address", address(here))

    found = msgspec.json.decode(done.out, type=Answer)
    assert found.controllers[0].runs[0].trigger.object == "default/good"


async def test_a_key_that_nobody_knows_is_one_line_with_those_like_it() -> None:
    async with managed() as here:
        done = await kinformer("debug", "why", "default/gool", "--address", address(here))

    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("kinformer: nothing is known of the key default/gool: did you mean default/good")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("command", [("top",), ("debug", "queues"), ("debug", "why", "default/a", "-o", "json")])
async def test_no_manager_is_one_line_that_says_what_to_do(command: tuple[str, ...]) -> None:
    done = await kinformer(*command, "--address", "127.0.0.1:1")

    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "kinformer: no manager at http://127.0.0.1:1: Connection refused. "
        "Start one with --metrics-bind-address, or say --address\n"
    )


def flags(address: str, **others: Any) -> RemoteFlags:
    return RemoteFlags(address=address, **others)


@asynccontextmanager
async def answering(answer: Callable[[web.Request], web.Response]) -> AsyncIterator[str]:
    """A server that is something else, and where it is."""

    async def serve(request: web.Request) -> web.Response:
        return answer(request)

    app = web.Application()
    app.router.add_get("/{path:.*}", serve)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (web.Response, "answers, but is no manager of kinformer"),
        ({"status": 404}, "answers, but is no manager of kinformer"),
        ({"status": 401}, "does not know who asks: say --token or --token-file"),
        ({"status": 403}, r"refuses: whoever the token is of may not get /debug/\*"),
        ({"status": 503, "text": '{"error": "too many"}'}, "answers 503: too many"),
        ({"status": 502, "text": "bad gateway"}, "answers 502: bad gateway"),
        ({"text": "{}", "content_type": "application/json"}, "not as a manager of this version of kinformer does"),
        ({"text": "[", "content_type": "application/json"}, "not as a manager of this version of kinformer does"),
    ],
)
async def test_what_is_no_manager_or_refuses_is_told_apart(answer: Any, told: str) -> None:
    def respond(_: web.Request) -> web.Response:
        return web.Response(**answer) if isinstance(answer, dict) else answer()

    async with answering(respond) as where:
        with pytest.raises(RemoteError, match=told):
            await top.run(remote=flags(where), interval=1.0, once=True)


async def test_a_token_is_sent_from_a_flag_or_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("of-a-file\n")
    seen = []

    def respond(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization"))
        return web.Response(status=403)

    async with answering(respond) as where:
        for given in ({}, {"token": "of-a-flag"}, {"token_file": file}):
            with pytest.raises(RemoteError):
                await top.run(remote=flags(where, **given), interval=1.0, once=True)

    assert seen == [None, "Bearer of-a-flag", "Bearer of-a-file"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"token_file": Path("/nowhere/token")}, "--token-file is /nowhere/token: No such file or directory"),
        ({"certificate_authority": Path("/dev/null")}, "--certificate-authority is /dev/null: no certificate in PEM"),
    ],
)
async def test_a_file_that_is_missing_or_wrong_is_named(given: dict[str, Any], told: str) -> None:
    with pytest.raises(RemoteError, match=told):
        await top.run(remote=flags("localhost:1", **given), interval=1.0, once=True)


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("localhost:8080", "http://localhost:8080"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("10.0.0.7:8443", "https://10.0.0.7:8443"),
        ("manager.kube-system:8443", "https://manager.kube-system:8443"),
        ("http://10.0.0.7:8080/", "http://10.0.0.7:8080"),
    ],
)
def test_an_address_without_a_scheme_is_plain_only_on_this_machine(address: str, url: str) -> None:
    assert url_of(address) == url


@pytest.mark.parametrize("address", ["", "ftp://a:1", "a:b", "a:99999", "http://"])
def test_an_address_that_is_none_is_named(address: str) -> None:
    with pytest.raises(RemoteError, match="--address is"):
        url_of(address)


# --- how it looks


def printed(what: Any, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(what)
    return out.getvalue().splitlines()


async def looked() -> Snapshot:
    async with managed() as here:
        return here.manager.inspector.snapshot()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
async def test_no_line_is_wider_than_the_terminal_and_no_column_is_cut(width: int) -> None:
    snapshot = await looked()
    for columns, rows in ((INFORMERS, snapshot.informers), (CONTROLLERS, snapshot.controllers)):
        lines = printed(table(columns, rows, width), width)  # type: ignore[arg-type]
        assert len(lines) == 3
        assert max(map(len, lines)) <= width
        assert "…" not in lines[0]


async def test_a_wider_terminal_shows_more_columns() -> None:
    snapshot = await looked()

    narrow, wide = (printed(table(INFORMERS, snapshot.informers, width), width)[0].split() for width in (40, 200))
    assert narrow == ["RESOURCE", "STATE", "OBJECTS"]
    assert set(narrow) < set(wide)


@pytest.mark.parametrize("height", [3, 8, 12, 24, 60])
async def test_a_picture_is_no_higher_than_the_terminal(height: int) -> None:
    snapshot = await looked()
    many = [msgspec.structs.replace(snapshot.informers[0], name=f"kind-{number}") for number in range(100)]
    snapshot = msgspec.structs.replace(snapshot, informers=many)

    lines = printed(top.picture(snapshot, 100, height, trouble="no answer"), 100)
    assert len(lines) <= height
    assert "no answer" in lines


async def test_what_fails_is_shown_where_there_is_room_for_little() -> None:
    lines = printed(top.picture(await looked(), 80, 6), 80)

    assert any(line.startswith("default/bad") for line in lines)


async def test_webhooks_are_shown_with_what_they_have_refused() -> None:
    snapshot = msgspec.structs.replace(await looked(), webhooks=[WEBHOOK])

    lines = printed(top.picture(snapshot, 120, 40), 120)

    (line,) = (line for line in lines if line.startswith("/validate"))
    assert line.split() == ["/validate", "validating", "not", "registered", "0.50", "7", "2", "1", "10ms", "20ms"]


async def test_daemons_are_shown_with_the_last_error() -> None:
    snapshot = msgspec.structs.replace(await looked(), tasks=[DAEMONS])

    lines = printed(top.picture(snapshot, 120, 40), 120)

    (line,) = (line for line in lines if line.startswith("probes"))
    assert line.split() == ["probes", "daemons", "3", "1", "2", "4", "8.0s", "default/shop:", "no", "answer"]


def test_what_a_terminal_would_obey_is_shown_instead() -> None:
    from kinformer.cli.inspection_tables import FAILING, _Failing

    row = _Failing("printer", "default/\x1b[2Jx", "[bold]not markup[/bold] \x9b31m", 1.0, None)
    text = "\n".join(printed(table(FAILING, [row], 120), 120))

    assert "\x1b" not in text
    assert "\x9b" not in text
    assert "[bold]not markup[/bold]" in text


async def test_top_goes_on_when_the_manager_is_gone() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, height=30)
    async with anyio.create_task_group() as tasks:
        async with managed() as here:
            tasks.start_soon(lambda: top.run(remote=flags(address(here)), interval=0.05, once=False, console=console))
            with anyio.fail_after(60):
                while "informers follow" not in out.getvalue():  # noqa: ASYNC110 - what another task prints
                    await anyio.sleep(0.01)
        with anyio.fail_after(60):
            while "no manager at" not in out.getvalue():  # noqa: ASYNC110 - what another task prints
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0.0, "0"),
        (2e-7, "1us"),
        (0.00042, "420us"),
        (0.0042, "4.2ms"),
        (0.42, "420ms"),
        (4.24, "4.2s"),
        (90.0, "90s"),
        (150.0, "2.5m"),
        (9000.0, "2.5h"),
        (200000.0, "2d"),
    ],
)
def test_a_duration_is_told_to_two_or_three_digits(seconds: float | None, text: str) -> None:
    assert figures.span(seconds) == text


def test_figures_are_told_as_a_person_reads_them() -> None:
    assert [figures.rate(it) for it in (None, 0.0, 0.1234, 12.34, 1234.5)] == ["-", "0", "0.12", "12.3", "1,234"]
    assert [figures.size(it) for it in (None, 0, 1023, 2048, 54 * 2**20)] == ["-", "0B", "1023B", "2.0KiB", "54MiB"]
    assert [figures.ago(it) for it in (None, 0.4, 3.9, 600.0)] == ["never", "now", "3s ago", "10m ago"]
