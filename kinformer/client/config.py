"""Where a cluster is and how to be let in: from a kubeconfig, from inside a pod, or as the caller says.

Kubeconfigs and in-cluster credentials are read by kubernetes_asyncio, so that whatever it knows (client certificates,
token files, exec plugins, OIDC, proxies, ``tls-server-name``) works here. It is imported when one of these is read and
not before: a plain URL does without. What comes out is an :class:`Endpoint`, and a :class:`Credentials` that knows how
to become fresh; both are this package's own.

Whatever is wrong with a file is one :exc:`ConfigError` with one line that names the file.
"""

from __future__ import annotations

import os
import ssl
import urllib.request
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from kinformer.client.errors import ConfigError
from kinformer.clock import Clock, RealClock

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration

__all__ = ("Credentials", "Endpoint", "endpoint_from_url", "load_endpoint", "load_in_cluster", "load_kubeconfig")

#: How often credentials are asked whether they are still good; what kubernetes_asyncio and client-go (token files) do.
_REFRESH_EVERY: Final = 60.0

_IN_CLUSTER: Final = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")


@dataclass(eq=False, slots=True)
class Credentials:
    """
    The Authorization header, kept fresh.

    :param header: as it is now, ``""`` for none
    :param reload: gives the header anew; its argument is whether the server has just refused the one before
    """

    header: str = ""
    reload: Callable[[bool], Awaitable[str]] | None = None
    clock: Clock = field(default_factory=RealClock)
    _checked: float = field(init=False)

    def __post_init__(self) -> None:
        self._checked = self.clock.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether :meth:`refresh` should be called before the header is used."""
        return self.reload is not None and self.clock.monotonic() - self._checked >= _REFRESH_EVERY

    async def refresh(self, *, refused: bool = False) -> bool:
        """
        Ask the source for the header.

        :param refused: the server did not accept the one there is
        :return: whether it is another one now
        :raises ConfigError: if the source cannot be read, or the plugin fails
        """
        if self.reload is None:
            return False
        self._checked = self.clock.monotonic()
        before, self.header = self.header, await self.reload(refused)
        return self.header != before


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """
    One API server.

    :param server: its URL, without a slash at the end
    :param tls: None where the URL is plain http
    :param server_hostname: the name that the server's certificate is for, where that is not the URL's
    :param source: where this was read, for messages
    """

    server: str
    tls: ssl.SSLContext | None = None
    server_hostname: str | None = None
    proxy: str | None = None
    credentials: Credentials = field(default_factory=Credentials)
    source: str = ""

    @property
    def host(self) -> str:
        """Host and port, as metrics label them."""
        return urlsplit(self.server).netloc


async def load_endpoint(
    kubeconfig: str | os.PathLike[str] | None, context: str | None, *, in_cluster: bool | None, clock: Clock
) -> Endpoint:
    """
    Find the cluster: the kubeconfig if one is named, ``KUBECONFIG`` or ``~/.kube/config`` if there is one, or else
    the cluster that this runs in.

    :param in_cluster: True: that one and no other; False: never
    :raises ConfigError: if there is none, or what there is cannot be used
    """
    if in_cluster:
        return await load_in_cluster(clock=clock)
    if kubeconfig is not None:
        return await load_kubeconfig(os.fspath(kubeconfig), context, clock=clock)
    named = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    if in_cluster is None and not _existing(named) and all(os.environ.get(name) for name in _IN_CLUSTER):
        return await load_in_cluster(clock=clock)
    return await load_kubeconfig(named, context, clock=clock)


def endpoint_from_url(
    url: str,
    *,
    token: str = "",
    ca_file: str | os.PathLike[str] | None = None,
    ca_data: str | bytes | None = None,
    cert_file: str | os.PathLike[str] | None = None,
    key_file: str | os.PathLike[str] | None = None,
    verify: bool = True,
    server_hostname: str | None = None,
    proxy: str | None = None,
) -> Endpoint:
    """
    An API server as the caller describes it.

    :raises ConfigError: if the URL is none, or a certificate cannot be read
    """
    server = _checked_url(url, "the URL of the server")
    tls = None
    if server.startswith("https:"):
        tls = _tls_context(ca_file, ca_data, cert_file, key_file, verify=verify, strict=True)
    return Endpoint(
        server=server,
        tls=tls,
        server_hostname=server_hostname,
        proxy=proxy or _environment_proxy(server),
        credentials=Credentials(f"Bearer {token}" if token else ""),
        source=server,
    )


async def load_kubeconfig(path: str, context: str | None = None, *, clock: Clock | None = None) -> Endpoint:
    """
    Read a kubeconfig, or several that are merged, their names separated as in ``KUBECONFIG``.

    :param context: which of its contexts; its current one if None
    :raises ConfigError: if that cannot be done
    """
    existing = _existing(path)
    if not existing:
        raise ConfigError(f"kubeconfig {path}: {_why_missing(path)}")
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config import load_kube_config

    configuration = Configuration()
    configuration.host = ""
    try:
        loader: Any = await load_kube_config(config_file=path, context=context, client_configuration=configuration)
    except Exception as error:  # the loader lets through whatever a broken file makes of its code
        raise ConfigError(f"kubeconfig {path}: {_why_broken(error, existing, context)}") from error

    async def reload(refused: bool) -> str:
        if refused:
            loader.__dict__.pop("exec_plugin_expiry", None)  # or the plugin would not be asked again
        try:
            await loader.load_and_set(configuration)
        except Exception as error:
            raise ConfigError(f"kubeconfig {path}: cannot renew the credentials: {_one_line(error)}") from error
        return _header(configuration)

    async def reload_if_known_to_expire(refused: bool) -> str:
        # A plugin that names no expiry is asked again only when the server refuses what it gave, as client-go does.
        if not refused and "exec" in loader._user and not hasattr(loader, "exec_plugin_expiry"):
            return _header(configuration)
        return await reload(refused)

    user = loader._user
    rotates = user is not None and any(source in user for source in ("exec", "auth-provider", "tokenFile"))
    return _endpoint(
        configuration,
        source=f"kubeconfig {path}",
        reload=reload_if_known_to_expire if rotates else None,
        clock=clock or RealClock(),
    )


async def load_in_cluster(*, clock: Clock | None = None) -> Endpoint:
    """
    The cluster that this process runs in, as the service account that its pod has.

    :raises ConfigError: if this is no pod, or it has no service account
    """
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config import incluster_config

    configuration = Configuration()
    try:
        load: Any = incluster_config.load_incluster_config
        load(client_configuration=configuration)
    except Exception as error:
        raise ConfigError(f"in-cluster configuration: {_one_line(error)}") from error

    async def reload(refused: bool) -> str:
        try:
            header = await configuration.get_api_key_with_prefix("BearerToken")
        except Exception as error:
            raise ConfigError(f"in-cluster configuration: cannot renew the token: {_one_line(error)}") from error
        return str(header or "").strip()

    return _endpoint(configuration, source="in-cluster configuration", reload=reload, clock=clock or RealClock())


def _endpoint(
    configuration: Configuration, *, source: str, reload: Callable[[bool], Awaitable[str]] | None, clock: Clock
) -> Endpoint:
    server = _checked_url(configuration.host, f"{source}: the cluster's server")
    tls = None
    if server.startswith("https:"):
        try:
            tls = _tls_context(
                configuration.ssl_ca_cert,
                None,
                configuration.cert_file,
                configuration.key_file,
                verify=configuration.verify_ssl,
                strict=not configuration.disable_strict_ssl_verification,
            )
        except ConfigError as error:
            raise ConfigError(f"{source}: {error}") from error
    return Endpoint(
        server=server,
        tls=tls,
        server_hostname=configuration.tls_server_name,
        proxy=configuration.proxy or _environment_proxy(server),
        credentials=Credentials(_header(configuration), reload, clock),
        source=source,
    )


def _header(configuration: Configuration) -> str:
    key: Mapping[str, str] = configuration.api_key
    return key.get("BearerToken", "").strip()


def _tls_context(
    ca_file: str | os.PathLike[str] | None,
    ca_data: str | bytes | None,
    cert_file: str | os.PathLike[str] | None,
    key_file: str | os.PathLike[str] | None,
    *,
    verify: bool,
    strict: bool,
) -> ssl.SSLContext:
    about = f"certificate authority {ca_file or 'data'}"
    try:
        context = ssl.create_default_context(
            cafile=ca_file, cadata=ca_data.decode() if isinstance(ca_data, bytes) else ca_data
        )
        if cert_file:
            about = f"client certificate {cert_file}"
            context.load_cert_chain(cert_file, keyfile=key_file)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise ConfigError(f"{about}: {_one_line(error)}") from error
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if not strict:
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _checked_url(url: str | None, what: str) -> str:
    try:
        parts = urlsplit(url or "")
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not url or not valid:
        raise ConfigError(f"{what} is {url!r}: want http://HOST:PORT or https://HOST:PORT")
    return url.rstrip("/")


def _environment_proxy(server: str) -> str | None:
    """The proxy that the environment names for this server; found once, since asking costs more than a request."""
    parts = urlsplit(server)
    host = parts.hostname or ""
    if host in ("localhost", "127.0.0.1", "::1") or urllib.request.proxy_bypass(parts.netloc):
        return None
    return urllib.request.getproxies().get(parts.scheme)


def _existing(path: str) -> list[Path]:
    return [file for name in path.split(os.pathsep) if name and (file := Path(name).expanduser()).is_file()]


def _why_missing(path: str) -> str:
    return "it is a folder" if Path(path).expanduser().is_dir() else "there is no such file"


def _why_broken(error: Exception, files: list[Path], context: str | None) -> str:
    import yaml

    contexts: list[str] = []
    for file in files:
        try:
            content = yaml.safe_load(file.read_bytes())
        except (OSError, yaml.YAMLError, UnicodeDecodeError) as broken:
            return f"{file} cannot be read as YAML: {_one_line(broken)}" if len(files) > 1 else _one_line(broken)
        if not isinstance(content, dict):
            return "it is not a kubeconfig"
        listed = content.get("contexts")
        contexts += [str(one.get("name")) for one in listed or () if isinstance(one, dict)]
        context = context or content.get("current-context")
    if not context:
        return f"it has no current-context, and none was asked for (it has: {', '.join(contexts) or 'none'})"
    if context not in contexts:
        return f"it has no context {context!r} (it has: {', '.join(contexts) or 'none'})"
    return _one_line(error) if str(error) else f"it cannot be understood ({type(error).__name__})"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
