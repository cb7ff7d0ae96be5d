"""Start ``kinformer`` and ``pytest`` quickly: each process is forked from one that has imported the program.

A start takes 10 ms of CPU instead of 400 to 600, and a start of pytest 100 ms instead of 1,000. All else is as for a
user: the process has its own event loop, signals, standard streams, folder and environment. Whether a start imports the
right modules is tested with complete processes, in ``tests/cli/test_start.py`` and wherever a program or an installed
package is run.

``tests/forking.py`` is the process that they are forked from. It is a program, and imports no other part of the tests.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import anyio

from tests import forking
from tests.forking import NUMBER

__all__ = ("Ended", "Output", "Started", "ran", "run", "start")


class Output:
    """What a process writes to one of its streams."""

    def __init__(self, end: int) -> None:
        self._end = end

    async def receive(self) -> bytes:
        """
        The next bytes.

        :raises anyio.EndOfStream: if the process has closed the stream
        """
        await anyio.wait_readable(self._end)
        data = os.read(self._end, 65536)
        if not data:
            raise anyio.EndOfStream
        return data

    async def rest(self) -> bytes:
        """All that comes until the process closes the stream."""
        parts = []
        try:
            while True:
                parts.append(await self.receive())
        except anyio.EndOfStream:
            return b"".join(parts)

    def close(self) -> None:
        os.close(self._end)


class Started:
    """
    A process that runs the command.

    :ivar pid: its number
    :ivar returncode: its status, or the negative number of the signal that ended it; None until :meth:`wait` has told
    :ivar stdout: what it writes to its standard output
    :ivar stderr: what it writes to its standard error; the same as `stdout` if both are one stream
    """

    def __init__(self, report: socket.socket, stdout: Output, stderr: Output) -> None:
        self._report = report
        self.stdout, self.stderr = stdout, stderr
        self.pid = _received(report)
        self.returncode: int | None = None

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):  # it has ended, and wait() was not called yet
            if self.returncode is None:
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Its status, when it has ended."""
        if self.returncode is None:
            await anyio.wait_readable(self._report)
            self.returncode = _received(self._report)
        return self.returncode

    async def to_its_end(self) -> Ended:
        """Wait for its end, and return its output and its status. If this is cancelled, the process is killed."""
        said: dict[Output, bytes] = {}

        async def read(output: Output) -> None:
            said[output] = await output.rest()

        try:
            async with anyio.create_task_group() as tasks:
                for output in {self.stdout, self.stderr}:
                    tasks.start_soon(read, output)
            return Ended(await self.wait(), said[self.stdout].decode(), said[self.stderr].decode())
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """End it if it has not ended."""
        with anyio.CancelScope(shield=True):
            if self.returncode is None:
                self.kill()
                await self.wait()
        self._report.close()
        for output in {self.stdout, self.stderr}:
            output.close()


def _received(report: socket.socket) -> int:
    number: int = NUMBER.unpack(report.recv(NUMBER.size, socket.MSG_WAITALL))[0]
    return number


class Ended(NamedTuple):
    status: int
    out: str
    err: str


async def ran(program: str, *arguments: str, folder: Path, **environment: str) -> Ended:
    """
    Run a program to its end.

    :param program: see :func:`start`
    :param environment: variables besides those of this process that are not pytest's
    """
    here = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return await start(program, arguments, {**here, **environment}, folder=folder).to_its_end()


def run(program: str, *arguments: str, folder: Path, **environment: str) -> Ended:
    """What :func:`ran` does, for tests without an event loop."""
    return anyio.run(partial(ran, program, *arguments, folder=folder, **environment))


def start(
    program: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    folder: Path | None = None,
    one_stream: bool = False,
) -> Started:
    """
    Start a program.

    :param program: ``kinformer`` or ``pytest``
    :param folder: where it runs; None: where this process does
    :param one_stream: whether standard error goes where standard output goes
    """
    ours, its = socket.socketpair()
    out, its_out = os.pipe()
    err, its_err = (out, its_out) if one_stream else os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    request = json.dumps([list(arguments), str(folder or Path.cwd()), dict(environment)]).encode()
    asked = _parent(program)
    socket.send_fds(asked, [NUMBER.pack(len(request))], [nothing, its_out, its_err, its.fileno()])
    asked.sendall(request)
    for end in {nothing, its_out, its_err}:
        os.close(end)
    its.close()
    stdout = Output(out)
    return Started(ours, stdout, stdout if one_stream else Output(err))


@cache
def _parent(program: str) -> socket.socket:
    """The socket for requests to the process that the others are forked from. That process ends with this one."""
    ours, its = socket.socketpair()
    # Ctrl-C in a terminal must reach the tests alone: they end the processes that they have started.
    command = [sys.executable, "-P", "-u", forking.__file__, program, str(its.fileno())]
    process = subprocess.Popen(command, pass_fds=[its.fileno()], start_new_session=True)
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours
