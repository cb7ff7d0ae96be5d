"""What can be asked of pods alone: binding, eviction, logs, a command in a container, a connection to a port.

These are verbs of every :class:`Resource`; a server refuses them for other kinds. A command or a connection is never
asked for again after it may have had an effect.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Unpack

from kinformer.client.keywords import check_names
from kinformer.client.pod_logs import LogOptions, LogStream, log_params
from kinformer.client.port_forward import PROTOCOL as PORT_FORWARD
from kinformer.client.port_forward import PortForward, forward_listener
from kinformer.client.remote_command import (
    PROTOCOLS,
    CommandFailed,
    CommandOptions,
    CommandResult,
    CommandSession,
    RunOptions,
    command_params,
    run_command,
)
from kinformer.client.requests import Requests
from kinformer.client.status import About
from kinformer.client.subresource import Subresource
from kinformer.client.types import DeleteOptions, WriteOptions

if TYPE_CHECKING:
    from kinformer.client.transport import BodyStream
    from kinformer.client.websocket import WebSocket

__all__ = ("PodVerbs",)

#: Some servers can write a refusal only as JSON. They reject a client that accepts only plain text.
_ACCEPT: Final = {"Accept": "application/json, */*"}


class PodVerbs(Requests):
    """The part of a :class:`Resource` that only pods have."""

    async def bind(self, name: str, node: str, namespace: str, **options: Unpack[WriteOptions]) -> None:
        """
        Bind a pod to a node.

        :raises Conflict: if it is bound already
        """
        body = {"metadata": {"name": name, "namespace": namespace}, "target": {"kind": "Node", "name": node}}
        binding = Subresource(self, "binding", bytes, api_version="v1", kind="Binding")
        await binding.create(name, body, namespace, **options)

    async def evict(self, name: str, namespace: str, options: DeleteOptions | None = None) -> None:
        """
        Evict a pod. Unlike a deletion, a disruption budget may refuse this.

        :raises TooManyRequests: if a budget does not allow it now
        """
        body: dict[str, Any] = {"metadata": {"name": name, "namespace": namespace}}
        if options is not None and (said := options.body()) is not None:
            body["deleteOptions"] = said
        eviction = Subresource(self, "eviction", bytes, api_version="policy/v1", kind="Eviction")
        await eviction.create(name, body, namespace)

    def logs(self, name: str, namespace: str, **options: Unpack[LogOptions]) -> LogStream:
        """
        A container's log, line by line::

            async with pods.logs("web", "default", follow=True, tail_lines=10) as lines:
                async for line in lines:
                    print(line)

        :param options: see :class:`LogOptions`
        :raises ValueError: if the options contradict each other
        """
        params = log_params(options)
        path = self.path_of_one(namespace, name, "log")
        return LogStream(partial(self._open_log, path, params, name), f"{self._transport.endpoint.server}{path}")

    async def _open_log(self, path: str, params: dict[str, str], name: str) -> BodyStream:
        about = About(self.gvr.group_resource, name)
        return await self._transport.stream(path, params=params, headers=_ACCEPT, about=about)

    async def read_logs(self, name: str, namespace: str, **options: Unpack[LogOptions]) -> str:
        """
        A container's log as it is now, as one text.

        :raises BadRequest: if the container has no log yet, or the pod has several containers and none was named
        :raises AnswerTooLarge: if it does not fit into the client's `max_answer`: ask for less, or use :meth:`logs`
        :raises ValueError: for ``follow=True``
        """
        if options.get("follow"):
            raise ValueError("a log that is followed has no end: use logs()")
        data = await self._transport.request(
            "GET",
            self.path_of_one(namespace, name, "log"),
            params=log_params(options),
            headers=_ACCEPT,
            about=About(self.gvr.group_resource, name),
        )
        return data.decode(errors="replace")

    def exec(
        self,
        name: str,
        command: Sequence[str],
        namespace: str,
        **options: Unpack[CommandOptions],
    ) -> CommandSession:
        """
        Start a command in a container, and talk to it while it runs::

            async with pods.exec("web", ["sh"], "default", stdin=True) as session:
                await session.write(b"ls /\\n")
                await session.close_stdin()
                async for stream, data in session:
                    print(stream, data)
            print(session.exit_code)

        :param command: its words; there is no shell that would split them
        :param options: see :class:`CommandOptions`
        :raises ValueError: if `command` is a string, or no stream is asked for
        """
        params = command_params(options, command)
        return CommandSession(partial(self._open_socket, namespace, name, "exec", params, PROTOCOLS))

    def attach(self, name: str, namespace: str, **options: Unpack[CommandOptions]) -> CommandSession:
        """
        Talk to the process that a container runs already. What it wrote before is in its log.

        :param options: see :class:`CommandOptions`; `tty` has to be as the container was started
        """
        params = command_params(options)
        return CommandSession(partial(self._open_socket, namespace, name, "attach", params, PROTOCOLS))

    async def run(
        self,
        name: str,
        command: Sequence[str],
        namespace: str,
        **options: Unpack[RunOptions],
    ) -> CommandResult:
        """
        Run a command in a container to its end, as :func:`subprocess.run` does here.

        :param options: see :class:`RunOptions`
        :raises CommandFailed: with `check`
        :raises ConnectionLost: if the connection broke before the command had ended
        :raises ClientError: for `input`, if the server speaks an old protocol in which the end of it cannot be told
        """
        check_names(options, RunOptions)
        given = options.get("input")
        session = self.exec(name, command, namespace, container=options.get("container", ""), stdin=given is not None)
        result = await run_command(session, given)
        if options.get("check") and result.exit_code:
            raise CommandFailed(command, result)
        return result

    def port_forward(self, name: str, port: int, namespace: str) -> AbstractAsyncContextManager[PortForward]:
        """
        One connection to a port of a pod, as a byte stream of anyio::

            async with pods.port_forward("web", 8080, "default") as stream:
                await stream.send(b"GET / HTTP/1.0\\r\\n\\r\\n")
                print(await stream.receive())

        :param port: in the pod
        """
        return self._forwarded(name, port, namespace)

    @asynccontextmanager
    async def _forwarded(self, name: str, port: int, namespace: str) -> AsyncIterator[PortForward]:
        params = [("ports", str(port))]
        forward = PortForward(await self._open_socket(namespace, name, "portforward", params, (PORT_FORWARD,)), port)
        try:
            yield forward
        finally:
            await forward.aclose()

    def local_port(
        self, name: str, port: int, namespace: str, *, local_port: int = 0, host: str = "127.0.0.1"
    ) -> AbstractAsyncContextManager[int]:
        """
        A port of this machine that leads to a pod's while the block runs, as ``kubectl port-forward`` makes it::

            async with pods.local_port("web", 8080, "default") as port:
                await session.get(f"http://127.0.0.1:{port}/")

        A connection that cannot be made, or breaks, is closed and logged; others go on.

        :param local_port: 0 for one that is free
        :raises OSError: if the local port is taken
        """
        return forward_listener(partial(self.port_forward, name, port, namespace), host, local_port)

    async def _open_socket(
        self, namespace: str, name: str, subresource: str, params: Sequence[tuple[str, str]], protocols: Sequence[str]
    ) -> WebSocket:
        path = self.path_of_one(namespace, name, subresource)
        about = About(self.gvr.group_resource, name)
        transport: Any = self._transport
        socket: WebSocket = await transport.upgrade(path, params=params, protocols=protocols, about=about)
        return socket
