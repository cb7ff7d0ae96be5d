"""Routes of the status page, and of the data for it and for scripts. No request changes anything.

``/page/`` has the files of the page, which contain no data of the cluster. The data comes from ``/debug/`` as JSON:
``snapshot``, or a part of it (``informers``, ``queues``, ``controllers``); ``why?key=`` and ``search?q=``; and
``events``, a stream of snapshots as server-sent events. The access rules of the endpoint hold for all of these routes.

Names, labels and errors in the answers come from the cluster, so other people choose them. They are sent as JSON, with
headers that forbid a browser to interpret them as anything else. The page inserts them as text, never as markup. A page
of another site cannot read the answers, because no answer allows other origins. DNS rebinding does not help such a
page: a server that listens on a loopback address accepts only ``localhost`` or an IP address as the host name.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Iterable
from importlib.resources import files
from typing import Any, Final

import anyio
import msgspec
from aiohttp import web

from kinformer.manager.inspection.inspector import Inspected
from kinformer.manager.inspection.why import MATCHES, explain, search

__all__ = ("STREAMS", "inspection_routes")

#: How many streams are served at a time.
STREAMS: Final = 32

#: How many seconds a client may take to read a snapshot before the stream is ended.
_PATIENCE: Final = 30.0
#: The least and the most seconds between two snapshots of a stream.
_SECONDS: Final = (0.5, 60.0)
_LONGEST: Final = 1024

#: The headers of every answer.
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


def inspection_routes(inspector: Inspected) -> Iterable[web.AbstractRouteDef]:
    """The routes for one manager, or one fleet."""
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
        # Never taken from the browser's cache: an old page may not understand the data of a newer manager.
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
    """The refusal of a request to a loopback address under another host name (DNS rebinding); None if it is allowed."""
    transport = request.transport
    address = transport.get_extra_info("sockname") if transport is not None else None
    if not isinstance(address, tuple):
        return None
    here = ipaddress.ip_address(address[0])
    # A socket for both families says ::ffff:127.0.0.1.
    if not (getattr(here, "ipv4_mapped", None) or here).is_loopback:
        return None
    host = request.url.host or ""
    if host == "localhost" or host.endswith(".localhost"):
        return None
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return _error(
            421, "this server listens on a loopback address: the host name must be localhost or an IP address"
        )
    return None


def _why(inspector: Inspected, request: web.Request) -> Any:
    key = request.query.get("key", "")
    if not key or len(key) > _LONGEST:
        raise web.HTTPBadRequest(text="want why?key=NAMESPACE/NAME", headers=_HEADERS)
    return explain(inspector, key, request.query.get("controller", ""))


def _search(inspector: Inspected, request: web.Request) -> list[str]:
    text = request.query.get("q", "")
    return search(inspector, text[:_LONGEST], MATCHES) if text else []


class _Streams:
    """Streams of snapshots."""

    def __init__(self, inspector: Inspected) -> None:
        self._inspector = inspector
        self._open = 0

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if (refused := _refused(request)) is not None:
            return refused
        if self._open >= STREAMS:
            return _error(503, f"{STREAMS} streams are open already: try again later")
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
            return response  # the client has gone, or does not read
        finally:
            self._open -= 1
