"""The process that others are forked from, when it has imported a program: ``forking.py PROGRAM SOCKET``.

It is asked over the socket: with the length of a request, three streams and another socket, and then with the request.
It answers over the other socket: with the number of the process that it has forked, and with its status when that has
ended. It ends when nobody can ask any longer. ``tests/forked.py`` is who asks.
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
    Fork as often as asked. Whoever is left when nobody can ask any longer is killed.

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
    sys.argv[1:] = arguments
    sys.path[1:1] = environment.get("PYTHONPATH", "").split(os.pathsep) if "PYTHONPATH" in environment else []
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
    """As the interpreter does, but for what it would free: it has nothing else to do before the process is gone."""
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

    # It imports its plug-ins, and changes how they assert: in a folder without tests.
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        pytest.main(["--rootdir", folder, "-p", "no:cacheprovider", folder])
    return lambda: sys.exit(pytest.console_main())


def _prepare(program: str) -> Callable[[], object]:
    """Import what a program uses; what runs it."""
    # What a program that is given by `-c` or `-m` has in this place: the folder in which it runs.
    sys.path.insert(0, "")
    main = {"kinformer": _command, "pytest": _pytest}[program]()
    sys.argv = [program]
    # No collection of a process that is forked looks at what was imported.
    gc.freeze()
    return main


if __name__ == "__main__":
    _program, _number = sys.argv[1:]
    with socket.socket(fileno=int(_number)) as _asked:
        _serve(_asked, _prepare(_program))
