from __future__ import annotations

import anyio
import pytest
from aiohttp import web

from kinformer.manager.serving import listening
from kinformer.manager.serving.listening import app_runner, listen


async def test_a_connection_without_a_whole_request_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "IDLE_LIMIT", 0.01)
    with anyio.fail_after(60):
        async with app_runner(web.Application()) as runner:
            port = await listen(runner, "127.0.0.1", 0, None)
            async with await anyio.connect_tcp("127.0.0.1", port) as slow:
                await slow.send(b"GET / HTTP/1.1\r\nHost: ")

                with pytest.raises(anyio.EndOfStream):
                    await slow.receive()
