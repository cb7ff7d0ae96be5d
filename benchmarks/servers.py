"""API servers in processes of their own, so that a benchmark measures the client's process alone."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

__all__ = ("Remote", "api_server", "remote")


@contextmanager
def api_server(fake_nodes: int = 0) -> Iterator[Path]:
    """
    Run ``kinformer apiserver`` while the block runs.

    :return: its kubeconfig
    """
    command = str(Path(sys.executable).with_name("kinformer"))
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        arguments = ["apiserver", "--port", "0", "--kubeconfig-out", str(kubeconfig), "--fake-nodes", str(fake_nodes)]
        server = subprocess.Popen([command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not kubeconfig.exists():
                time.sleep(0.02)
            yield kubeconfig
        finally:
            server.terminate()
            server.wait(10)


class Remote(NamedTuple):
    """
    A benchmark's server side in another process. Each line that it reads is a command, which it answers with ``done``.

    :param process: the process
    :param kubeconfig: the kubeconfig of its API server
    """

    process: subprocess.Popen[str]
    kubeconfig: Path

    def do(self, command: str) -> None:
        """
        Send a command, and wait until it is done.

        :raises SystemExit: if the process has ended
        """
        assert self.process.stdin is not None
        print(command, file=self.process.stdin, flush=True)
        _wait_for("done", self.process)


@contextmanager
def remote(module: str, **options: object) -> Iterator[Remote]:
    """
    Run ``python -m MODULE --serve KUBECONFIG`` while the block runs.

    The process has to write the kubeconfig and then print ``ready``.

    :param options: further options of the command
    :raises SystemExit: if the process ends before it is ready
    """
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        command = [sys.executable, "-m", module, "--serve", str(kubeconfig)]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            _wait_for("ready", process)
            yield Remote(process, kubeconfig)
        finally:
            process.terminate()
            process.wait(10)


def _wait_for(answer: str, process: subprocess.Popen[str]) -> None:
    """Read the output of a process up to an answer. Other lines are its log."""
    assert process.stdout is not None
    if not any(line == f"{answer}\n" for line in process.stdout):
        raise SystemExit(f"the process of the API server has ended before it was {answer}")
