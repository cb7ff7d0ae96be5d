"""Direct requests: a program has the same experiences with them as with HTTP, whatever happens to its requests."""

from __future__ import annotations

import gc
from typing import Any

import anyio
import pytest

from kinformer.client import ClientError, ConfigError
from kinformer.models import V1ConfigMap
from kinformer.simulation import Plan, World, WorldOptions, run_world
from kinformer.simulation.direct import Line
from kinformer.simulation.network import NetworkOptions
from kinformer.simulation.process import Program
from tests.simulation.tiny import mended_scenario

ASKED = [
    "",
    "cut(asker,request=1,before)",
    "cut(asker,request=1,after_write)",
    "cut(asker,request=2,in_line)",
    "cut(asker,request=3,in_line)",
    "cut(asker,request=4,in_line,event=1)",
    "refuse(asker,request=1,code=500)",
    "refuse(asker,request=2,code=429,retry_after=5)",
    "refuse(asker,request=4,code=410)",
    "delay(asker,request=2,seconds=70)",
    "crash(asker,write=1,lost)",
    "crash(asker,write=1)",
    "pause(asker,write=1,seconds=60)",
    "partition(asker,write=1,seconds=30)",
    "restartserver(change=1,kept)",
    "restart(asker,write=1,version=-1)",
]


def experiences(plan: str, *, http: bool) -> list[str]:
    """What a program sees that writes, reads, lists and watches, while the user writes beside it."""
    seen: list[str] = []

    async def ask(what: str, request: Any) -> None:
        try:
            found = await request
        except ClientError as error:
            found = type(error).__name__
        seen.append(f"{what}: {found}")

    async def main(program: Program) -> None:
        maps = program.client.resource(V1ConfigMap)
        seen.append("begins")

        async def names() -> list[str]:
            return [each.metadata.name for each in (await maps.list("default")).items]

        async def watched() -> str:
            got = []
            try:
                async with maps.watch("default", resource_version="0") as events:
                    async for batch in events:
                        got += [f"{event.type} {event.object.metadata.name}" for event in batch]
                        if len(got) >= 4:
                            break
            except ClientError as error:
                got.append(type(error).__name__)
            return ", ".join(got)

        async def made() -> str:
            made = await maps.create({"metadata": {"name": "own"}, "data": {"long": "x" * 1000}}, "default")
            return made.metadata.name

        async def read() -> int:
            return len((await maps.get("own", "default")).data["long"])

        await ask("create", made())
        await ask("get", read())
        await ask("list", names())
        await ask("watch", watched())
        await anyio.sleep_forever()

    async def scenario(world: World) -> None:
        world.program(main, "asker")
        for number in range(3):
            await world.sleep(120)
            await world.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"user-{number}"}})

    asked = Plan.parse(f"seed=1 {plan}")
    options = WorldOptions(loops=(), http=http, network=NetworkOptions(pieces=0))
    result = run_world(scenario, asked, options=options)
    assert result.error is None
    assert not result.orphans
    assert not result.errors
    assert result.plan == asked, "the fault happens"
    return [*seen, *(record.object for record in result.history if record.what == "write")]


@pytest.mark.parametrize("plan", ASKED)
def test_a_program_sees_the_same_by_direct_requests_as_by_http(plan: str) -> None:
    assert experiences(plan, http=False) == experiences(plan, http=True)


@pytest.mark.parametrize("http", [False, True])
def test_a_path_that_is_not_escaped_is_not_sent(http: bool) -> None:
    refused: list[str] = []

    async def main(program: Program) -> None:
        with pytest.raises(ConfigError) as raised:
            await program.client.request("GET", "/api/v1/namespaces/na me")
        refused.append(str(raised.value))
        await anyio.sleep_forever()

    async def scenario(world: World) -> None:
        world.program(main, "asker")
        await world.sleep(1)

    assert run_world(scenario, Plan(1), options=WorldOptions(loops=(), http=http)).error is None
    assert [text.partition(" cannot be sent")[0] for text in refused] == ["GET '/api/v1/namespaces/na me'"]


@pytest.mark.parametrize("http", [False, True])
def test_a_server_waits_for_a_program_that_reads_slowly(http: bool) -> None:
    got: list[str] = []
    idle: list[bool] = []

    async def main(program: Program) -> None:
        async with program.client.resource(V1ConfigMap).watch("default", resource_version="0") as events:
            await anyio.sleep(60)
            async for batch in events:
                got.extend(event.object.metadata.name for event in batch)

    async def scenario(world: World) -> None:
        world.program(main, "reader")
        await world.sleep(1)
        for number in range(20):
            data = {"long": "x" * 30_000}
            await world.apply(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{number}"}, "data": data}
            )
        await world.sleep(30)
        idle.append(world.server.watches.idle)
        await world.sleep(60)
        idle.append(world.server.watches.idle)

    result = run_world(scenario, Plan(1), options=WorldOptions(loops=(), http=http))

    assert result.error is None
    assert got == [str(number) for number in range(20)]
    assert idle == [False, True]


@pytest.mark.parametrize("http", [False, True])
def test_managers_make_no_connections_unless_http_is_asked_for(http: bool) -> None:
    async def scenario(world: World) -> None:
        await mended_scenario(world)
        assert bool(world.network.ends) == http

    assert run_world(scenario, options=WorldOptions(http=http)).error is None


def test_a_request_that_is_over_is_freed_without_the_garbage_collector() -> None:
    left: list[Line] = []

    async def scenario(world: World) -> None:
        await world.list(V1ConfigMap)
        left.extend(each for each in gc.get_objects() if type(each) is Line and each.network is world.network)

    result = run_world(scenario, Plan(1))

    assert result.error is None, result.error
    assert left == []
