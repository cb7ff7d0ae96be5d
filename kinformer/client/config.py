"""Configuration: finds a cluster and its credentials, from a kubeconfig, inside a pod, or from the caller's parameters.

The result is an :class:`Endpoint`, with :class:`~kinformer.client.credentials.Credentials` that can be renewed. Token
files and certificates are read again each minute, and when the server refuses them. Exec plug-ins run again when their
credentials expire or are refused.

Kubeconfigs are read here, by client-go's rules. Only the old ``auth-provider`` (OIDC, GCP) is left to
kubernetes_asyncio. That library is imported only then, because it takes longer than the rest of a manager's start.

Each error in a file is one :exc:`ConfigError` of one line that names the file.
"""

from __future__ import annotations

import base64
import os
import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack
from urllib.parse import urlsplit

from kinformer.arguments import want
from kinformer.client.credentials import Credentials, Identity
from kinformer.client.errors import ConfigError
from kinformer.client.exec_plugin import ExecCredential, ExecPlugin
from kinformer.client.impersonation import Impersonation
from kinformer.client.keywords import check_names
from kinformer.client.kubeconfig import (
    KubeconfigContext,
    default_kubeconfig,
    existing_files,
    parse_context,
    read_context,
)
from kinformer.client.proxies import checked_proxy, environment_proxy, without_password
from kinformer.client.tls import TlsSource
from kinformer.clock import Clock, RealClock

__all__ = (
    "Credentials",
    "Endpoint",
    "ServerParams",
    "endpoint_from_url",
    "load_endpoint",
    "load_in_cluster",
    "load_kubeconfig",
    "parse_kubeconfig",
)

_IN_CLUSTER: Final = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")

#: The folder where the kubelet puts the service account of a pod.
_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

#: Seconds before their expiry at which credentials of a plug-in are renewed, but not before 90 % of their time is over.
_EARLY: Final = 60.0

