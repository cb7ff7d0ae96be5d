"""Exec plug-ins: programs that a kubeconfig names to get credentials from (``client.authentication.k8s.io``).

``aws eks get-token`` and its kin are started with what they need to know in ``KUBERNETES_EXEC_INFO``, and print an
ExecCredential: a token or a client certificate, and perhaps when it expires. One that takes too long is killed with
its children, as is one that nobody waits for any more.

What a plug-in prints is secret, and is in no error here. What it writes to standard error is for whoever sits at the
terminal; without a terminal nobody sees it, since it would end up in logs. Run the command by hand to read it.
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
from kinformer.clock import Clock

__all__ = ("DEFAULT_EXEC_TIMEOUT", "ExecCredential", "ExecPlugin")

#: Seconds for a plug-in that nobody is asked by; one that may ask somebody gets the second.
DEFAULT_EXEC_TIMEOUT: Final = 60.0
_INTERACTIVE_TIMEOUT: Final = 300.0

_API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")

#: A token or a certificate is some KB.
_MAX_OUTPUT: Final = 2**20


class ExecCredential(NamedTuple):
    """
    What a plug-in gave.

    :param certificate: a client certificate and its key, in PEM
    :param expires: when it stops to be good, where that is known
    """

    token: str
    certificate: tuple[bytes, bytes] | None
    expires: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecPlugin:
    """
    One user's plug-in.

    :param user: whose it is, for errors
    :param command: a name that is looked for on the PATH, or the path of a file
    :param cluster: what it is told of the cluster, where the kubeconfig wants that
    :param timeout: seconds after which it is given up; None: a minute, or five where it may ask somebody
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
        The plug-in that a kubeconfig's ``exec`` describes.

        :param folder: where the kubeconfig is: a command with a slash in it is relative to that
        :param cluster: gives what it is told of the cluster if the kubeconfig wants that
        :raises ConfigError: if something is wrong with it
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
            command = os.path.normpath(folder / command)  # which an absolute one stays
        arguments, environment = entry.get("args") or [], entry.get("env") or []
        if not isinstance(arguments, list) or not isinstance(environment, list):
            raise ConfigError(f"user {user!r}: args and env of its exec plug-in {command!r} are lists")
        if not all(isinstance(one, Mapping) and one.get("name") for one in environment):
            raise ConfigError(f"user {user!r}: what is in env of its exec plug-in {command!r} has a name and a value")
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
        Ask it for credentials.

        :raises ConfigError: if it cannot be started, fails, takes too long, or gives none
        """
        interactive = self._is_interactive()
        timeout = self.timeout or (_INTERACTIVE_TIMEOUT if interactive else DEFAULT_EXEC_TIMEOUT)
        with anyio.CancelScope() as scope:
            timer = clock.call_later(timeout, scope.cancel)
            try:
                return self._understood(await self._output(interactive))
            finally:
                timer.cancel()
        raise self._failure(f"did not end within {timeout:g} s and was killed")

    def _is_interactive(self) -> bool:
        if self.interactive_mode == "Never":
            return False
        at_terminal = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
        if self.interactive_mode == "Always" and not at_terminal:
            raise self._failure("wants somebody to talk to, and standard input is no terminal")
        return at_terminal

    async def _output(self, interactive: bool) -> bytes:
        spec: dict[str, Any] = {"interactive": interactive}
        if self.cluster is not None:
            spec["cluster"] = self.cluster
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        seen = sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()
        try:
            # Whoever is cancelled while it starts has its children to kill, and needs to know it for that.
            with anyio.CancelScope(shield=True):
                process = await anyio.open_process(
                    [self.command, *self.arguments],
                    stdin=None if interactive else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=None if seen else subprocess.DEVNULL,
                    env={**os.environ, **self.environment, "KUBERNETES_EXEC_INFO": json.dumps(info)},
                    # A group of its own is what its children can be found by; but such a group gets no terminal.
                    start_new_session=not interactive,
                )
        except (OSError, ValueError) as error:
            why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "cannot be started"
            hint = f" ({self.install_hint})" if self.install_hint else ""
            raise self._failure(f"cannot be started: {why}{hint}") from None
        try:
            output = await self._read(process)
            status = await process.wait()
        except BaseException:
            _kill(process, group=not interactive)
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await process.wait()
                await process.aclose()
        if status:
            how = f"was ended by signal {-status}" if status < 0 else f"failed with exit code {status}"
            raise self._failure(f"{how}: run it by hand to see why")
        return output

    async def _read(self, process: Process) -> bytes:
        assert process.stdout is not None
        output = bytearray()
        async for piece in process.stdout:
            output += piece
            if len(output) > _MAX_OUTPUT:
                raise self._failure(f"prints more than {_MAX_OUTPUT} bytes")
        return bytes(output)

    def _understood(self, output: bytes) -> ExecCredential:
        try:
            answer = json.loads(output)
        except (ValueError, RecursionError):
            raise self._failure("prints something that is no JSON") from None
        if not isinstance(answer, dict) or answer.get("kind") != "ExecCredential":
            raise self._failure("prints something that is no ExecCredential")
        if answer.get("apiVersion") != self.api_version:
            raise self._failure(f"answers in another apiVersion than {self.api_version}")
        status = answer.get("status")
        if not isinstance(status, dict):
            raise self._failure("gives an ExecCredential without a status")
        token, certificate, key, expires = (
            status.get(name) for name in ("token", "clientCertificateData", "clientKeyData", "expirationTimestamp")
        )
        if not all(one is None or isinstance(one, str) for one in (token, certificate, key, expires)):
            raise self._failure("gives credentials that are no text")
        if bool(certificate) != bool(key):
            raise self._failure("gives a client certificate without a key, or a key without a certificate")
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
            raise self._failure("gives an expirationTimestamp that is no time")
        return found

    def _failure(self, what: str) -> ConfigError:
        return ConfigError(f"user {self.user!r}: its exec plug-in {self.command!r} {what}")


def _kill(process: Process, *, group: bool) -> None:
    with suppress(OSError):
        if group:
            os.killpg(process.pid, signal.SIGKILL)  # also when it has ended itself: its children need not have
        else:
            process.kill()
