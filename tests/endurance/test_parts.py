"""The parts of the long runs: each can find fault, and each trouble is what it is called."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketAttribute, SocketStream

from kinformer.cache import DeletedFinalStateUnknown
from kinformer.envtest.storage import Storage
from kinformer.meta import GroupResource
from tests.endurance import memory, quota
from tests.endurance.flood import BEAT, Flood
from tests.endurance.proxy import Proxy, proxy
from tests.endurance.service import History
from tests.endurance.troubles import troubles
from tests.endurance.witness import PossibleHistory, differences

# --- troubles


def test_a_seed_names_the_order_of_troubles() -> None:
    plan = [list(islice(troubles(seed, ("m1", "m2", "m3"), ("c1", "c2")), 24)) for seed in (1, 1, 2)]
    assert plan[0] == plan[1] != plan[2]


def test_each_trouble_comes_once_before_any_comes_again() -> None:
    plan = [trouble.row for trouble in islice(troubles(1, ("m1", "m2", "m3"), ("c1", "c2")), 24)]
    assert sorted(plan[:12]) == sorted(plan[12:])
    assert len(set(plan)) == 12


# --- the proxy

GONE = (anyio.EndOfStream, anyio.BrokenResourceError)


@asynccontextmanager
async def echo() -> AsyncIterator[tuple[Proxy, list[bytes]]]:
    """A server that answers with what it gets, behind a proxy; with all that it got."""
    got: list[bytes] = []

    async def answer(stream: SocketStream) -> None:
        async with stream:
            async for piece in stream:
                got.append(piece)
                await stream.send(piece)

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        async with proxy(("127.0.0.1", listener.extra(SocketAttribute.local_port))) as between:
            yield between, got
        tasks.cancel_scope.cancel()


async def test_a_proxy_passes_on_what_it_gets() -> None:
    async with echo() as (between, _), await anyio.connect_tcp("127.0.0.1", between.port) as stream:
        await stream.send(b"hello")
        assert await stream.receive() == b"hello"


async def test_what_a_proxy_held_up_never_arrives() -> None:
    async with echo() as (between, got), await anyio.connect_tcp("127.0.0.1", between.port) as stream:
        await stream.send(b"before")
        assert await stream.receive() == b"before"
        with between.holding():
            await stream.send(b"late")
            async with await anyio.connect_tcp("127.0.0.1", between.port) as other:
                await other.send(b"late")
                await between.holds_up(2)
        with pytest.raises(GONE):
            await stream.receive()
        async with await anyio.connect_tcp("127.0.0.1", between.port) as other:
            await other.send(b"after")
            assert await other.receive() == b"after"
    assert got == [b"before", b"after"]


async def test_a_proxy_that_cuts_closes_old_and_new_connections() -> None:
    async with echo() as (between, got), await anyio.connect_tcp("127.0.0.1", between.port) as stream:
        await stream.send(b"before")
        assert await stream.receive() == b"before"
        with between.cutting():
            with pytest.raises(GONE):
                await stream.receive()
            async with await anyio.connect_tcp("127.0.0.1", between.port) as other:
                with pytest.raises(GONE):
                    await other.receive()
    assert got == [b"before"]


# --- the witness


def config_map(version: int) -> dict[str, Any]:
    return {"metadata": {"namespace": "a", "name": "b", "resourceVersion": str(version)}}


def test_a_possible_history_is_believed() -> None:
    history = PossibleHistory("configmaps", dict)
    history.on_add(config_map(1), True)
    history.on_update(config_map(1), config_map(3))
    history.on_update(config_map(3), config_map(3))
    history.on_delete(DeletedFinalStateUnknown("a/b", config_map(3)))
    history.on_add(config_map(7), False)
    assert history.wrong == []


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        (["on_add", "on_add"], "is added, and was there"),
        (["on_update"], "is updated, and was not there"),
        (["on_delete"], "is deleted, and was not there"),
        (["on_add", "on_delete", "on_update"], "is updated, and was not there"),
    ],
)
def test_an_impossible_order_is_found(told: list[str], wrong: str) -> None:
    history, arguments = PossibleHistory("configmaps", dict), {"on_add": (False,), "on_update": (config_map(1),)}
    for version, name in enumerate(told, 1):
        getattr(history, name)(config_map(version), *arguments.get(name, ()))
    assert history.wrong == [f"configmaps: a/b {wrong}"]


def test_a_version_that_goes_back_is_found() -> None:
    history = PossibleHistory("configmaps", dict)
    history.on_add(config_map(5), False)
    history.on_update(config_map(5), config_map(4))
    assert history.wrong == ["configmaps: a/b goes back from version 5 to 4"]


def test_each_difference_of_a_cache_is_found() -> None:
    held, served = {"same": "1", "old": "1", "gone": "1"}, {"same": "1", "old": "2", "new": "3"}
    assert [text.split(" ")[1] for text in differences("pods", held, served)] == ["gone", "new", "old"]


# --- memory


def samples(**last: Any) -> list[dict[str, Any]]:
    """One a second: quiet for 10 s, a flood for 100 s, quiet for 10 s."""
    usual = {"mib": 100.0, "tasks": 5, "files": 6, "connections": 7, "wrong": []}
    made = [{**usual, "time": float(second)} for second in range(120)]
    made[-1]["different"] = []
    for sample in made[-30:]:
        sample.update(last)
    return made


@pytest.mark.parametrize(
    ("last", "wrong"),
    [
        ({}, []),
        ({"mib": 104.0}, []),
        ({"mib": 106.0}, ["the memory grew from 100 to 106 MiB"]),
        ({"tasks": 6}, ["there were 5 tasks in the beginning and 6 in the end"]),
        ({"connections": 8}, ["there were 7 connections in the beginning and 8 in the end"]),
        ({"wrong": ["pods: a goes back"]}, ["pods: a goes back"]),
        ({"different": ["pods: a"]}, ["pods: a"]),
    ],
)
def test_a_process_that_grows_or_loses_something_is_found(last: dict[str, Any], wrong: list[str]) -> None:
    assert memory.judge(samples(**last), 10.0, 110.0, 20.0) == wrong


def test_a_run_without_a_comparison_is_not_believed() -> None:
    made = samples()
    del made[-1]["different"]
    assert memory.judge(made, 10.0, 110.0, 20.0) == ["the caches were not compared"]


def test_the_flood_changes_one_object_after_the_other() -> None:
    storage, pods = Storage(), GroupResource("", "pods")
    for name in ("a", "b"):
        storage.create(pods, "default", name, {"metadata": {"namespace": "default", "name": name}})
    flood = Flood(storage, rate=100.0)
    for _ in range(5):
        flood.change()
    found = {
        key: version.decode()["metadata"]["annotations"][BEAT] for key, version in storage.log(pods).objects.items()
    }
    assert found == {"default/a": "5", "default/b": "4"}


# --- the quota webhook


def test_too_many_pods_at_any_time_are_seen() -> None:
    history = History()
    for type_, uid in (("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "a"), ("ADDED", "c")):
        history.saw(type_, uid)
    assert (history.most, len(history)) == (2, 2)


@pytest.mark.parametrize(
    ("times", "wrong"), [([0.01] * 100, 0), ([0.01] * 98 + [0.3] * 2, 1), ([0.01] * 999 + [6.0], 1), ([6.0] * 9, 2)]
)
def test_late_answers_are_found(times: list[float], wrong: int) -> None:
    outcome = quota.Outcome(times=times)
    outcome.judge()
    assert len(outcome.violations) == wrong
