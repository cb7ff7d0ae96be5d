"""Outages: what informers do while their server is gone, over real sockets and a clock that is turned."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import anyio
from structlog.testing import capture_logs

from kinformer.client import connect
from kinformer.clock import FakeClock
from kinformer.informers import SharedInformerFactory
from kinformer.models import V1ConfigMap, V1Pod, V1Secret
from tests.ports import free_port
from tests.turning import quiet, turn

MODELS = (V1ConfigMap, V1Pod, V1Secret)


class LittleServer:
    """Lists nothing, watches nothing, and can be switched off and on at one address."""

    def __init__(self) -> None:
        self.port = free_port()
        self.asked: Counter[str] = Counter()
        self._listener: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def switch_on(self) -> None:
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    def switch_off(self) -> None:
        assert self._listener is not None
        self._listener.close()
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                target = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
                what = "watch" if "watch=true" in target else "version" if "version" in target else "list"
                self.asked[what] += 1
                writer.write(self._answer(target, what))
                if what == "watch" and "sendInitialEvents" not in target:
                    await reader.read(1)
                    return
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    def _answer(self, target: str, what: str) -> bytes:
        if what == "watch" and "sendInitialEvents" not in target:
            return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        code = 400 if what == "watch" else 200
        body = json.dumps({"metadata": {"resourceVersion": "1"}, "items": []}).encode()
        return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (code, len(body), body)


async def test_informers_recover_within_five_seconds_of_an_outage_with_two_log_lines() -> None:
    clock = FakeClock()
    server = LittleServer()
    await server.switch_on()
    async with (
        connect(url=f"http://127.0.0.1:{server.port}", clock=clock) as client,
        SharedInformerFactory(client, clock=clock) as informers,
    ):
        for model in MODELS:
            informers.informer_for(model)
        informers.start()
        await turn(clock, 2)
        assert server.asked["list"] == len(MODELS)
        with capture_logs() as logs:
            server.switch_off()
            await quiet()
            await turn(clock, 200)
            server.asked.clear()
            await server.switch_on()
            await turn(clock, 5)

        assert server.asked["watch"] >= len(MODELS)
        assert server.asked["version"] <= 1
        told = [entry["event"] for entry in logs if entry["log_level"] in ("info", "warning", "error")]
        assert [event for event in told if event.startswith("server_")] == [
            "server_unreachable",
            "server_reachable_again",
        ]
        assert "watch_failed" not in told
        server.switch_off()
        await quiet()


async def test_a_client_that_starts_before_its_server_begins_with_it() -> None:
    clock = FakeClock()
    server = LittleServer()
    async with (
        connect(url=f"http://127.0.0.1:{server.port}", clock=clock) as client,
        SharedInformerFactory(client, clock=clock) as informers,
    ):
        informer = informers.informer_for(V1ConfigMap)
        with capture_logs() as logs:
            informers.start()
            await turn(clock, 100)
            assert not informer.has_synced
            await server.switch_on()
            await turn(clock, 5)
        await quiet()

        assert informer.has_synced
        assert [entry["event"] for entry in logs if entry["log_level"] != "debug"] == [
            "server_unreachable",
            "server_reachable_again",
        ]
        server.switch_off()
        await quiet()
        await anyio.lowlevel.checkpoint()
