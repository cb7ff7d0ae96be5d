"""The event loop goes on while a request takes long: the server runs inside people's test processes."""

from __future__ import annotations

import threading

import anyio
import anyio.from_thread
import pytest

from kinformer.envtest.storage import Disturbed
from tests.envtest.conftest import Http

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
LONG = {"metadata": {"name": "long"}, "data": {f"k{i}": "v" * 20 for i in range(8_000)}}


@pytest.fixture
def threads(http: Http, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each object that was decoded: whether that was on the event loop's thread."""
    from kinformer.envtest.handlers import writing

    loop, seen, decode = threading.get_ident(), list[bool](), writing.decode_object

    def decode_object(*args: object) -> object:
        seen.append(threading.get_ident() == loop)
        return decode(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "decode_object", decode_object)
    return seen


async def test_long_objects_are_stored_by_a_thread_and_short_by_the_loop(http: Http, threads: list[bool]) -> None:
    await http.create(CONFIG_MAPS, LONG)
    await http.create(CONFIG_MAPS, {"metadata": {"name": "short"}})
    assert threads == [False, True]
    assert len((await http.get(f"{CONFIG_MAPS}/long"))["data"]) == 8_000


async def test_a_short_update_of_a_long_object_is_made_aside_as_well(http: Http, threads: list[bool]) -> None:
    await http.create(CONFIG_MAPS, LONG)
    code, updated = await http("PUT", f"{CONFIG_MAPS}/long", {"metadata": {"name": "long"}, "data": {"k0": "new"}})
    assert (code, updated["data"]) == (200, {"k0": "new"})
    assert threads == [False, False]


async def test_who_watches_is_told_of_what_a_thread_has_stored(http: Http) -> None:
    version = (await http.get(CONFIG_MAPS))["metadata"]["resourceVersion"]
    url = f"{http.server.url}{CONFIG_MAPS}?watch=1&resourceVersion={version}"
    async with http.session.get(url) as response:
        await http.create(CONFIG_MAPS, LONG)
        assert b'"ADDED"' in await response.content.read(100)


async def test_other_writes_wait_for_a_long_one_and_reads_do_not(http: Http, monkeypatch: pytest.MonkeyPatch) -> None:
    from kinformer.envtest.handlers import writing

    may_go_on, decode, order = threading.Event(), writing.decode_object, list[str]()

    def decode_object(*args: object) -> object:
        if not order:
            order.append("long one begun")
            anyio.from_thread.run_sync(begun.set)
            may_go_on.wait()
        return decode(*args)  # type: ignore[arg-type]

    begun = anyio.Event()
    monkeypatch.setattr(writing, "decode_object", decode_object)

    async def write(body: object, name: str) -> None:
        await http.create(CONFIG_MAPS, body)
        order.append(name)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write, LONG, "long one stored")
        await begun.wait()
        tasks.start_soon(write, {"metadata": {"name": "short"}}, "short one stored")
        await http.get(CONFIG_MAPS)
        order.append("read")
        may_go_on.set()
    assert order[:2] == ["long one begun", "read"]
    assert set(order[2:]) == {"long one stored", "short one stored"}


async def test_a_long_write_that_was_disturbed_is_made_anew(http: Http, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is in the server's process can write past its HTTP side."""
    from kinformer.envtest.handlers import writing

    decode, rounds = writing.decode_object, list[int]()
    resource = http.server.registry.find("", "v1", "configmaps")
    assert resource is not None

    def decode_object(*args: object) -> object:
        rounds.append(1)
        if len(rounds) == 1:
            other = {"metadata": {"name": "long"}, "data": {"of": "somebody else"}}
            anyio.from_thread.run_sync(http.server.operations.create, resource, "default", other)
        return decode(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "decode_object", decode_object)
    code, refused = await http("POST", CONFIG_MAPS, LONG)
    assert (code, refused["reason"], len(rounds)) == (409, "AlreadyExists", 2)
    assert (await http.get(f"{CONFIG_MAPS}/long"))["data"] == {"of": "somebody else"}


async def test_what_is_disturbed_again_and_again_is_done_on_the_loop(
    http: Http, threads: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = http.server.storage

    def disturbed(*_: object) -> None:
        raise Disturbed

    monkeypatch.setattr(storage, "_write_for_guest", disturbed)
    await http.create(CONFIG_MAPS, LONG)
    assert threads == [False, False, False, True]
