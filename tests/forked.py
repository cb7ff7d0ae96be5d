"""Processes that run the command ``kinformer`` and need not import it: each is forked from one that has done so.

A start takes 10 ms of CPU in place of 400 to 600. All else is as a user has it: a process of its own, with its own
event loop, signals, standard streams, folder and environment. What a start imports, and that it imports enough, is
tested with whole processes, in ``tests/cli/test_start.py`` and wherever a program or an installed package is run.

Run as a script, this module is the process that the others are forked from. It is asked over a socket, and answers each
request over another one, which comes with it: with the number of the process, and later with its status.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, NoReturn

__all__ = ("Output", "Started", "start")

_NUMBER: Final = struct.Struct("!i")
#: What commands import when they run. The modules of ``kinformer.cli`` are imported as well.
_USED: Final = ("kinformer.bench", "kinformer.envtest", "kinformer.manager", "kinformer.simulation", "rich.console")


class Output:
    """What a process writes to one of its streams."""

    def __init__(self, end: int) -> None:
        self._end = end

    async def receive(self) -> bytes:
        """
        The next bytes.

        :raises anyio.EndOfStream: if the process has closed the stream
        """
        import anyio

        await anyio.wait_readable(self._end)
        data = os.read(self._end, 65536)
        if not data:
            raise anyio.EndOfStream
        return data

    async def rest(self) -> bytes:
        """All that comes until the process closes the stream."""
        import anyio

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
        with suppress(ProcessLookupError):  # it has ended, and nobody has waited for it
            if self.returncode is None:
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Its status, when it has ended."""
        import anyio

        if self.returncode is None:
            await anyio.wait_readable(self._report)
            self.returncode = _received(self._report)
        return self.returncode

    async def aclose(self) -> None:
        """End it if it has not ended."""
        import anyio

        with anyio.CancelScope(shield=True):
            if self.returncode is None:
                self.kill()
                await self.wait()
        self._report.close()
        for output in {self.stdout, self.stderr}:
            output.close()


def _received(report: socket.socket) -> int:
    number: int = _NUMBER.unpack(report.recv(_NUMBER.size, socket.MSG_WAITALL))[0]
    return number


def start(arguments: Sequence[str], environment: Mapping[str, str], *, one_stream: bool = False) -> Started:
    """
    Run ``kinformer`` with these arguments in this folder.

    :param one_stream: whether standard error goes where standard output goes
    """
    ours, its = socket.socketpair()
    out, its_out = os.pipe()
    err, its_err = (out, its_out) if one_stream else os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    request = json.dumps([list(arguments), str(Path.cwd()), dict(environment)]).encode()
    asked = _parent()
    socket.send_fds(asked, [_NUMBER.pack(len(request))], [nothing, its_out, its_err, its.fileno()])
    asked.sendall(request)
    for end in {nothing, its_out, its_err}:
        os.close(end)
    its.close()
    stdout = Output(out)
    return Started(ours, stdout, stdout if one_stream else Output(err))


@cache
def _parent() -> socket.socket:
    """Where the process is asked that the others are forked from. It ends when this process does."""
    import atexit

    ours, its = socket.socketpair()
    # Ctrl-C in a terminal ends the tests, and these end what they have started.
    process = subprocess.Popen(
        [sys.executable, "-P", "-u", __file__, str(its.fileno())], pass_fds=[its.fileno()], start_new_session=True
    )
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


# --- the process that is forked


def _serve(asked: socket.socket) -> None:
    """Fork as often as asked. Whoever is left when nobody can ask any longer is killed."""
    reports: dict[int, socket.socket] = {}
    ended, wakes = socket.socketpair()
    for end in (ended, wakes):
        end.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    selector = selectors.DefaultSelector()
    for source in (asked, ended):
        selector.register(source, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is ended:
                ended.recv(4096)
                _tell_of_ended(reports)
                continue
            header, ends, _, _ = socket.recv_fds(asked, _NUMBER.size, 4)
            if not header:
                for pid in reports:
                    os.kill(pid, signal.SIGKILL)
                for pid in reports:
                    os.waitpid(pid, 0)
                return
            request = json.loads(asked.recv(*_NUMBER.unpack(header), socket.MSG_WAITALL))
            report = socket.socket(fileno=ends.pop())
            if (pid := os.fork()) == 0:
                selector.close()
                for end in (asked, ended, wakes, report, *reports.values()):
                    end.close()
                _run(*request, ends)
            for end in ends:
                os.close(end)
            report.sendall(_NUMBER.pack(pid))
            reports[pid] = report


def _tell_of_ended(reports: dict[int, socket.socket]) -> None:
    for pid, report in list(reports.items()):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            report.sendall(_NUMBER.pack(os.waitstatus_to_exitcode(status)))
            report.close()
            del reports[pid]


def _run(arguments: Sequence[str], folder: str, environment: Mapping[str, str], ends: Sequence[int]) -> NoReturn:
    """Be the process that was asked for."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, end in enumerate(ends):
        os.dup2(end, number)
    for end in ends:
        os.close(end)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    time.tzset()
    sys.argv = ["kinformer", *arguments]
    sys.path[1:1] = environment.get("PYTHONPATH", "").split(os.pathsep) if "PYTHONPATH" in environment else []
    status = 0
    try:
        from kinformer.cli import main

        main()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        status = ended.code if isinstance(ended.code, int) else bool(ended.code)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    finally:
        _end(status)


def _end(status: int) -> NoReturn:
    """As the interpreter does, but for what it would free: it has nothing else to do before the process is gone."""
    import atexit

    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _prepare() -> None:
    """Import what commands use."""
    import gc
    import importlib
    import pkgutil

    # What a program that is given by `-c` has in this place: the folder in which it runs.
    sys.path.insert(0, "")
    import kinformer.cli

    for name in (*_USED, *(module.name for module in pkgutil.iter_modules(kinformer.cli.__path__, "kinformer.cli."))):
        importlib.import_module(name)
    # No collection of a process that is forked looks at what was imported.
    gc.freeze()


if __name__ == "__main__":
    _prepare()
    with socket.socket(fileno=int(sys.argv[1])) as _asked:
        _serve(_asked)
