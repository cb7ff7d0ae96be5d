"""Routes: the page, and what it and scripts ask for. All of them read; nothing that is sent changes anything.

``/page/`` has the page's three files, in which nothing of the cluster stands. What is to be seen comes from ``/debug/``
as JSON: ``snapshot``, or a part of it (``informers``, ``queues``, ``controllers``); ``why?key=`` and ``search?q=``; and
``events``, a stream of snapshots as server-sent events. The endpoint's access rules stand before all of them.

Names, labels and errors in the answers are the cluster's, and whoever may write there chooses them. They are sent as
JSON that no browser takes for anything else, and the page puts them into text, never into markup. A page of another
site cannot read them: no answer allows that. Nor can one whose own name was made to lead to this machine: a server that
listens on a loopback address answers only to the names of that.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Iterable
from importlib.resources import files
from typing import Any, Final

import anyio
import msgspec
from aiohttp import web

from kinformer.manager.inspection.inspector import Inspector
from kinformer.manager.inspection.why import MATCHES, explain, search

__all__ = ("STREAMS", "inspection_routes")

#: Streams that are served at once.
STREAMS: Final = 32

#: Seconds that a client may take to read a snapshot, before the stream is ended.
_PATIENCE: Final = 30.0
#: Seconds between two snapshots of a stream: the least and the most that can be asked for.
_SECONDS: Final = (0.5, 60.0)
_LONGEST: Final = 1024

#: What every answer has.
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

_FILES: Final = {
    "": ("index.html", "text/html"),
    "page.css": ("page.css", "text/css"),
    "page.js": ("page.js", "text/javascript"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def inspection_routes(inspector: Inspector) -> Iterable[web.AbstractRouteDef]:
    """The routes for one manager."""
    streams = _Streams(inspector)
    return [
        web.get("/", _moved),
        web.get("/page", _moved),
        *(web.get(f"/page/{name}", _file(*file)) for name, file in _FILES.items()),
        web.get("/debug/snapshot", _data(lambda _: inspector.snapshot())),
        web.get("/debug/informers", _data(lambda _: inspector.snapshot().informers)),
        web.get("/debug/queues", _data(lambda _: inspector.snapshot().queues)),
        web.get("/debug/controllers", _data(lambda _: inspector.snapshot().controllers)),
        web.get("/debug/why", _data(lambda request: _why(inspector, request))),
        web.get("/debug/search", _data(lambda request: _search(inspector, request))),
        web.get("/debug/events", streams.serve),
    ]


async def _moved(request: web.Request) -> web.Response:
    return web.Response(status=302, headers={**_HEADERS, "Location": "/page/"})


def _file(name: str, content_type: str) -> Handler:
    body = (files(__package__) / "page" / name).read_bytes()

    async def serve(_: web.Request) -> web.Response:
        # Asked for anew each time: a page that is older than the manager would not understand it.
        headers = {**_HEADERS, "Cache-Control": "no-cache"}
        return web.Response(body=body, content_type=content_type, charset="utf-8", headers=headers)

    return serve


def _data(look: Callable[[web.Request], Any]) -> Handler:
    async def serve(request: web.Request) -> web.Response:
        refused = _refused(request)
        return refused if refused is not None else _json(look(request))

    return serve


def _json(value: Any, status: int = 200) -> web.Response:
    headers = {**_HEADERS, "Cache-Control": "no-store"}
    return web.Response(
        body=msgspec.json.encode(value), status=status, content_type="application/json", headers=headers
    )


def _error(status: int, error: str) -> web.Response:
    return _json({"error": error}, status)


def _refused(request: web.Request) -> web.Response | None:
    """The answer to who asks by a name that is not this machine's, where only this machine may ask."""
    transport = request.transport
    address = transport.get_extra_info("sockname") if transport is not None else None
    if not isinstance(address, tuple) or not ipaddress.ip_address(address[0]).is_loopback:
        return None
    host = request.url.host or ""
    if host == "localhost" or host.endswith(".localhost"):
        return None
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return _error(421, "this address answers to the name localhost, or to an IP address")
    return None


def _why(inspector: Inspector, request: web.Request) -> Any:
    key = request.query.get("key", "")
    if not key or len(key) > _LONGEST:
        raise web.HTTPBadRequest(text="want why?key=NAMESPACE/NAME", headers=_HEADERS)
    return explain(inspector, key, request.query.get("controller", ""))


def _search(inspector: Inspector, request: web.Request) -> list[str]:
    text = request.query.get("q", "")
    return search(inspector, text[:_LONGEST], MATCHES) if text else []


class _Streams:
    """Snapshots for whoever looks on."""

    def __init__(self, inspector: Inspector) -> None:
        self._inspector = inspector
        self._open = 0

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if (refused := _refused(request)) is not None:
            return refused
        if self._open >= STREAMS:
            return _error(503, f"{STREAMS} are looking on already")
        least, most = _SECONDS
        try:
            seconds = min(max(float(request.query.get("seconds", "1")), least), most)
        except ValueError:
            return _error(400, "seconds: want a number")
        headers = {**_HEADERS, "Cache-Control": "no-store", "Content-Type": "text/event-stream; charset=utf-8"}
        response = web.StreamResponse(headers=headers)
        self._open += 1
        try:
            await response.prepare(request)
            while True:
                data = msgspec.json.encode(self._inspector.snapshot())
                with anyio.fail_after(_PATIENCE):
                    await response.write(b"event: snapshot\ndata: %b\n\n" % data)
                await self._inspector.clock.sleep(seconds)
        except (ConnectionError, TimeoutError):
            return response  # nobody reads any more
        finally:
            self._open -= 1
