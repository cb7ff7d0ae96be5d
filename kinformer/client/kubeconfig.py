"""Kubeconfigs: files that name clusters, users, and which user talks to which cluster.

The input is one file or several, as ``KUBECONFIG`` lists them. The result is a :class:`KubeconfigContext`: the entries
of one context, with every path in them made absolute. The rules are client-go's. If two entries have the same name, the
one of the first file is used. Paths are relative to the file that they are in. This module does not connect to anything
and does not run anything.

Each error is one :exc:`ConfigError` of one line. It does not name the file; the caller adds the name.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from kinformer.client.errors import ConfigError
from kinformer.client.impersonation import Impersonation
from kinformer.client.tls import TlsSource

__all__ = (
    "KubeconfigContext",
    "default_kubeconfig",
    "existing_files",
    "parse_context",
    "read_context",
    "read_contexts",
)

#: The name of the extension of a cluster's entry that is passed to exec plug-ins.
_EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"

#: Fields that name a file or a program of the host.
_OF_THIS_HOST: Final = (
    "certificate-authority",
    "client-certificate",
    "client-key",
    "tokenFile",
    "exec",
    "auth-provider",
)

#: Fields of a user that cannot be used together.
_EXCLUSIVE: Final = (
    ("token", "username"),
    ("token", "password"),
    ("tokenFile", "username"),
    ("exec", "auth-provider"),
)

Entry = Mapping[str, Any]
#: By name, each with the folder of its file.
Entries = dict[str, tuple[Entry, Path]]


@dataclass(frozen=True, slots=True)
class KubeconfigContext:
    """
    One context: a cluster and a user.

    :param user_folder: the folder of the file that the user's entry is in; `cluster_folder` likewise
    """

    cluster: Entry
    cluster_folder: Path
    user_name: str
    user: Entry
    user_folder: Path

    @property
    def server(self) -> str:
        server = self.cluster.get("server")
        return server if isinstance(server, str) else ""

    def text(self, name: str) -> str | None:
        """
        A field of the cluster.

        :raises ConfigError: if it is not text
        """
        return _text(self.cluster, name, "the cluster")

    def user_text(self, name: str) -> str | None:
        """
        A field of the user.

        :raises ConfigError: if it is not text
        """
        return _text(self.user, name, f"user {self.user_name!r}")

    @property
    def token_file(self) -> Path | None:
        path = self.user_text("tokenFile")
        return self.user_folder / path if path else None

    @property
    def has_own_credentials(self) -> bool:
        """Whether the user's entry has a token, a username or a client certificate. No plug-in is run for it then."""
        has = {name.removesuffix("-data") for name, value in self.user.items() if value}
        return bool(has & {"token", "tokenFile", "username"}) or has >= {"client-certificate", "client-key"}

    def check_user(self) -> None:
        """
        Check that the user's entry does not authenticate in two ways at once.

        :raises ConfigError: if it does
        """
        for one, other in _EXCLUSIVE:
            if self.user.get(one) and self.user.get(other):
                raise ConfigError(f"user {self.user_name!r}: it has both {one} and {other}: want one of them")

    def tls(self) -> TlsSource:
        """
        The source of the TLS configuration.

        :raises ConfigError: if data is not in base64, or there are authorities and nothing is to be checked
        """
        about, user = "the cluster", f"user {self.user_name!r}"
        skips = self.cluster.get("insecure-skip-tls-verify") or False
        if not isinstance(skips, bool):
            raise ConfigError(f"{about}: its insecure-skip-tls-verify is neither true nor false")
        for name in ("certificate-authority", "certificate-authority-data"):
            if skips and self.cluster.get(name):
                raise ConfigError(f"{about}: it has both insecure-skip-tls-verify and {name}: want one of them")
        ca_file, cert_file = self.text("certificate-authority"), self.user_text("client-certificate")
        key_file = self.user_text("client-key")
        return TlsSource(
            ca_file=self.cluster_folder / ca_file if ca_file else None,
            ca_data=_data(self.cluster, "certificate-authority-data", about),
            cert_file=self.user_folder / cert_file if cert_file else None,
            cert_data=_data(self.user, "client-certificate-data", user),
            key_file=self.user_folder / key_file if key_file else None,
            key_data=_data(self.user, "client-key-data", user),
            verify=not skips,
        )

    def impersonation(self) -> Impersonation:
        """
        The user to act as.

        :raises ConfigError: if the entry is invalid, or has groups, a uid or extras but no user
        """
        groups, extra = self.user.get("as-groups") or (), self.user.get("as-user-extra") or {}
        if isinstance(groups, str) or not isinstance(extra, Mapping):
            raise ConfigError(
                f"user {self.user_name!r}: as-groups must be a list, and as-user-extra must have a list for each key"
            )
        try:
            return Impersonation(
                user=self.user_text("as") or "",
                groups=[str(one) for one in groups],
                uid=self.user_text("as-uid") or "",
                extra={str(key): [str(one) for one in values or ()] for key, values in extra.items()},
            )
        except ConfigError as error:
            raise ConfigError(f"user {self.user_name!r}: {error}") from None

    def cluster_info(self) -> dict[str, Any]:
        """The description of the cluster for an exec plug-in that asks for it (ExecCredential's ``spec.cluster``)."""
        info: dict[str, Any] = {"server": self.server}
        for name in ("tls-server-name", "insecure-skip-tls-verify", "proxy-url", "disable-compression"):
            if self.cluster.get(name):
                info[name] = self.cluster[name]
        if authorities := self.tls().authorities():
            info["certificate-authority-data"] = base64.b64encode(authorities).decode()
        for extension in self.cluster.get("extensions") or ():
            if isinstance(extension, Mapping) and extension.get("name") == _EXEC_EXTENSION:
                info["config"] = extension.get("extension")
        return info


