"""What a hostile server does: one function for each scenario, by name, with the kinds of requests that it attacks.

``stream``: streaming lists; ``list``: plain lists; ``watch``: watches. What is not attacked is answered decently.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from itertools import count
from typing import Any

from tests.hostile.server import CANARY, OK, Ask, Attack, chunk, config_map, event, listed, whole

__all__ = ("SCENARIOS",)

SCENARIOS: dict[str, tuple[Attack, str]] = {}

ALL = "stream list watch"
LISTS = "stream list"


def scenario(kinds: str) -> Callable[[Attack], Attack]:
    def keep(attack: Attack) -> Attack:
        SCENARIOS[attack.__name__] = attack, kinds  # type: ignore[attr-defined]
        return attack

    return keep


def answers(name: str, kinds: str, data: bytes) -> None:
    """A scenario that sends these bytes and closes the connection."""

    async def attack(ask: Ask) -> None:
        await ask.send(data)
        raise ConnectionResetError

    SCENARIOS[name] = attack, kinds


def watches(name: str, *lines: bytes, kinds: str = "watch stream") -> None:
    """A scenario that answers watches with these lines, each a chunk, and stays open."""

    async def attack(ask: Ask) -> None:
        await ask.watch(*lines)

    SCENARIOS[name] = attack, kinds


def status(code: int, **more: Any) -> bytes:
    return json.dumps({"kind": "Status", "status": "Failure", "code": code, **more}).encode()


FINE = config_map("c", 13)

# --- answers that are none

answers("nothing at all", ALL, b"")
answers("bytes that are no HTTP", ALL, b"\x15\x03\x01\x00\x02\x02\x46" * 100)
answers("an answer of another protocol", ALL, b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
answers("a head that breaks off", ALL, b"HTTP/1.1 200 OK\r\nConte")
answers("a hundred thousand headers", ALL, b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000 + b"\r\n")
answers("a header without end", ALL, b"HTTP/1.1 200 OK\r\nX: " + b"a" * 2_000_000)
answers("a status line without end", ALL, b"HTTP/1.1 200 " + b"a" * 2_000_000)
answers("an upgrade nobody asked for", ALL, b"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n" + b"x" * 999)
answers("a thousand times continue", ALL, b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)
answers("a length below zero", ALL, b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}")
answers("a length and chunks", ALL, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nxxxxx")
answers("a chunk that is larger than the world", ALL, OK + b"F" * 24 + b"\r\n" + b"x" * 100_000)
answers("a chunk of less than nothing", ALL, OK + b"-5\r\nxxxxx\r\n")
answers("a chunk without a size", ALL, OK + b"zz" * 10_000)
answers("an empty success", ALL, whole(200, b""))
answers("a login page", ALL, whole(200, b"<html>" + CANARY.encode() + b"</html>"))
answers("a success that is null", ALL, whole(200, b"null\n"))
answers("bytes that are no text", ALL, whole(200, b"\xff\xfe\x00" * 100))

# --- refusals

answers("a wait of four hundred digits", ALL, whole(429, b"{}", b"Retry-After: " + b"9" * 400 + b"\r\n"))
answers("a wait of five thousand digits", ALL, whole(429, b"{}", b"Retry-After: " + b"9" * 5000 + b"\r\n"))
answers("a wait of a year", ALL, whole(503, b"{}", b"Retry-After: 31536000\r\n"))
answers("a wait of an age in the Status", ALL, whole(429, status(429, details={"retryAfterSeconds": 10**30})))
answers("a Status of a hundred thousand levels", ALL, whole(500, b'{"kind":"Status","x":' + b"[" * 100_000))
answers("a Status of the wrong types", ALL, whole(403, status(403, details=[1], reason=5)))
answers("a Status with control characters", ALL, whole(403, status(403, message="\x1b[2J\n[error] forged")))
answers("a refusal as a success", ALL, whole(200, status(403, reason="Forbidden")))
answers("a refusal without end", ALL, whole(500, b"x" * 5_000_000))
answers("a refusal of who asks", ALL, whole(401, status(401, reason="Unauthorized")))
answers("a version that is always too old", ALL, whole(410, status(410, reason="Expired")))
answers(
    "a page that has always expired",
    "stream list",
    whole(410, status(410, reason="Expired", metadata={"continue": "x"})),
)

# --- redirects

answers("a redirect to itself", ALL, b"HTTP/1.1 302 F\r\nLocation: /api\r\nContent-Length: 0\r\n\r\n")
answers("a redirect to a file", ALL, b"HTTP/1.1 302 F\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n")
answers("a redirect to nowhere", ALL, b"HTTP/1.1 302 F\r\nLocation: http://[x\r\nContent-Length: 0\r\n\r\n")
answers("a redirect to nobody", ALL, b"HTTP/1.1 302 F\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")

# --- compression

PACKED = b"Content-Encoding: gzip\r\n"
answers("a bomb in gzip", ALL, whole(200, gzip.compress(b" " * 50_000_000), PACKED))
answers("an unknown compression", ALL, whole(200, b"xxxx", b"Content-Encoding: \x80\x81\r\n"))

# --- lists

answers("a list of the wrong types", LISTS, whole(200, b'{"metadata":{"resourceVersion":5},"items":{"a":1}}'))
answers("a list with one item that is none", LISTS, whole(200, listed(config_map("a", 5), config_map(7, 6))))
answers(
    "a list of a hundred thousand levels",
    LISTS,
    whole(200, b'{"metadata":{},"items":[{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}]}"),
)
answers("a list of odd versions", "list stream", whole(200, listed(config_map("a", "x"), version="9" * 5000)))
answers("a list that breaks off", LISTS, whole(200, listed(config_map("a", 5)))[:-20])


@scenario(LISTS)
async def pages_in_a_circle(ask: Ask) -> None:
    if ask.kind == "stream":
        await ask.send(whole(400, b"{}"))
    else:
        await ask.send(whole(200, listed(config_map("x", 5), token="again")))


@scenario(LISTS)
async def pages_without_end(ask: Ask) -> None:
    if ask.kind == "stream":
        await ask.send(whole(400, b"{}"))
        return
    page = next(_pages)
    await ask.send(whole(200, listed(*(config_map(f"x{page}-{n}", 5) for n in range(200)), token=f"t{page}")))


_pages = count()


@scenario(LISTS)
async def an_item_without_end(ask: Ask) -> None:
    await ask.send(OK, chunk(b'{"kind":"ConfigMapList","metadata":{"resourceVersion":"5"},"items":[{"x":"'))
    await ask.flood(chunk(b"x" * 65536))


@scenario("stream")
async def a_streaming_list_without_end(ask: Ask) -> None:
    await ask.send(OK)
    for page in range(100_000):
        await ask.send(b"".join(chunk(event("ADDED", config_map(f"x{page}-{n}", 12))) for n in range(100)))


# --- watches


@scenario("watch stream")
async def a_line_without_end(ask: Ask) -> None:
    await ask.send(OK, chunk(b'{"type":"ADDED","object":{"data":{"a":"'))
    await ask.flood(chunk(b"x" * 65536))


@scenario("watch stream")
async def a_line_without_end_byte_by_byte(ask: Ask) -> None:
    await ask.send(OK)
    await ask.flood(chunk(b"x") * 5000)


@scenario("watch stream")
async def a_thousand_versions_of_one_object(ask: Ask) -> None:
    await ask.send(OK, *(chunk(event("MODIFIED", config_map("a", 20 + n))) for n in range(1000)))
    await ask.hold()


watches("events of the wrong type", event("ADDED", "text"), event("ADDED", 5), event("ADDED", None), event("ADDED", []))
watches("events that are none", b"null\n", b"[]\n", b"{}\n", b"5\n", b"\n\n\n", b"{" + CANARY.encode() + b"\n")
watches("an event of another kind", event("ADDED", {**config_map("s", 50), "kind": "Secret"}), event("ADDED", FINE))
watches("an event that does not fit", event("ADDED", {"metadata": {"name": 5}, "data": {"password": CANARY}}))
watches("an unknown type of event", event("FOO", FINE), event("ADDED", FINE))
watches("objects without names", *(event("ADDED", {"metadata": {"resourceVersion": "12"}}) for _ in range(3)))
watches("objects without metadata", event("ADDED", {}), event("DELETED", {}), event("MODIFIED", {"metadata": None}))
watches("versions that go back", *(event("MODIFIED", config_map("a", 100 - n * 5)) for n in range(20)))
watches("versions of five thousand digits", event("MODIFIED", config_map("a", "9" * 5000)))
watches(
    "bookmarks without a version", event("BOOKMARK", {"metadata": {}}), event("BOOKMARK", {}), event("BOOKMARK", None)
)
watches("an ERROR that is none", event("ERROR", None), event("ERROR", {"password": CANARY}))
watches("an ERROR of a huge code", event("ERROR", {"kind": "Status", "code": 10**30}))
watches("an ERROR of the wrong types", event("ERROR", {"kind": "Status", "code": "x", "message": 5, "details": "y"}))
watches(
    "an event of a hundred thousand levels",
    event("ADDED", FINE),
    event("ADDED", FINE).replace(b'"data"', b'"x":' + b"[" * 100_000 + b"]" * 100_000 + b',"data"'),
)
watches(
    "an event of nine thousand levels",
    event("ADDED", FINE).replace(b'"data"', b'"x":' + b"[" * 9000 + b"]" * 9000 + b',"data"'),
)


@scenario("watch")
async def a_watch_that_ends_at_once(ask: Ask) -> None:
    await ask.send(OK, b"0\r\n\r\n")
    raise ConnectionResetError


@scenario("watch")
async def a_watch_of_a_hundred_deletions_of_what_was_never_there(ask: Ask) -> None:
    await ask.watch(*(event("DELETED", config_map(f"never{n}", 20)) for n in range(100)))


@scenario(ALL)
async def silence(ask: Ask) -> None:
    await ask.hold()


@scenario(ALL)
async def a_head_drop_by_drop(ask: Ask) -> None:
    await ask.send(b"HTTP/1.1 200 OK\r\n", *(b"A: b\r\n" for _ in range(50)))
    await ask.hold()


@scenario("watch stream")
async def silence_after_the_head(ask: Ask) -> None:
    await ask.watch()
