"""Checks of IP addresses in objects: of endpoints, and of services from outside."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import Any

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.checks import invalid

__all__ = ("BAD_ADDRESS", "check_endpoint_address", "parse_address")

BAD_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def parse_address(text: Any) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address; None if it is none."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # Python takes anything for the zone of an IPv6 address.
    return None if re.search(r"\s", str(text)) else address


def check_endpoint_address(text: str, field: str) -> Iterator[Cause]:
    """An address that other machines can send to: the API's ValidateNonSpecialIP."""
    address = parse_address(text)
    if address is None:
        yield invalid(field, text, BAD_ADDRESS)
    elif address.is_unspecified:
        yield invalid(field, text, f"may not be unspecified ({text})")
    elif address.is_loopback:
        yield invalid(field, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    elif address.is_link_local:
        yield invalid(field, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
