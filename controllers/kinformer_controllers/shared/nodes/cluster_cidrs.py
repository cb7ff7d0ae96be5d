"""The networks that a cluster's pods and Services have their addresses from, as flags say it.

Several controllers take the same flags: who gives nodes their part of the network, and who makes the routes to it. They
declare them alike with the functions of :mod:`kinformer_controllers.shared.options`.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TypeAlias

from kinformer.options import OptionError

__all__ = ("Network", "parse_cidr", "parse_cluster_cidrs")

Network: TypeAlias = IPv4Network | IPv6Network


def parse_cidr(text: str) -> Network:
    """
    A network by its address and mask: ``10.0.0.0/8``. What the mask leaves out of the address does not count.

    :raises ValueError: if it is none
    """
    if "/" not in text:
        raise ValueError(f"{text!r} has no mask: want a network such as 10.0.0.0/8")
    return ip_network(text.strip(), strict=False)


def parse_cluster_cidrs(text: str, flag: str = "--cluster-cidr") -> list[Network]:
    """
    The networks that a flag names: one, or one of each family.

    :raises OptionError: if it names none, three, or two of one family, or one that is none
    """
    try:
        networks = [parse_cidr(each) for each in text.strip().split(",")]
    except ValueError as error:
        raise OptionError(f"{flag} is {text!r}: {error}") from None
    if len(networks) > 2:
        raise OptionError(f"{flag} names {len(networks)} networks: want two at most")
    if len({network.version for network in networks}) < len(networks):
        raise OptionError(f"{flag} names two networks of one family: want one of IPv4 and one of IPv6")
    return networks
