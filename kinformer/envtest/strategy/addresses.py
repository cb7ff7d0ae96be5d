"""Checks of IP addresses: those of endpoints, and those of load balancers."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.checks import check_names, invalid
from kinformer.meta.validation import dns1123_subdomain_errors

__all__ = ("BAD_ADDRESS", "check_endpoint_address", "check_ingress_point", "parse_address")

BAD_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def parse_address(text: Any) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address of a text. None if the text is not an IP address."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # Python accepts any text as the zone of an IPv6 address.
    return None if re.search(r"\s", str(text)) else address


def check_endpoint_address(text: str, field: str) -> Iterator[Cause]:
    """Check an address that other machines can send to, as the API's ValidateNonSpecialIP does."""
    address = parse_address(text)
    if address is None:
        yield invalid(field, text, BAD_ADDRESS)
    elif address.is_unspecified:
        yield invalid(field, text, f"may not be unspecified ({text})")
    elif address.is_loopback:
        yield invalid(field, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    elif address.is_link_local:
        yield invalid(field, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")


def check_ingress_point(point: Mapping[str, Any], old: Sequence[Mapping[str, Any]], field: str) -> Iterator[Cause]:
    """
    Check an address of a load balancer in the status of a service or an ingress.

    :param old: the addresses before the change. They may stay as they are
    """
    address, host = point.get("ip"), point.get("hostname")
    if address and parse_address(address) is None and all(address != one.get("ip") for one in old):
        yield invalid(f"{field}.ip", address, BAD_ADDRESS)
    if host:
        yield from check_names(host, f"{field}.hostname", dns1123_subdomain_errors)
        if parse_address(host) is not None:
            yield invalid(f"{field}.hostname", host, "must be a DNS name, not an IP address")
