"""Proxies: finds the proxy that the environment names for a server, and checks that it can be used.

The rules are Go's (``http.ProxyFromEnvironment``), which kubectl and all other clients of a cluster follow. The scheme
of the server's URL decides between ``HTTPS_PROXY`` and ``HTTP_PROXY``. ``NO_PROXY`` is a list of host names, domains,
addresses and networks, which may have a port. The machine itself is never reached through a proxy.

Passwords in a proxy's URL are used and never shown.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from kinformer.client.errors import ConfigError

__all__ = ("checked_proxy", "environment_proxy", "is_exempt", "without_password")

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def environment_proxy(server: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """
    The proxy that the environment names for this server; None to connect directly.

    :raises ConfigError: if the environment names a proxy that cannot be used
    """
    parts = urlsplit(server)
    names = ("HTTPS_PROXY", "https_proxy") if parts.scheme == "https" else ("HTTP_PROXY", "http_proxy")
    name, proxy = next(((name, environ[name]) for name in names if environ.get(name)), ("", ""))
    if not proxy:
        return None
    port = parts.port or _DEFAULT_PORTS[parts.scheme]
    if is_exempt(parts.hostname or "", port, environ.get("NO_PROXY") or environ.get("no_proxy") or ""):
        return None
    return checked_proxy(proxy, f"the environment's {name}")


def checked_proxy(url: str, what: str) -> str:
    """
    Check a proxy's URL and return it. ``http://`` is added if it has no scheme.

    :param what: the proxy's name in errors
    :raises ConfigError: if it is not a URL, or a proxy of a kind that is not supported
    """
    shown = without_password(url)
    if "://" not in url:
        url = f"http://{url}"
    try:
        parts = urlsplit(url)
        valid = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if valid and parts.scheme.startswith("socks"):
        raise ConfigError(f"{what} is {shown!r}: SOCKS proxies are not supported, want http://HOST:PORT")
    if not valid or parts.scheme not in _DEFAULT_PORTS:
        raise ConfigError(f"{what} is {shown!r}: want http://HOST:PORT or https://HOST:PORT")
    return url


def without_password(url: str) -> str:
    """The URL without user and password, so that it may be shown."""
    scheme, separator, rest = url.rpartition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{separator}{authority.rpartition('@')[2]}{slash}{path}"


def is_exempt(host: str, port: int, no_proxy: str) -> bool:
    """
    Whether a host is to be reached without a proxy.

    :param no_proxy: the value of ``NO_PROXY``: ``10.0.0.0/8,.svc,kubernetes.default:443``, or ``*`` for every host
    """
    host = host.lower().rstrip(".")
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_matches(entry.strip().lower(), host, address, port) for entry in no_proxy.split(","))


def _matches(entry: str, host: str, address: _Address | None, port: int) -> bool:
    if entry == "*":
        return True
    if not entry:
        return False
    if "/" in entry:
        return address is not None and _in_network(address, entry)
    name, wanted_port = _host_and_port(entry)
    if wanted_port is not None and wanted_port != str(port):
        return False
    wanted = _address(name)
    if wanted is not None:
        return address == wanted
    name = name.removeprefix("*")
    if name.startswith("."):
        return host.endswith(name)
    return host == name or host.endswith(f".{name}")


def _host_and_port(entry: str) -> tuple[str, str | None]:
    if entry.startswith("["):  # [::1]:443
        name, _, port = entry[1:].partition("]")
        return name, port.removeprefix(":") or None
    name, colon, port = entry.rpartition(":")
    if colon and ":" not in name:
        return name, port
    return entry, None


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _address(text: str) -> _Address | None:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found


def _in_network(address: _Address, text: str) -> bool:
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return address in network
