"""Reading the flags that name the networks of a cluster's pods and Services.

Two controllers have these flags: the one that assigns a pod network to each node, and the one that creates the routes
to it. Both declare the flags with the functions of :mod:`kinformer_controllers.shared.options`.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TypeAlias

from kinformer.options import OptionError

__all__ = ("Network", "parse_cidr", "parse_cluster_cidrs")

Network: TypeAlias = IPv4Network | IPv6Network


def parse_cidr(text: str) -> Network:
    """
    Parse a network such as ``10.0.0.0/8``. Bits of the address outside the mask are ignored.

    :raises ValueError: if the text is not a network
    """
    if "/" not in text:
        raise ValueError(f"{text!r} has no mask: want a network such as 10.0.0.0/8")
    return ip_network(text.strip(), strict=False)


def parse_cluster_cidrs(text: str, flag: str = "--cluster-cidr") -> list[Network]:
    """
    Parse the networks that a flag names: one, or one of IPv4 and one of IPv6.

    :raises OptionError: if it names none, more than two or two of one family, or if one of them is not a network
    """
    try:
        networks = [parse_cidr(each) for each in text.strip().split(",")]
    except ValueError as error:
        raise OptionError(f"{flag} is {text!r}: {error}") from None
    if len(networks) > 2:
        raise OptionError(f"{flag} names {len(networks)} networks: want at most two")
    if len({network.version for network in networks}) < len(networks):
        raise OptionError(f"{flag} names two networks of one family: want one of IPv4 and one of IPv6")
    return networks