def default_kubeconfig() -> str:
    """What ``KUBECONFIG`` lists; if it is not set, ``~/.kube/config``."""
    return os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")


def existing_files(path: str, *, pipes: bool = True) -> list[Path]:
    """
    The files of a list that exist. The list is separated as in ``KUBECONFIG``.

    :param pipes: whether pipes count as files. They can be read only once
    """
    named = (Path(name).expanduser() for name in path.split(os.pathsep) if name)
    return [file for file in named if file.is_file() or (pipes and file.is_fifo())]


def read_context(files: list[Path], context: str | None) -> KubeconfigContext:
    """
    Read one context of these files.

    :param context: its name; the current one if None
    :raises ConfigError: if there is no context with that name, or a file or an entry is invalid
    """
    return _of_files(files).context(context)


def parse_context(text: bytes, context: str | None) -> KubeconfigContext:
    """
    Read one context of a kubeconfig that comes from somebody else, such as from a Secret.

    It may not name files or programs, because they would be read and run on this host.

    :param context: its name; the current one if None
    :raises ConfigError: if there is no context with that name, an entry is invalid, or it names a file or a program
    """
    chosen = _merged([(_parsed(text), Path())]).context(context)
    for entry, about in ((chosen.cluster, "the cluster"), (chosen.user, f"user {chosen.user_name!r}")):
        if refused := next((name for name in _OF_THIS_HOST if name in entry), ""):
            raise ConfigError(
                f"{about}: {refused} is not allowed here, because it names a file or a program of this host: "
                "put the data itself into the kubeconfig"
            )
    return chosen


def read_contexts(files: list[Path], names: Collection[str] = ()) -> dict[str, KubeconfigContext | ConfigError]:
    """
    Read several contexts of these files, each file once.

    :param names: the names of the contexts; empty: all
    :return: the contexts by name; the error in place of one that is not there or is invalid
    :raises ConfigError: if a file is invalid
    """
    merged = _of_files(files)
    found: dict[str, KubeconfigContext | ConfigError] = {}
    for name in names or merged.contexts:
        try:
            found[name] = merged.context(name)
        except ConfigError as error:
            found[name] = error
    return found


