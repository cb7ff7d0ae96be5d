"""Functions for URLs and IP addresses."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from kinformer.expressions.library import function, make_opaque, read_opaque

__all__ = ()

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# -- URLs -------------------------------------------------------------------------------------------------------------


def _parse_url(text: str) -> SplitResult:
    """
    Parse a URL.

    :raises ValueError: if it is invalid. The text is Go's
    """
    if not text:
        raise ValueError('parse "": empty url')
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - it is read when it is asked for, and may be no number
    except ValueError as error:
        raise ValueError(f'parse "{text}": {error}') from None
    if any(char.isspace() for char in parts.netloc):
        raise ValueError(f'parse "{text}": invalid character " " in host name')
    if not parts.scheme and not text.startswith("/"):
        raise ValueError(f'parse "{text}": invalid URI for request')
    return parts


@function("url(string) -> URL")
def _to_url(text: str) -> dict[str, Any]:
    try:
        _parse_url(text)
    except ValueError as error:
        raise ValueError(f"URL parse error during conversion from string: {error}") from None
    return make_opaque("URL", text)


@function("isURL(string) -> bool")
def _is_url(text: str) -> bool:
    try:
        _parse_url(text)
    except ValueError:
        return False
    return True


def _url(value: Any) -> SplitResult:
    return _parse_url(read_opaque(value, "URL"))


@function("URL.getScheme() -> string")
def _scheme(value: Any) -> str:
    return _url(value).scheme


@function("URL.getHost() -> string")
def _host(value: Any) -> str:
    return _url(value).netloc.rpartition("@")[2]


@function("URL.getHostname() -> string")
def _hostname(value: Any) -> str:
    host = _host(value)
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


@function("URL.getPort() -> string")
def _port(value: Any) -> str:
    port = _url(value).port
    return "" if port is None else str(port)


@function("URL.getEscapedPath() -> string")
def _escaped_path(value: Any) -> str:
    return quote(_url(value).path, safe="/%:@!$&'()*+,;=~-._")


@function("URL.getQuery() -> map")
def _query(value: Any) -> dict[str, list[str]]:
    return parse_qs(_url(value).query, keep_blank_values=True)


# -- addresses --------------------------------------------------------------------------------------------------------


def _parse_address(text: str) -> Address:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        why = f'ParseAddr("{text}"): unable to parse IP'
        raise ValueError(f'IP Address "{text}" parse error during conversion from string: {why}') from None
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        raise ValueError(f'IP address "{text}" with zone value is not allowed')
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise ValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return address


def _parse_network(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    try:
        if "/" not in text:
            raise ValueError("no '/'")
        network = ipaddress.ip_interface(text)
    except ValueError:
        why = (
            f"netip.ParsePrefix(\"{text}\"): no '/'" if "/" not in text else f'netip.ParsePrefix("{text}"): bad prefix'
        )
        raise ValueError(f"network address parse error during conversion from string: {why}") from None
    if isinstance(network, ipaddress.IPv6Interface) and network.ip.ipv4_mapped is not None:
        raise ValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return network


def _address(value: Any) -> Address:
    return _parse_address(value if isinstance(value, str) else read_opaque(value, "IP"))


def _interface(value: Any) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    return _parse_network(value if isinstance(value, str) else read_opaque(value, "CIDR"))


@function("ip(string) -> IP")
def _to_address(text: str) -> dict[str, Any]:
    return make_opaque("IP", str(_parse_address(text)))


@function("isIP(string) -> bool")
def _is_address(text: str) -> bool:
    try:
        _parse_address(text)
    except ValueError:
        return False
    return True


@function("ip.isCanonical(string) -> bool")
def _is_canonical(text: str) -> bool:
    return str(_parse_address(text)) == text


@function("IP.family() -> int")
def _family(value: Any) -> int:
    return _address(value).version


@function("IP.isUnspecified() -> bool")
def _is_unspecified(value: Any) -> bool:
    return _address(value).is_unspecified


@function("IP.isLoopback() -> bool")
def _is_loopback(value: Any) -> bool:
    return _address(value).is_loopback


def _in(address: Address, *networks: str) -> bool:
    return any(address in ipaddress.ip_network(one) for one in networks)


@function("IP.isLinkLocalMulticast() -> bool")
def _is_link_local_multicast(value: Any) -> bool:
    return _in(_address(value), "224.0.0.0/24", "ff02::/16")


@function("IP.isLinkLocalUnicast() -> bool")
def _is_link_local_unicast(value: Any) -> bool:
    return _in(_address(value), "169.254.0.0/16", "fe80::/10")


@function("IP.isGlobalUnicast() -> bool")
def _is_global_unicast(value: Any) -> bool:
    address = _address(value)
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address == IPv4Address("255.255.255.255")
        or _is_link_local_unicast(value)
    )


@function("cidr(string) -> CIDR")
def _to_network(text: str) -> dict[str, Any]:
    return make_opaque("CIDR", _parse_network(text).with_prefixlen)


@function("isCIDR(string) -> bool")
def _is_network(text: str) -> bool:
    try:
        _parse_network(text)
    except ValueError:
        return False
    return True


@function("CIDR.containsIP(string) -> bool")
@function("CIDR.containsIP(IP) -> bool")
def _contains_address(value: Any, other: Any) -> bool:
    return _address(other) in _interface(value).network


@function("CIDR.containsCIDR(string) -> bool")
@function("CIDR.containsCIDR(CIDR) -> bool")
def _contains_network(value: Any, other: Any) -> bool:
    outer, inner = _interface(value).network, _interface(other).network
    return outer.version == inner.version and outer.overlaps(inner) and outer.prefixlen <= inner.prefixlen


@function("CIDR.ip() -> IP")
def _address_of_network(value: Any) -> dict[str, Any]:
    return make_opaque("IP", str(_interface(value).ip))


@function("CIDR.prefixLength() -> int")
def _prefix_length(value: Any) -> int:
    return _interface(value).network.prefixlen


@function("CIDR.masked() -> CIDR")
def _masked(value: Any) -> dict[str, Any]:
    return make_opaque("CIDR", _interface(value).network.with_prefixlen)


@function("string(IP) -> string")
@function("string(CIDR) -> string")
def _to_text(value: Any) -> str:
    return str(read_opaque(value, "IP", "CIDR"))
