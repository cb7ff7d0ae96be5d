"""The server of a replay: answers requests as the recorded server did, at the moment when it did.

Lists and watches of informers are answered by :mod:`~kinformer.simulation.incident.channels`, and requests of syncs as
the player says. For a request that the recording does not have, an answer is made up: a read gets what
the recording tells of the object at this moment, and a write gets the object that it would have made.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol

import anyio.lowlevel
import msgspec

from kinformer.client import ClientOptions, NotFound, endpoint_from_url
from kinformer.client.errors import error_from_response
from kinformer.client.transport import Transport
from kinformer.clock import Clock
from kinformer.meta.requests import UNCOUNTED, WRITES, About, about
from kinformer.recording.entries import Cached, Came, Opened, Over
from kinformer.simulation.incident.channels import Channel, ChannelKey, Reader, key_of_cache, key_of_request
from kinformer.simulation.incident.tape import Exchange, Tape
from kinformer.simulation.incident.truth import Truth

__all__ = ("ReplayedServer",)

_URL: Final = "http://recorded"
_LISTS: Final = ("list", "watch")


class Answering(Protocol):
    def __call__(
        self, run: Any, method: str, path: str, params: Mapping[str, str], body: bytes, /
    ) -> Exchange | None: ...


class ReplayedServer:
    """
    :param sync: the sync of the replay in whose context it is called, None outside of syncs
    :param answer: the recorded request of that sync that a request is like
    """

    def __init__(self, tape: Tape, clock: Clock, sync: Callable[[], Any], answer: Answering) -> None:
        self.transport = _ReplayTransport(self, clock)
        self._tape = tape
        self._sync = sync
        self._answer = answer
        self._channels: dict[ChannelKey, Channel] = {}
        self._truth = Truth()
        #: Those who wait for an answer, by the number of its exchange.
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._over: set[int] = set()
        #: The recorded requests outside of syncs, but those of informers.
        self._others: dict[tuple[str, str], deque[Exchange]] = defaultdict(deque)
        self._numbers = itertools.count(1)
        for exchange in tape.exchanges.values():
            asked = exchange.asked
            if _is_of_informer(exchange):
                self._channel_of(exchange).note_ahead(asked)
            elif not asked.sync:
                self._others[asked.method, asked.path].append(exchange)

    # -- what was recorded --------------------------------------------------------------------------------------------

    def take(self, entry: Cached | Opened | Came | Over) -> None:
        """Let something happen that was recorded."""
        if isinstance(entry, Cached):
            self._channel(key_of_cache(entry)).begin_with(entry)
            return
        exchange = self._tape.exchanges.get(entry.exchange)
        if exchange is None:
            return
        if _is_of_informer(exchange):
            channel = self._channel_of(exchange)
            if isinstance(entry, Opened):
                channel.opened(exchange)
            elif isinstance(entry, Over):
                channel.over(exchange)
            elif exchange.asked.is_watch and exchange.is_opened:
                channel.came(exchange, entry.data)
        elif isinstance(entry, Over):
            self._over.add(entry.exchange)
            waiter = self._waiting.get(entry.exchange)
            if waiter is not None and not waiter.done():
                waiter.set_result(None)

    def _channel_of(self, exchange: Exchange) -> Channel:
        asked = exchange.asked
        return self._channel(key_of_request(asked.path, asked.params, asked.form))

    def _channel(self, key: ChannelKey) -> Channel:
        channel = self._channels.get(key)
        if channel is None:
            *_, is_metadata = key
            note = partial(self._truth.note, about("GET", key[0]).resource)
            channel = self._channels[key] = Channel(_nothing if is_metadata else note)
        return channel

    def _note_write(self, exchange: Exchange) -> None:
        what = about(exchange.asked.method, exchange.asked.path)
        if what.verb not in WRITES or exchange.error() is not None or what.subresource not in ("", "status"):
            return
        if what.verb == "delete" and b'"deletionTimestamp"' not in exchange.answer:
            self._truth.forget(what)
        elif what.verb != "deletecollection":
            self._truth.note(what.resource, "MODIFIED", bytes(exchange.answer))

    # -- what the replay asks for -------------------------------------------------------------------------------------

    async def request(self, method: str, path: str, params: Mapping[str, str], form: str, body: bytes) -> bytes:
        """
        Answer a request.

        :raises ClientError: if the recorded server refused it
        """
        what, run = about(method, path), self._sync()
        if what.resource in UNCOUNTED:
            await anyio.lowlevel.checkpoint()
            return body or b"{}"
        if run is not None:
            exchange = self._answer(run, method, path, params, body)
        elif what.verb in _LISTS and what.resource:
            return await self._channel(key_of_request(path, params, form)).list_all()
        else:
            others = self._others[method, path]
            exchange = others.popleft() if others else None
        if exchange is None:
            # At once, because the next recorded events may be effects of the request that stands here in the recording.
            await anyio.lowlevel.checkpoint()
            return self._made_up(what, path, params, body)
        number = exchange.asked.exchange
        if number not in self._over:
            self._waiting[number] = asyncio.get_running_loop().create_future()
            await self._waiting[number]
        if (error := exchange.error()) is not None:
            raise error
        # Not before: a write that the replay does not make has no effect on what it reads.
        self._note_write(exchange)
        return bytes(exchange.answer)

    async def watch(self, path: str, params: Mapping[str, str], form: str) -> Reader:
        """
        Open a watch.

        :raises ClientError: if the recorded server refused it
        """
        return await self._channel(key_of_request(path, params, form)).watch(params, f"{_URL}{path}")

    def _made_up(self, what: About, path: str, params: Mapping[str, str], body: bytes) -> bytes:
        """
        The answer to a request that the recording does not have.

        :raises NotFound: if an object is read that the recording does not have
        """
        if what.verb in _LISTS:
            selectors = params.get("labelSelector", ""), params.get("fieldSelector", "")
            return msgspec.json.encode(self._truth.list(what, *selectors))
        known = self._truth.get(what)
        if what.verb not in WRITES:
            if known is None:
                raise _not_found(what, path)
            return msgspec.json.encode(known)
        if what.verb.startswith("delete"):
            self._truth.forget(what)
            return b'{"kind":"Status","apiVersion":"v1","status":"Success"}'
        try:
            given = msgspec.json.decode(body or b"{}")
        except msgspec.MsgspecError:
            given = {}
        obj = given if isinstance(given, dict) else {}
        if what.verb == "patch" or what.subresource:
            obj = _merged(known or {}, obj)
        number = next(self._numbers)
        metadata = {"uid": f"replayed-{number}", **(obj.get("metadata") or {}), "resourceVersion": self._truth.version}
        if what.namespace:
            metadata.setdefault("namespace", what.namespace)
        metadata.setdefault("name", what.name or f"{metadata.get('generateName', '')}replayed-{number}")
        answer = msgspec.json.encode({**obj, "metadata": metadata})
        if what.subresource in ("", "status"):
            self._truth.note(what.resource, "MODIFIED", answer)
        return answer


def _nothing(*_: object) -> None:
    """Stands in for the truth: metadata alone is no object."""


def _is_of_informer(exchange: Exchange) -> bool:
    asked = exchange.asked
    if asked.sync:
        return False
    return asked.is_watch or (asked.method == "GET" and about("GET", asked.path).verb in _LISTS)


def _not_found(what: About, path: str) -> NotFound:
    text = f"{what.resource} {what.name!r} is not in the recording"
    status = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": text}
    error = error_from_response(404, msgspec.json.encode(status), url=path)
    assert isinstance(error, NotFound)
    return error


def _merged(obj: Any, patch: Any) -> Any:
    """An object after a merge patch."""
    if not isinstance(obj, dict) or not isinstance(patch, dict):
        return patch
    merged = {**obj, **{name: _merged(obj.get(name), value) for name, value in patch.items()}}
    return {name: value for name, value in merged.items() if value is not None}


class _ReplayTransport(Transport):
    """A transport to a replayed server."""

    def __init__(self, server: ReplayedServer, clock: Clock) -> None:
        super().__init__(endpoint_from_url(_URL), ClientOptions(lazy=True), clock=clock)
        self._server = server

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        reader: Any = None,
        answered: Callable[[int], object] | None = None,
        **_: Any,
    ) -> bytes:
        answer = await self._server.request(method, path, dict(params or {}), _form(headers), body or b"")
        if answered is not None:
            answered(200)
        if reader is None:
            return answer
        reader.restart()
        reader.feed(answer)
        return b""

    async def stream(
        self, path: str, *, params: Mapping[str, str], headers: Mapping[str, str] | None = None, **_: Any
    ) -> Any:
        return await self._server.watch(path, params, _form(headers))


def _form(headers: Mapping[str, str] | None) -> str:
    found = headers or {}
    return found.get("Content-Type") or found.get("Accept", "")
