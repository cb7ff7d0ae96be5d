from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest

from kinformer.envtest import ApiServer, ServerError

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
#: How often the server is killed. Every round starts a process of its own and kills it.
KILLS = int(os.environ.get("KINFORMER_KILLS", "50"))


def serve(data: Path, port: Connection) -> None:
    """Serve from a file until killed; the whole life of a server's process."""

    async def run() -> None:
        async with ApiServer(data=data, token="t", controllers=False, plugins=False) as server:
            port.send(server.port)
            await anyio.sleep_forever()

    anyio.run(run)


def session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(headers={"Authorization": "Bearer t"})


async def names(url: str) -> set[str]:
    async with session() as client, client.get(url + CONFIG_MAPS) as response:
        return {item["metadata"]["name"] for item in (await response.json())["items"]}


async def test_what_was_stored_is_there_after_a_restart(tmp_path: Path) -> None:
    data = tmp_path / "data.db"
    async with ApiServer(data=data, token="t") as server, session() as client:
        for name in ("a", "b"):
            async with client.post(server.url + CONFIG_MAPS, json={"metadata": {"name": name}}) as response:
                created = await response.json()
        await client.delete(f"{server.url}{CONFIG_MAPS}/a")
        version = server.storage.version
    async with ApiServer(data=data, token="t") as server, session() as client:
        assert server.storage.version == version
        assert await names(server.url) == {"b"}
        async with client.get(f"{server.url}{CONFIG_MAPS}/b") as response:
            assert await response.json() == created


async def test_addresses_stay_taken_over_a_restart(tmp_path: Path) -> None:
    data = tmp_path / "data.db"
    service: dict[str, Any] = {"spec": {"ports": [{"port": 80}]}}
    addresses = set()
    for name in ("s", "s2"):
        service["metadata"] = {"name": name}
        async with ApiServer(data=data, token="t") as server, session() as client:
            response = await client.post(f"{server.url}/api/v1/namespaces/default/services", json=service)
            addresses.add((await response.json())["spec"]["clusterIP"])
    assert len(addresses) == 2


async def test_only_its_owner_can_read_the_file_and_what_is_beside_it(tmp_path: Path) -> None:
    data = tmp_path / "data.db"
    before = os.umask(0o022)
    try:
        for _ in range(2):
            async with ApiServer(data=data):
                assert modes(tmp_path) == {0o600}
            data.chmod(0o644)  # as an earlier server left it
    finally:
        os.umask(before)


def modes(folder: Path) -> set[int]:
    return {file.stat().st_mode & 0o777 for file in folder.iterdir()}


async def test_a_file_in_a_missing_folder_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"cannot keep data in .*none/data\.db: No such file"):
        async with ApiServer(data=tmp_path / "none" / "data.db"):
            pass


async def test_a_file_that_another_server_has_is_one_clear_error(tmp_path: Path) -> None:
    data = tmp_path / "data.db"
    async with ApiServer(data=data):
        with pytest.raises(ServerError, match="another server has it open"):
            async with ApiServer(data=data):
                pass


async def test_a_file_that_is_no_database_is_one_clear_error(tmp_path: Path) -> None:
    data = tmp_path / "data.db"
    data.write_bytes(b"not a database at all" * 100)
    with pytest.raises(ServerError, match=r"cannot keep data in .*data\.db: file is not a database"):
        async with ApiServer(data=data):
            pass


async def create_until_dead(url: str, first: int, kill_at: int, pid: int) -> set[str]:
    """Create objects on several connections, kill the server in the midst of it, and tell which were acknowledged."""
    done: set[str] = set()

    async def create(worker: int) -> None:
        number = 0
        async with session() as client:
            while True:
                name = f"n{first}-{worker}-{number}"
                number += 1
                try:
                    async with client.post(url + CONFIG_MAPS, json={"metadata": {"name": name}}) as response:
                        if response.status != 201:
                            return
                        done.add(name)
                except (aiohttp.ClientError, OSError):
                    return
                if len(done) == kill_at:
                    os.kill(pid, signal.SIGKILL)

    async with anyio.create_task_group() as group:
        for worker in range(4):
            group.start_soon(create, worker)
    return done


@pytest.mark.timeout(60 + 5 * KILLS)
def test_killing_the_server_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    # Servers are forked off a process that has imported everything: a killed one costs its restart, not its imports.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    data = tmp_path / "data.db"
    acknowledged: set[str] = set()
    # After how many objects each server is killed: soon, and in the midst of more.
    moments = [5 + 7 * number % 40 for number in range(KILLS)]
    for number, kill_at in enumerate(moments):
        mine, its = context.Pipe(duplex=False)
        process = context.Process(target=serve, args=(data, its))
        process.start()
        its.close()
        url = f"http://127.0.0.1:{mine.recv()}"

        async def one_round() -> None:
            assert acknowledged <= await names(url)  # noqa: B023 - run at once
            assert process.pid is not None  # noqa: B023 - as above
            acknowledged.update(await create_until_dead(url, number, kill_at, process.pid))  # noqa: B023 - as above

        anyio.run(one_round)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        process.close()
        mine.close()
    assert len(acknowledged) >= sum(moments)
