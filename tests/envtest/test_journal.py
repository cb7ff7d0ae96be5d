from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest

from kinformer.envtest import ApiServer, ServerError

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
#: How often the server is killed. A few times show that it works; 50 take minutes, and are for releases.
KILLS = int(os.environ.get("KINFORMER_KILLS", "5"))
SERVE = """
import sys, anyio
from kinformer.envtest import ApiServer

async def main():
    async with ApiServer(data=sys.argv[1], token="t", controllers=False, plugins=False) as server:
        print(server.port, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


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


async def create_until_dead(url: str, first: int, kill_at: int, process: subprocess.Popen[str]) -> set[str]:
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
                    os.kill(process.pid, signal.SIGKILL)

    async with anyio.create_task_group() as group:
        for worker in range(4):
            group.start_soon(create, worker)
    return done


@pytest.mark.timeout(60 + 15 * KILLS)
def test_killing_the_server_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    data = tmp_path / "data.db"
    acknowledged: set[str] = set()
    for number in range(KILLS):
        command = [sys.executable, "-c", SERVE, str(data)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            url = f"http://127.0.0.1:{int(process.stdout.readline())}"

            async def one_round() -> None:
                assert acknowledged <= await names(url)  # noqa: B023 - run at once
                acknowledged.update(await create_until_dead(url, number, 20 + 7 * number, process))  # noqa: B023

            anyio.run(one_round)
            process.wait()
    assert len(acknowledged) >= 20 * KILLS
