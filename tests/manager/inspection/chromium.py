"""Chromium without a window, driven by its DevTools protocol: no more of a browser library than these tests need."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import aiohttp
import anyio
from anyio.abc import TaskGroup

__all__ = ("CHROMIUM", "MISSING", "Page", "browser")

#: Where Chromium is; None if this machine has none.
CHROMIUM: Final = os.environ.get("CHROMIUM") or next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
MISSING: Final = "there is no Chromium: apt-get install chromium, or say where it is in $CHROMIUM"

_FLAGS: Final = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--lang=en",
)


class Page:
    """A tab."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, tasks: TaskGroup) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        #: What the browser logged: errors of scripts, and what a policy forbade.
        self.logged: list[str] = []
        #: The addresses that were asked for.
        self.requested: list[str] = []
        tasks.start_soon(self._read)

    async def _read(self) -> None:
        async for message in self._socket:
            told = json.loads(message.data)
            if "id" in told:
                self._waiting.pop(told["id"]).set_result(told)
            elif told["method"] == "Log.entryAdded":
                self.logged.append(told["params"]["entry"]["text"])
            elif told["method"] == "Runtime.exceptionThrown":
                details = told["params"]["exceptionDetails"]
                self.logged.append(details.get("exception", {}).get("description") or details["text"])
            elif told["method"] == "Network.requestWillBeSent":
                self.requested.append(told["params"]["request"]["url"])

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol, and give what it returns."""
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": params})
        told = await answer
        assert "error" not in told, told["error"]
        result: dict[str, Any] = told["result"]
        return result

    async def open(self, url: str) -> None:
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            await self.send(f"{domain}.enable")
        await self.send("Page.navigate", url=url)
        await self.until(f"location.href == '{url}' && document.readyState == 'complete'")

    async def look(self, script: str) -> Any:
        """What an expression comes to, in the page."""
        done = await self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    async def until(self, script: str) -> Any:
        """What an expression comes to once that is true, or something like it."""
        while not (found := await self.look(script)):  # noqa: ASYNC110 - the browser is another process
            await anyio.sleep(0.02)
        return found

    async def press(self, key: str, *, text: str = "", shift: bool = False) -> None:
        """Press a key: ``Tab``, ``Enter``."""
        codes = {"Tab": 9, "Enter": 13}
        given = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key], "modifiers": 8 if shift else 0}
        await self.send("Input.dispatchKeyEvent", type="keyDown", **given, **({"text": text} if text else {}))
        await self.send("Input.dispatchKeyEvent", type="keyUp", **given)

    async def type(self, text: str) -> None:
        await self.send("Input.insertText", text=text)

    async def colours(self, scheme: str) -> None:
        """As for somebody who likes it `light` or `dark`."""
        await self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.send("Emulation.setDeviceMetricsOverride", **size)

    async def picture(self) -> bytes:
        """What is to be seen, as PNG."""
        done = await self.send("Page.captureScreenshot", format="png")
        return base64.b64decode(done["data"])


@asynccontextmanager
async def browser(profile: Path) -> AsyncIterator[Page]:
    """
    A browser with one empty tab.

    :param profile: a folder for its files
    """
    assert CHROMIUM is not None, MISSING
    process = await asyncio.create_subprocess_exec(
        CHROMIUM,
        *_FLAGS,
        f"--user-data-dir={profile}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        with anyio.fail_after(60):
            port = await _port(profile / "DevToolsActivePort")
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            async with session.get("/json/list") as answer:
                tab = next(one for one in await answer.json() if one["type"] == "page")
            async with (
                session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as socket,
                anyio.create_task_group() as tasks,
            ):
                yield Page(socket, tasks)
                tasks.cancel_scope.cancel()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _port(file: Path) -> int:
    """The port that the browser writes down once it listens."""
    while True:
        with suppress(FileNotFoundError):
            if lines := (await anyio.Path(file).read_text()).splitlines():
                return int(lines[0])
        await anyio.sleep(0.05)
