"""Logs, exec, attach and port-forward over HTTP, as the API server and a kubelet answer them together.

Requests for pods are answered with the contents of :class:`FakeContainers`. Such an answer may go on for long. Logs are
text. The others are WebSockets whose messages begin with the number of a channel (``v4.channel.k8s.io``, and
``v5.channel.k8s.io`` for exec and attach). kubectl forwards ports by SPDY inside a WebSocket, and this works too. SPDY
without a WebSocket, which older clients use, is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

from kinformer.envtest import status
from kinformer.envtest.causes import NEGATIVE, forbidden, invalid
from kinformer.envtest.containers.forwarding import TUNNEL, forward_by_channels, forward_by_tunnel
from kinformer.envtest.containers.log import LogSelection
from kinformer.envtest.containers.processes import serve_process
from kinformer.envtest.containers.registry import FakeContainers, Where
from kinformer.envtest.handlers.call import Call
from kinformer.envtest.operations import Operations
from kinformer.meta import GroupKind
from kinformer.meta.integers import read_integer

__all__ = ("ContainerStreams", "StreamSet")

_KINDS = ("initContainers", "containers", "ephemeralContainers")
_SUBRESOURCES = ("log", "exec", "attach", "portforward")


class StreamSet:
    """The open connections of these answers."""

    def __init__(self) -> None:
        self.open: set[asyncio.Transport] = set()

    @contextmanager
    def holding(self, request: web.BaseRequest) -> Iterator[None]:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client has gone away")
        self.open.add(transport)
        try:
            yield
        finally:
            self.open.discard(transport)

    def cut_all(self) -> None:
        """Close all connections at once."""
        for transport in list(self.open):
            transport.abort()


class ContainerStreams:
    """Answers requests for the containers of pods."""

    def __init__(self, operations: Operations, containers: FakeContainers, streams: StreamSet):
        self._operations = operations
        self._containers = containers
        self._streams = streams

    def is_for(self, call: Call) -> bool:
        """Whether this class answers the request."""
        return call.part in _SUBRESOURCES and call.target.resource.plural == "pods"

    async def __call__(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        """
        Answer a request.

        :raises StatusError: if there is no such pod or container, or it cannot answer
        """
        if call.part != "log":
            # A WebSocket is opened with GET, but a client can do more than read through it.
            call.authorize(call.action._replace(verb="create"))
        selection = self._selection(call) if call.part == "log" else None
        pod = self._operations.find(call.target.resource, call.namespace, call.name).decode()
        with self._streams.holding(request):
            if selection is not None:
                return await self._log(request, pod, call, selection)
            if call.part == "portforward":
                return await self._forward(request, pod)
            return await self._process(request, pod, call)

    async def _log(
        self, request: web.BaseRequest, pod: dict[str, Any], call: Call, selection: LogSelection
    ) -> web.StreamResponse:
        container = _container(pod, call)
        if not pod["spec"].get("nodeName"):
            return web.Response(status=204)
        where = _where(pod, container)
        log = self._containers.find_log(where, _command_line(pod, container))
        if log is None:
            raise _nothing_given(call, f'server.containers.log("{where.pod}", ["a line"])')
        state = _state(pod, container)
        if "waiting" in state:
            reason = state["waiting"].get("reason", "")
            raise status.bad_request(f'container "{container}" in pod "{where.pod}" is waiting to start: {reason}')
        if call.is_set("previous"):
            if log.previous is None:
                raise status.bad_request(f'previous terminated container "{container}" in pod "{where.pod}" not found')
            log = log.previous
        response = web.StreamResponse(headers={"Content-Type": "text/plain", "Cache-Control": "no-cache, private"})
        response.enable_chunked_encoding()
        with suppress(ConnectionResetError):  # the reader of a log may disconnect at any time
            await response.prepare(request)
            async for piece in log.read(selection):
                await response.write(piece)
            await response.write_eof()
        return response

    def _selection(self, call: Call) -> LogSelection:
        """
        The parameters of a request for a log.

        :raises StatusError: if a number or a time is not valid
        """
        since: datetime | None = None
        seconds = _number(call, "sinceSeconds", least=1)
        if text := call.query.get("sinceTime"):
            if seconds is not None:
                told = "at most one of `sinceTime` or `sinceSeconds` may be specified"
                raise _invalid_option(call, forbidden("", told))
            try:
                since = datetime.fromisoformat(text.replace("Z", "+00:00"))
            except ValueError:
                raise status.bad_request(f"sinceTime is {text!r}, which is no time") from None
        if seconds is not None:
            since = self._operations.clock.now() - timedelta(seconds=seconds)
        return LogSelection(
            follow=call.is_set("follow"),
            since=since,
            tail=_number(call, "tailLines", least=0),
            limit=_number(call, "limitBytes", least=1),
            timestamps=call.is_set("timestamps"),
        )

    async def _process(self, request: web.BaseRequest, pod: dict[str, Any], call: Call) -> web.StreamResponse:
        container = _container(pod, call)
        _check_node(pod)
        where = _where(pod, container)
        is_exec = call.part == "exec"
        words = tuple(_all(request, "command")) if is_exec else ()
        if is_exec and not words:
            raise status.bad_request("you must specify at least 1 command for the container")
        if not any(map(call.is_set, ("stdin", "stdout", "stderr"))):
            raise status.bad_request("you must specify at least 1 of stdin, stdout, stderr")
        if is_exec:
            function = self._containers.find_command(where, words)
            example = f'server.containers.command("{where.pod}", function, name="{words[0]}")'
        else:
            function = self._containers.find_process(where)
            example = f'server.containers.process("{where.pod}", function)'
        if function is None:
            raise _nothing_given(call, example)
        if "running" not in _state(pod, container):
            raise status.internal(f'unable to upgrade connection: container not found ("{container}")')
        _check_websocket(request)
        return await serve_process(request, function, where, words, stdin=call.is_set("stdin"), tty=call.is_set("tty"))

    async def _forward(self, request: web.BaseRequest, pod: dict[str, Any]) -> web.StreamResponse:
        _check_node(pod)
        where = _where(pod, "")
        _check_websocket(request)
        if TUNNEL in request.headers.get("Sec-WebSocket-Protocol", ""):
            return await forward_by_tunnel(request, where, self._containers.find_port)
        ports = [read_integer(text) for texts in _all(request, "ports") for text in texts.split(",")]
        numbers = [port for port in ports if port is not None and 0 < port < 65536]
        if not numbers or len(numbers) != len(ports):
            raise status.bad_request('query parameter "ports" is required: numbers from 1 to 65535')
        return await forward_by_channels(request, where, numbers, self._containers.find_port)


def _nothing_given(call: Call, example: str) -> status.StatusError:
    return status.no_kubelet(call.part, call.target.resource.plural, f". A test can answer instead: {example}")


def _where(pod: dict[str, Any], container: str) -> Where:
    return Where(pod["metadata"]["namespace"], pod["metadata"]["name"], container)


def _container(pod: dict[str, Any], call: Call) -> str:
    """
    Find the container of a request.

    :raises StatusError: if there is no container of that name, or the pod has several and none is named
    """
    name = pod["metadata"]["name"]
    all_ = [container["name"] for kind in _KINDS for container in pod["spec"].get(kind) or ()]
    asked = call.query.get("container")
    if asked:
        if asked not in all_:
            raise status.bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    containers: list[dict[str, Any]] = pod["spec"].get("containers") or []
    if len(containers) != 1:
        raise status.bad_request(
            f"a container name must be specified for pod {name}, choose one of: [{' '.join(all_)}]"
        )
    only: str = containers[0]["name"]
    return only


def _command_line(pod: dict[str, Any], container: str) -> Iterator[str]:
    for kind in _KINDS:
        for one in pod["spec"].get(kind) or ():
            if one["name"] == container:
                yield from one.get("command") or ()
                yield from one.get("args") or ()


def _check_node(pod: dict[str, Any]) -> None:
    if not pod["spec"].get("nodeName"):
        raise status.bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")


def _check_websocket(request: web.BaseRequest) -> None:
    if request.headers.get("Upgrade", "").lower() != "websocket":  # can_prepare() logs a warning if it cannot
        raise status.bad_request("Upgrade request required: this server speaks WebSocket, and SPDY only inside one")


def _state(pod: dict[str, Any], container: str) -> dict[str, Any]:
    """The state of a container in the pod's status. Without a state it is waiting."""
    told = pod.get("status") or {}
    kinds = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
    for one in (one for kind in kinds for one in told.get(kind) or ()):
        if one["name"] == container:
            state: dict[str, Any] = one.get("state") or {}
            return state
    return {"waiting": {"reason": "ContainerCreating"}}


def _all(request: web.BaseRequest, name: str) -> list[str]:
    """All values of a parameter."""
    return parse_qs(request.raw_path.partition("?")[2], keep_blank_values=True).get(name, [])


def _number(call: Call, name: str, *, least: int) -> int | None:
    number = call.number(name)
    if number is not None and number < least:
        raise _invalid_option(call, invalid(name, number, "must be greater than 0" if least else NEGATIVE))
    return number


def _invalid_option(call: Call, cause: status.Cause) -> status.StatusError:
    return status.invalid(GroupKind("", "PodLogOptions"), call.name, [cause])
