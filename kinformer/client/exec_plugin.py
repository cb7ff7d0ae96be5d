"""Exec plug-ins: programs that a kubeconfig names to get credentials from (``client.authentication.k8s.io``).

A plug-in such as ``aws eks get-token`` is started with its input in the variable ``KUBERNETES_EXEC_INFO``, and prints
an ExecCredential: a token or a client certificate, and perhaps when it expires. A plug-in that takes too long is killed
with its children. The same happens if its caller is cancelled.

The output of a plug-in is secret, so no error quotes it. Its standard error goes to the user's terminal. Without a
terminal it is dropped, because it would end up in logs. Run the command by hand to read it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import anyio
from anyio.abc import Process

from kinformer.client.errors import ConfigError
from kinformer.clock import Clock, move_on_after

__all__ = ("ExecCredential", "ExecPlugin")

#: Seconds that a plug-in may take. The second limit is for plug-ins that may ask the user.
_DEFAULT_EXEC_TIMEOUT: Final = 60.0
_INTERACTIVE_TIMEOUT: Final = 300.0

_API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")

#: Bytes of output that are read at most. A token or a certificate has a few KB.
_MAX_OUTPUT: Final = 2**20


class ExecCredential(NamedTuple):
    """
    The credentials that a plug-in printed.

    :param certificate: a client certificate and its key, in PEM
    :param expires: when the credentials expire; None if that is not known
    """

    token: str
    certificate: tuple[bytes, bytes] | None
    expires: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecPlugin:
    """
    One user's plug-in.

    :param user: the user of the kubeconfig that it belongs to, for errors
    :param command: a name to find on the PATH, or the path of a file
    :param cluster: the description of the cluster that it gets, if the kubeconfig asks for that
    :param timeout: seconds that it may take. None: one minute, or five if it may ask the user.
    """

    user: str
    command: str
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    api_version: str = _API_VERSIONS[0]
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"
    cluster: Mapping[str, Any] | None = None
    timeout: float | None = None

    @classmethod
    def of(
        cls,
        entry: Mapping[str, Any],
        user: str,
        folder: Path,
        cluster: Callable[[], Mapping[str, Any]],
        timeout: float | None,
    ) -> ExecPlugin:
        """
        Make the plug-in that an ``exec`` entry of a kubeconfig describes.

        :param folder: the kubeconfig's folder; a command with a slash in it is relative to it
        :param cluster: returns the description of the cluster, called if the entry asks for it
        :raises ConfigError: if the entry is invalid
        """
        command = entry.get("command")
        if not isinstance(command, str) or not command:
            raise ConfigError(f"user {user!r}: its exec plug-in has no command")
        api_version = entry.get("apiVersion")
        if api_version not in _API_VERSIONS:
            raise ConfigError(
                f"user {user!r}: the apiVersion of its exec plug-in {command!r} is {api_version!r}: "
                f"want {' or '.join(_API_VERSIONS)}"
            )
        mode = entry.get("interactiveMode") or "IfAvailable"
        if mode not in ("Never", "IfAvailable", "Always"):
            raise ConfigError(
                f"user {user!r}: the interactiveMode of its exec plug-in {command!r} is {mode!r}: "
                "want Never, IfAvailable or Always"
            )
        if os.sep in command:
            command = os.path.normpath(folder / command)  # an absolute path stays as it is
        arguments, environment = entry.get("args") or [], entry.get("env") or []
        if not isinstance(arguments, list) or not isinstance(environment, list):
            raise ConfigError(f"user {user!r}: args and env of its exec plug-in {command!r} must be lists")
        if not all(isinstance(one, Mapping) and one.get("name") for one in environment):
            raise ConfigError(
                f"user {user!r}: each entry in env of its exec plug-in {command!r} must have a name and a value"
            )
        return cls(
            user=user,
            command=command,
            arguments=[str(one) for one in arguments],
            environment={str(one["name"]): str(one.get("value", "")) for one in environment},
            api_version=api_version,
            install_hint=" ".join(str(entry.get("installHint") or "").split()),
            interactive_mode=mode,
            cluster=cluster() if entry.get("provideClusterInfo") else None,
            timeout=timeout,
        )

    async def run(self, clock: Clock) -> ExecCredential:
        """
        Run the plug-in and return its credentials.

        :raises ConfigError: if it cannot be started, fails, takes too long, or prints no credentials
        """
        interactive = self._is_interactive()
        timeout = self.timeout or (_INTERACTIVE_TIMEOUT if interactive else _DEFAULT_EXEC_TIMEOUT)
        with move_on_after(clock, timeout):
            return self._understood(await self._output(interactive))
        raise self._failure(f"did not end within {timeout:g} s, or left a child that keeps its output, and was killed")

    def _is_interactive(self) -> bool:
        if self.interactive_mode == "Never":
            return False
        at_terminal = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
        if self.interactive_mode == "Always" and not at_terminal:
            raise self._failure("needs to ask the user, but standard input is not a terminal")
        return at_terminal

    async def _output(self, interactive: bool) -> bytes:
        spec: dict[str, Any] = {"interactive": interactive}
        if self.cluster is not None:
            spec["cluster"] = self.cluster
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        seen = sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()
        # A pipe of asyncio would have to end before the wait for the process does, and a child may keep it open.
        reading, writing = os.pipe()
        try:
            process = await self._started(interactive, info, seen=seen, output=writing)
            try:
                output = await self._read(reading)
                status = await process.wait()
            except BaseException:
                _kill(process, group=not interactive)
                raise
            finally:
                with anyio.CancelScope(shield=True):
                    await process.wait()
                    await process.aclose()
        finally:
            os.close(reading)
        if status:
            how = f"was ended by signal {-status}" if status < 0 else f"failed with exit code {status}"
            raise self._failure(f"{how}: run it by hand to see why")
        return output

    async def _started(self, interactive: bool, info: Mapping[str, Any], *, seen: bool, output: int) -> Process:
        """
        Start it.

        :param seen: whether its standard error is shown
        :param output: the end of a pipe to write to, which is closed here
        """
        try:
            # Shielded: a caller that is cancelled during the start must know the process, to kill it and its children.
            with anyio.CancelScope(shield=True):
                process = await anyio.open_process(
                    [self.command, *self.arguments],
                    stdin=None if interactive else subprocess.DEVNULL,
                    stdout=output,
                    stderr=None if seen else subprocess.DEVNULL,
                    env={**os.environ, **self.environment, "KUBERNETES_EXEC_INFO": json.dumps(info)},
                    # Its children can be found by a process group of its own. But such a group has no terminal.
                    start_new_session=not interactive,
                )
        except (OSError, ValueError) as error:
            why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "cannot be started"
            hint = f" ({self.install_hint})" if self.install_hint else ""
            raise self._failure(f"cannot be started: {why}{hint}") from None
        finally:
            os.close(output)
        return process

    async def _read(self, pipe: int) -> bytes:
        os.set_blocking(pipe, False)
        output = bytearray()
        while len(output) <= _MAX_OUTPUT:
            try:
                piece = os.read(pipe, 2**16)
            except BlockingIOError:
                await anyio.wait_readable(pipe)
                continue
            if not piece:
                return bytes(output)
            output += piece
        raise self._failure(f"prints more than {_MAX_OUTPUT} bytes")

    def _understood(self, output: bytes) -> ExecCredential:
        try:
            answer = json.loads(output)
        except (ValueError, RecursionError):
            raise self._failure("prints something that is not JSON") from None
        if not isinstance(answer, dict) or answer.get("kind") != "ExecCredential":
            raise self._failure("prints something that is not an ExecCredential")
        if answer.get("apiVersion") != self.api_version:
            raise self._failure(f"answers in another apiVersion than {self.api_version}")
        status = answer.get("status")
        if not isinstance(status, dict):
            raise self._failure("gives an ExecCredential without a status")
        token, certificate, key, expires = (
            status.get(name) for name in ("token", "clientCertificateData", "clientKeyData", "expirationTimestamp")
        )
        if not all(one is None or isinstance(one, str) for one in (token, certificate, key, expires)):
            raise self._failure("gives credentials that are not text")
        if bool(certificate) != bool(key):
            raise self._failure("gives a client certificate without a key, or a key without a certificate")
        if certificate and key and not (certificate.isascii() and key.isascii()):
            raise self._failure("gives a client certificate or a key that is not in PEM")
        if not token and not certificate:
            raise self._failure("gives neither a token nor a client certificate")
        return ExecCredential(
            token or "",
            (certificate.encode(), key.encode()) if certificate and key else None,
            self._time(expires) if expires else None,
        )

    def _time(self, text: str) -> datetime:
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            found = None
        if found is None or found.tzinfo is None:
            raise self._failure("gives an expirationTimestamp that is not a time")
        return found

    def _failure(self, what: str) -> ConfigError:
        return ConfigError(f"user {self.user!r}: its exec plug-in {self.command!r} {what}")


def _kill(process: Process, *, group: bool) -> None:
    with suppress(OSError):
        if group:
            os.killpg(process.pid, signal.SIGKILL)  # also after it has ended: its children may still run
        else:
            process.kill()
