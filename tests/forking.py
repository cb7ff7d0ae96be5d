"""A process that imports a program once, and forks a process for each request: ``forking.py PROGRAM SOCKET``.

A request comes over the socket: first its length, with three streams and another socket, and then its text. The answers
go over the other socket: the number of the process that was forked, and its status when it has ended. This process ends
when the socket is closed. ``tests/forked.py`` sends the requests.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final, NoReturn

__all__ = ("NUMBER",)

#: How a number is sent.
NUMBER: Final = struct.Struct("!i")
#: What a command imports when it runs. The modules of ``kinformer.cli`` are imported as well.
_USED: Final = ("kinformer.bench", "kinformer.envtest", "kinformer.manager", "kinformer.simulation", "rich.console")


def _serve(asked: socket.socket, main: Callable[[], object]) -> None:
    """
    Fork a process for each request. When the socket is closed, kill those that still run.

    :param main: runs the program in the process that was forked
    """
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
            header, ends, _, _ = socket.recv_fds(asked, NUMBER.size, 4)
            if not header:
                for pid in reports:
                    os.kill(pid, signal.SIGKILL)
                for pid in reports:
                    os.waitpid(pid, 0)
                return
            request = json.loads(asked.recv(*NUMBER.unpack(header), socket.MSG_WAITALL))
            report = socket.socket(fileno=ends.pop())
            if (pid := os.fork()) == 0:
                selector.close()
                for end in (asked, ended, wakes, report, *reports.values()):
                    end.close()
                _be(main, *request, ends)
            for end in ends:
                os.close(end)
            report.sendall(NUMBER.pack(pid))
            reports[pid] = report


def _tell_of_ended(reports: dict[int, socket.socket]) -> None:
    for pid, report in list(reports.items()):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            report.sendall(NUMBER.pack(os.waitstatus_to_exitcode(status)))
            report.close()
            del reports[pid]


def _be(
    main: Callable[[], object],
    arguments: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    ends: Sequence[int],
) -> NoReturn:
    """Become the process that was asked for: set up what a request says, and run the program."""
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
    sys.argv[1:] = arguments
    if "PYTHONPATH" in environment:
        sys.path[1:1] = environment["PYTHONPATH"].split(os.pathsep)
    status = 0
    try:
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
    """End the process as the interpreter does, but without freeing its objects one by one."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _command() -> Callable[[], object]:
    import kinformer.cli

    for name in (*_USED, *(module.name for module in pkgutil.iter_modules(kinformer.cli.__path__, "kinformer.cli."))):
        importlib.import_module(name)
    return kinformer.cli.main


def _pytest() -> Callable[[], object]:
    import pytest

    # A run in a folder without tests imports the plug-ins, and rewrites their assertions.
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        pytest.main(["--rootdir", folder, "-p", "no:cacheprovider", folder])
    return lambda: sys.exit(pytest.console_main())


def _prepare(program: str) -> Callable[[], object]:
    """Import what a program uses. Returns the function that runs it."""
    # As with `-c` and `-m`: the folder in which it runs.
    sys.path.insert(0, "")
    main = {"kinformer": _command, "pytest": _pytest}[program]()
    sys.argv = [program]
    # The garbage collector of a forked process need not look at what was imported.
    gc.freeze()
    return main


if __name__ == "__main__":
    _program, _number = sys.argv[1:]
    with socket.socket(fileno=int(_number)) as _asked:
        _serve(_asked, _prepare(_program))