#: What no URL has: spaces, line ends, control characters.
_SPACES: Final = re.compile("[\x00-\x20\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """
    The address and credentials of one API server.

    :param server: its URL, without a slash at the end
    :param tls: None where the URL is plain http. If `credentials` have a context, that is used instead.
    :param server_hostname: the name in the server's certificate, if it is not the URL's
    :param impersonation: the user to act as
    :param trust: how the server's certificate is checked, without a certificate of the client's own; None where the URL
        is plain http
    :param source: where this configuration was read, for messages
    :param authorities: the CA certificates that the server's certificate is checked against, in PEM. Empty for the
        system's own, and if nothing is checked.
    """

    server: str
    tls: ssl.SSLContext | None = None
    server_hostname: str | None = None
    proxy: str | None = None
    credentials: Credentials = field(default_factory=Credentials)
    impersonation: Impersonation = field(default_factory=Impersonation)
    trust: TlsSource | None = None
    source: str = ""
    authorities: bytes = b""

    @property
    def host(self) -> str:
        """Host and port, as metrics label them."""
        return urlsplit(self.server).netloc


async def load_endpoint(
    kubeconfig: str | os.PathLike[str] | None,
    context: str | None,
    *,
    in_cluster: bool | None,
    clock: Clock,
    exec_timeout: float | None = None,
) -> Endpoint:
    """
    Find the cluster: of the named kubeconfig, else of ``KUBECONFIG`` or ``~/.kube/config`` if it exists, else the one
    around this process.

    :param in_cluster: True: only the cluster around this process; False: never that one
    :raises ConfigError: if there is none, or its configuration cannot be used
    """
    if in_cluster:
        return await load_in_cluster(clock=clock)
    if kubeconfig is not None:
        return await load_kubeconfig(os.fspath(kubeconfig), context, clock=clock, exec_timeout=exec_timeout)
    named = default_kubeconfig()
    if in_cluster is None and not existing_files(named) and all(os.environ.get(name) for name in _IN_CLUSTER):
        return await load_in_cluster(clock=clock)
    if in_cluster is None and not os.environ.get("KUBECONFIG") and not existing_files(named):
        raise ConfigError(
            f"there is no cluster to connect to: {named} is not there, KUBECONFIG is not set, and this is not a pod "
            "(to try things out: kinformer apiserver --kubeconfig-out kubeconfig)"
        )
    return await load_kubeconfig(named, context, clock=clock, exec_timeout=exec_timeout)


class ServerParams(TypedDict, total=False):
    """
    The credentials for a server that is given by its URL, and the way to it.

    `token` is a bearer token. `ca_file` or `ca_data` (PEM) has the certificate authorities that the server's
    certificate is checked against; without them it is the system's own, and with ``verify=False`` nothing is checked.
    `cert_file` and `key_file` are a certificate of the client's. `server_hostname` is the name in the server's
    certificate, if it is not the URL's. `proxy` is the URL of a proxy; without it, the environment names one.
    """

    token: str
    ca_file: str | os.PathLike[str] | None
    ca_data: str | bytes | None
    cert_file: str | os.PathLike[str] | None
    key_file: str | os.PathLike[str] | None
    verify: bool
    server_hostname: str | None
    proxy: str | None


def endpoint_from_url(
    url: str,
    *,
    impersonate: Impersonation | None = None,
    clock: Clock | None = None,
    **params: Unpack[ServerParams],
) -> Endpoint:
    """
    Make the endpoint that the caller describes.

    :raises ConfigError: if the URL is invalid, a certificate cannot be read, or the proxy cannot be used
    :raises TypeError: for a keyword that is not known
    """
    check_names(params, ServerParams)
    token, proxy = params.get("token", ""), params.get("proxy")
    want(type(token), isinstance(token, str | None), "the token", "a text")  # its type: a token is not shown
    server = _checked_url(url, "the URL of the server")
    header = f"Bearer {token.strip()}" if token else ""
    identity, reload, authorities, trust = Identity(header), None, b"", None
    if server.startswith("https:"):
        ca_data = params.get("ca_data") or b""
        source = TlsSource(
            ca_file=params.get("ca_file"),
            ca_data=ca_data.encode() if isinstance(ca_data, str) else ca_data,
            cert_file=params.get("cert_file"),
            key_file=params.get("key_file"),
            verify=params.get("verify", True),
        )
        identity = Identity(header, source.context())
        authorities, trust = source.authorities(), source.without_certificate()

        async def read_again(refused: bool) -> Identity:
            return Identity(header, source.context())

        reload = read_again if source.can_change else None
    return Endpoint(
        server=server,
        tls=identity.tls,
        server_hostname=params.get("server_hostname"),
        proxy=checked_proxy(proxy, "the proxy") if proxy else environment_proxy(server),
        credentials=Credentials(reload=reload, clock=clock, identity=identity),
        impersonation=impersonate or Impersonation(),
        trust=trust,
        source=server,
        authorities=authorities,
    )


async def load_kubeconfig(
    path: str,
    context: str | None = None,
    *,
    clock: Clock | None = None,
    exec_timeout: float | None = None,
) -> Endpoint:
    """
    Read a kubeconfig, or several that are merged. Several names are separated as in ``KUBECONFIG``.

    :param context: the name of the context; the current one if None
    :param exec_timeout: seconds that an exec plug-in may take. None: one minute, or five if it may ask the user.
    :raises ConfigError: if a file cannot be read or is invalid, or the credentials cannot be used
    """
    files = existing_files(path)
    if not files:
        raise ConfigError(f"kubeconfig {path}: {_why_missing(path)}")
    clock = clock or RealClock()
    where = f"kubeconfig {path}"
    try:
        chosen = read_context(files, context)
        return await _endpoint_of(chosen, _KubeconfigSource(path, context, chosen, clock, exec_timeout), where, clock)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


async def parse_kubeconfig(
    content: bytes, context: str | None = None, *, where: str = "kubeconfig", clock: Clock | None = None
) -> Endpoint:
    """
    Read a kubeconfig that comes from somebody else, such as from a Secret. It may name no files and no programs.

    :param content: the kubeconfig, in YAML or JSON
    :param context: the name of the context; the current one if None
    :param where: where the kubeconfig comes from, as errors should call it
    :raises ConfigError: if it is invalid, or names a file or a program (``exec``)
    """
    clock = clock or RealClock()
    try:
        chosen = parse_context(content, context)
        return await _endpoint_of(chosen, _KubeconfigSource("", context, chosen, clock, None), where, clock)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


async def _endpoint_of(chosen: KubeconfigContext, source: _KubeconfigSource, where: str, clock: Clock) -> Endpoint:
    server = _checked_url(chosen.server, "the cluster's server")
    proxy = chosen.text("proxy-url")
    identity = await source.read(refused=False)
    return Endpoint(
        server=server,
        tls=identity.tls,
        server_hostname=chosen.text("tls-server-name"),
        proxy=checked_proxy(proxy, "the cluster's proxy-url") if proxy else environment_proxy(server),
        credentials=Credentials(reload=source if source.can_change else None, clock=clock, identity=identity),
        impersonation=chosen.impersonation(),
        trust=source.trust,
        source=where,
        authorities=source.authorities,
    )


class _KubeconfigSource:
    """The credentials of a kubeconfig's context, whatever their source. Calling it reads them again."""

    def __init__(
        self, path: str, context: str | None, chosen: KubeconfigContext, clock: Clock, exec_timeout: float | None
    ):
        self._path = path
        self._context = context
        self._chosen = chosen
        self._clock = clock
        self._tls = chosen.tls() if chosen.server.startswith("https:") else None
        self._plugin: ExecPlugin | None = None
        self._issued: ExecCredential | None = None
        #: In the clock's monotonic time; None if the plug-in gave no expiry.
        self._expires: float | None = None
        #: Whether the token file was read. From then on, the token beside it is out of date.
        self._has_read_file = False
        chosen.check_user()
        entry = chosen.user.get("exec")
        if isinstance(entry, dict) and not chosen.has_own_credentials:
            self._plugin = ExecPlugin.of(entry, chosen.user_name, chosen.user_folder, chosen.cluster_info, exec_timeout)

    @property
    def can_change(self) -> bool:
        return (
            self._plugin is not None
            or "auth-provider" in self._chosen.user
            or self._chosen.token_file is not None
            or (self._tls is not None and self._tls.can_change)
        )

    @property
    def authorities(self) -> bytes:
        """
        The CA certificates that the server's certificate is checked against, in PEM.

        :raises ConfigError: if their file cannot be read
        """
        return self._tls.authorities() if self._tls is not None else b""

    @property
    def trust(self) -> TlsSource | None:
        """How the server's certificate is checked; None where the server's URL is plain http."""
        return self._tls.without_certificate() if self._tls is not None else None

    async def __call__(self, refused: bool) -> Identity:
        try:
            return await self.read(refused=refused)
        except ConfigError as error:
            raise ConfigError(f"kubeconfig {self._path}: cannot renew the credentials: {error}") from error

    async def read(self, *, refused: bool) -> Identity:
        """
        Read the credentials.

        :param refused: run a plug-in again, even if its credentials have not expired
        :raises ConfigError: if a file cannot be read, or the plug-in fails
        """
        header, certificate, good_for = self._own_header(), None, None
        if not header and "auth-provider" in self._chosen.user:
            header = await self._of_auth_provider()
        elif self._plugin is not None:
            issued = await self._of_plugin(self._plugin, refused)
            header = f"Bearer {issued.token}" if issued.token else ""
            certificate = issued.certificate
            good_for = self._expires - self._clock.monotonic() if self._expires is not None else None
        tls = self._tls.context(certificate) if self._tls is not None else None
        return Identity(header, tls, good_for)

    async def _of_plugin(self, plugin: ExecPlugin, refused: bool) -> ExecCredential:
        # A plug-in that gives no expiry runs again only when the server refuses its credentials, as in client-go.
        expired = self._expires is not None and self._clock.monotonic() >= self._expires
        if self._issued is None or refused or expired:
            issued = await plugin.run(self._clock)
            self._expires = None
            if issued.expires is not None:
                left = (issued.expires - self._clock.now()).total_seconds()
                self._expires = self._clock.monotonic() + left - min(_EARLY, max(left, 0.0) / 10)
            self._issued = issued
        return self._issued

    async def _of_auth_provider(self) -> str:
        from kubernetes_asyncio.client import Configuration
        from kubernetes_asyncio.config import load_kube_config

        configuration: Any = Configuration()
        try:
            await load_kube_config(config_file=self._path, context=self._context, client_configuration=configuration)
        except Exception as error:  # its code may raise anything for a broken entry, and the text may hold a token
            raise ConfigError(
                f"user {self._chosen.user_name!r}: its auth-provider failed to give a token ({type(error).__name__})"
            ) from None
        return str(configuration.api_key.get("BearerToken", "")).strip()

    def _own_header(self) -> str:
        """The Authorization header of a token, or of a user and password, in the kubeconfig or a file that it names."""
        chosen = self._chosen
        token = (chosen.user_text("token") or "").strip()
        if (path := chosen.token_file) is not None:
            try:
                token = _token_in(path)
                self._has_read_file = True
            except ConfigError:
                if not token or self._has_read_file:
                    raise
        if token:
            return f"Bearer {token}"
        name, password = chosen.user_text("username"), chosen.user_text("password") or ""
        if name:
            try:
                return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()
            except UnicodeEncodeError:
                raise ConfigError(f"user {chosen.user_name!r}: its username and password are not valid text") from None
        return ""


async def load_in_cluster(*, clock: Clock | None = None) -> Endpoint:
    """
    The cluster around this process, with the credentials of its pod's service account.

    :raises ConfigError: if this process is in no pod, or the pod has no service account
    """
    where = "in-cluster configuration"
    host, port = (os.environ.get(name, "") for name in _IN_CLUSTER)
    if not host or not port:
        raise ConfigError(f"{where}: {' and '.join(_IN_CLUSTER)} are not set: this process does not run in a pod")
    server = _checked_url(f"https://{f'[{host}]' if ':' in host else host}:{port}", f"{where}: the cluster's server")
    token_file = _SERVICE_ACCOUNT / "token"
    source = TlsSource(ca_file=_SERVICE_ACCOUNT / "ca.crt")

    async def read(refused: bool) -> Identity:
        try:
            return Identity(f"Bearer {_token_in(token_file)}", source.context())
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from error

    identity = await read(False)
    return Endpoint(
        server=server,
        tls=identity.tls,
        proxy=environment_proxy(server),
        credentials=Credentials(reload=read, clock=clock, identity=identity),
        trust=source,
        source=where,
        authorities=source.authorities(),
    )


def _token_in(path: Path) -> str:
    try:
        token = path.read_text(errors="replace").strip()
    except OSError as error:
        raise ConfigError(f"token file {path}: {error.strerror or error}") from error
    if not token:
        raise ConfigError(f"token file {path}: the file is empty")
    return token


def _checked_url(url: str | None, what: str) -> str:
    try:
        parts = urlsplit(url or "")
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        valid = valid and not _SPACES.search(url or "")  # urlsplit() leaves out line ends, and a request would not
    except ValueError:
        valid = False
    if not url or not valid:
        raise ConfigError(f"{what} is {without_password(url or '')!r}: want http://HOST:PORT or https://HOST:PORT")
    if "@" in parts.netloc:
        raise ConfigError(f"{what} is {without_password(url)!r} with a user before it: give credentials separately")
    return re.split("[?#]", url)[0].rstrip("/")  # client-go, too, takes no more than the path


def _why_missing(path: str) -> str:
    if "://" in path:
        return "want a file; a server's address is connect(url=…)"
    return "it is a folder" if Path(path).expanduser().is_dir() else "there is no such file"
