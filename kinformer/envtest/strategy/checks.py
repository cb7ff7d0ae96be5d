"""Rules for values that many kinds share."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kinformer.envtest.causes import forbidden, invalid, required, too_long
from kinformer.envtest.status import Cause
from kinformer.meta.validation import (
    dns1123_subdomain_errors,
    regex_error,
)

__all__ = (
    "BAD_ADDRESS",
    "BAD_NETWORK",
    "check_address",
    "check_domain_path",
    "check_endpoint_address",
    "check_ingress_point",
    "check_no_address",
    "check_operator",
    "check_port",
    "check_port_number_or_name",
    "check_token_lifetime",
    "data_key_errors",
    "ingress_points",
    "parse_address",
    "parse_network",
    "port_name_errors",
    "repeats",
)

_PORTS = "must be between 1 and 65535, inclusive"
_DATA_KEY = "[-._a-zA-Z0-9]+"
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_is_path = re.compile(_PATH).fullmatch
_is_data_key = re.compile(_DATA_KEY).fullmatch
_is_port_name = re.compile("[a-z0-9-]+").fullmatch


def repeats(items: Iterable[Hashable]) -> list[bool]:
    """For each item, whether it occurred before. This is one pass, since a search for each item would be quadratic."""
    seen: set[Hashable] = set()
    told = []
    for item in items:
        told.append(item in seen)
        seen.add(item)
    return told


def check_operator(requirement: Mapping[str, Any], field: str) -> Iterator[Cause]:
    """Check the operator of a selector's requirement, and whether it has values where the operator needs them."""
    operator, values = requirement.get("operator", ""), requirement.get("values")
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(f"{field}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    else:
        yield invalid(f"{field}.operator", operator, "not a valid selector operator")


def check_port(value: int | None, field: str) -> Iterator[Cause]:
    if not 1 <= (number := value or 0) <= 65535:
        yield invalid(field, number, _PORTS)


def data_key_errors(key: str) -> Iterator[str]:
    """The errors of a key in a config map or a secret."""
    if len(key) > 253:
        yield "must be no more than 253 bytes"
    if not _is_data_key(key):
        told = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        yield regex_error(told, _DATA_KEY, "key.name", "KEY_NAME", "key-name")
    elif key in (".", ".."):
        yield f"must not be '{key}'"
    elif key.startswith(".."):
        yield "must not start with '..'"


def port_name_errors(name: str) -> list[str]:
    """The errors of a port's name (an IANA service name)."""
    wrong = []
    if len(name) > 15:
        wrong.append("must be no more than 15 characters")
    if not _is_port_name(name):
        wrong.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= char <= "z" for char in name):
        wrong.append("must contain at least one letter (a-z)")
    if "--" in name:
        wrong.append("must not contain consecutive hyphens")
    if name and (name[0] == "-" or name[-1] == "-"):
        wrong.append("must not begin or end with a hyphen")
    return wrong


def check_port_number_or_name(value: Any, field: str) -> Iterator[Cause]:
    if isinstance(value, str):
        for why in port_name_errors(value):
            yield invalid(field, value, why)
    else:
        yield from check_port(value, field)


# -- addresses --------------------------------------------------------------------------------------------------------

BAD_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def parse_address(text: Any) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address of a text. None if the text is not an IP address."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # Python accepts any text as the zone of an IPv6 address.
    return None if re.search(r"\s", str(text)) else address


BAD_NETWORK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def parse_network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """The network of a text, with its length. None if the text is not a network."""
    if "/" not in text:
        return None
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def check_domain_path(text: str, field: str, *, most: int) -> Iterator[Cause]:
    """
    Check a domain and a path, such as ``acme.io/foo``.

    :param most: the length of the longest one, in bytes
    """
    domain, _, path = text.partition("/")
    if not text:
        yield required(field)
    elif not domain or not path:
        yield invalid(field, text, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from (invalid(field, domain, error) for error in dns1123_subdomain_errors(domain))
        if not _is_path(path):
            yield invalid(field, path, regex_error("Invalid path", _PATH))
    if len(text.encode()) > most:
        yield too_long(field, most)


def check_token_lifetime(seconds: int, field: str) -> Iterator[Cause]:
    if seconds < 600:
        yield invalid(field, seconds, "may not specify a duration less than 10 minutes")
    if seconds > 1 << 32:
        yield invalid(field, seconds, "may not specify a duration larger than 2^32 seconds")


def check_address(text: str | None, field: str) -> Iterator[Cause]:
    if parse_address(text) is None:
        yield invalid(field, text or "", BAD_ADDRESS)


def check_no_address(host: str, field: str) -> Iterator[Cause]:
    if parse_address(host) is not None:
        yield invalid(field, host, "must be a DNS name, not an IP address")


def check_endpoint_address(text: str | None, field: str) -> Iterator[Cause]:
    """Check an address that other machines can send to, as the API's ValidateNonSpecialIP does."""
    address = parse_address(text)
    if address is None:
        yield from check_address(text, field)
    elif address.is_unspecified:
        yield invalid(field, text, f"may not be unspecified ({text})")
    elif address.is_loopback:
        yield invalid(field, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    elif address.is_link_local:
        yield invalid(field, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")


def ingress_points(obj: Mapping[str, Any]) -> list[Any]:
    """The addresses of the load balancer in the status of a service or an ingress."""
    return ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []


def check_ingress_point(point: Mapping[str, Any], old: Sequence[Mapping[str, Any]], field: str) -> Iterator[Cause]:
    """
    Check an address of a load balancer in the status of a service or an ingress.

    :param old: the addresses before the change. They may stay as they are
    """
    address, host = point.get("ip"), point.get("hostname")
    if address and parse_address(address) is None and all(address != one.get("ip") for one in old):
        yield invalid(f"{field}.ip", address, BAD_ADDRESS)
    if host:
        for why in dns1123_subdomain_errors(host):
            yield invalid(f"{field}.hostname", host, why)
        yield from check_no_address(host, f"{field}.hostname")