class _Merged(NamedTuple):
    """The entries of one or several kubeconfigs."""

    current: str
    clusters: Entries
    users: Entries
    contexts: Entries

    def context(self, name: str | None) -> KubeconfigContext:
        """
        One context, with its cluster and its user.

        :param name: the current one if None
        :raises ConfigError: if it does not exist, or names a cluster or a user that does not exist
        """
        name = name or self.current
        known = ", ".join(self.contexts) or "none"
        if not name:
            raise ConfigError(f"it has no current-context, and none was asked for (it has: {known})")
        if name not in self.contexts:
            raise ConfigError(f"it has no context {name!r} (it has: {known})")
        chosen, _ = self.contexts[name]
        cluster, cluster_folder = _named(self.clusters, chosen.get("cluster"), f"context {name!r}", "cluster")
        user_name = chosen.get("user")
        if user_name:
            user, user_folder = _named(self.users, user_name, f"context {name!r}", "user")
        else:
            user, user_folder = {}, cluster_folder
        return KubeconfigContext(cluster, cluster_folder, str(user_name or ""), user, user_folder)


def _of_files(files: list[Path]) -> _Merged:
    return _merged((_content(file, files), file.absolute().parent) for file in files)


def _merged(contents: Iterable[tuple[Mapping[str, Any], Path]]) -> _Merged:
    """Merge kubeconfigs as kubectl does: the first entry of a name wins."""
    named: dict[str, Entries] = {"clusters": {}, "users": {}, "contexts": {}}
    current = ""
    for content, folder in contents:
        current = current or content.get("current-context") or ""
        for section, entries in named.items():
            listed = content.get(section) or ()
            if not isinstance(listed, (list, tuple)):
                raise ConfigError(f"its {section} are not a list")
            here: set[str] = set()
            for entry in listed:
                name = entry.get("name") if isinstance(entry, Mapping) else None
                if name is None:
                    raise ConfigError(f"one of its {section} has no name")
                if str(name) in here:
                    raise ConfigError(f"two of its {section} are called {name!r}")
                here.add(str(name))
                body = entry.get(section[:-1])
                entries.setdefault(str(name), (body if isinstance(body, Mapping) else {}, folder))
    return _Merged(current, **named)


def _named(entries: Entries, name: Any, where: str, what: str) -> tuple[Entry, Path]:
    if not name:
        raise ConfigError(f"{where} names no {what}")
    if str(name) not in entries:
        known = ", ".join(entries) or "none"
        raise ConfigError(f"{where} names the {what} {name!r}, which does not exist (there are: {known})")
    return entries[str(name)]


def _content(file: Path, files: list[Path]) -> Mapping[str, Any]:
    return _parsed(file, f"{file} " if len(files) > 1 else "")


def _parsed(text: bytes | Path, where: str = "") -> Mapping[str, Any]:
    import yaml  # only where there is a kubeconfig to read

    try:
        data = text if isinstance(text, bytes) else text.read_bytes()
        content = _json(data)
        if content is None:
            content = yaml.safe_load(data)
    except (OSError, yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        # The error says where the file is broken. It does not quote the line, which may be a token.
        mark = getattr(error, "problem_mark", None)
        parts = (getattr(error, name, None) for name in ("context", "problem", "reason"))
        why = ", ".join(str(part) for part in parts if part)
        at = f" in line {mark.line + 1}" if mark is not None else ""
        reason = why or (error.strerror if isinstance(error, OSError) else "") or type(error).__name__
        raise ConfigError(f"{where}cannot be read as YAML: {reason}{at}") from None
    if content is None:  # an empty file says nothing, and others may
        return {}
    if not isinstance(content, Mapping):
        raise ConfigError(f"{where or 'it '}is not a kubeconfig")
    return content


def _json(data: bytes) -> Any:
    """The content of JSON; None for other YAML. JSON may be indented by tabs, which PyYAML refuses and Go does not."""
    try:
        return json.loads(data) if data.lstrip().startswith(b"{") else None
    except ValueError:
        return None


def _text(entry: Entry, name: str, about: str) -> str | None:
    value = entry.get(name)
    if value is not None and not isinstance(value, (str, int, float)):
        raise ConfigError(f"{about}: its {name} is not text")
    return None if value is None else str(value)


def _data(entry: Entry, name: str, about: str) -> bytes:
    value = _text(entry, name, about)
    if not value:
        return b""
    try:
        # Folded lines of YAML leave spaces. Without `validate`, whatever else is no base64 would be left out silently.
        return base64.b64decode("".join(value.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(f"{about}: its {name} is not in base64") from None
