"""Which ServiceCIDRs a range or an address belongs to, and whether a ServiceCIDR may go.

In: ServiceCIDRs and IPAddresses. Out: names of ServiceCIDRs, and the decision. All functions are pure. The rules are
those of kube-apiserver's allocator: the first address of a range is never given to a Service, and neither is the last
one of an IPv4 range.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

from kinformer.models import V1IPAddress, V1ServiceCIDR

__all__ = ("address_of", "containing", "may_go", "overlapping")

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_MANAGED_BY: Final = "ipaddress.kubernetes.io/managed-by"
_FAMILY: Final = "ipaddress.kubernetes.io/ip-family"
#: The part of kube-apiserver that gives Services their addresses.
_ALLOCATOR: Final = "ipallocator.k8s.io"


def overlapping(cidr: V1ServiceCIDR, all_of_them: Iterable[V1ServiceCIDR]) -> set[str]:
    """The names of the ServiceCIDRs that share addresses with this one; its own is among them."""
    own = list(_networks(cidr))
    return {
        other.metadata.name
        for other in all_of_them
        if any(_overlap(network, mine) for network in _networks(other) for mine in own)
    }


def containing(address: Address, all_of_them: Iterable[V1ServiceCIDR]) -> set[str]:
    """The names of the ServiceCIDRs from which a Service can have got an address."""
    return {
        cidr.metadata.name for cidr in all_of_them if any(_can_give(network, address) for network in _networks(cidr))
    }


def address_of(ip: V1IPAddress) -> Address | None:
    """The address of an object that kube-apiserver made for a Service; None for one that somebody else made."""
    if (ip.metadata.labels or {}).get(_MANAGED_BY) != _ALLOCATOR:
        return None
    try:
        return ip_address(ip.metadata.name)
    except ValueError:
        return None


def may_go(cidr: V1ServiceCIDR, all_of_them: Iterable[V1ServiceCIDR], ips: Iterable[V1IPAddress]) -> bool:
    """
    Whether a ServiceCIDR may be deleted: other ones contain all of it, or every address that it has given.

    :param all_of_them: all ServiceCIDRs, with this one
    :param ips: all IPAddresses of the cluster
    """
    networks, others = list(_networks(cidr)), [one for one in all_of_them if one.metadata.name != cidr.metadata.name]
    around = [network for other in others for network in _networks(other)]
    if all(any(_overlap(outer, it) and outer.prefixlen <= it.prefixlen for outer in around) for it in networks):
        return True
    families = {f"IPv{network.version}" for network in networks}
    for ip in ips:
        address = address_of(ip)
        if address is None or (ip.metadata.labels or {}).get(_FAMILY) not in families:
            continue
        if any(_can_give(it, address) for it in networks) and not any(_can_give(it, address) for it in around):
            return False
    return True


def _networks(cidr: V1ServiceCIDR) -> Iterator[Network]:
    for text in (cidr.spec.cidrs if cidr.spec is not None else None) or ():
        if (network := _network(text)) is not None:
            yield network


@lru_cache(maxsize=1024)
def _network(text: str) -> Network | None:
    """Parse a range. The server has checked it, so one that cannot be parsed is of a later version, and left out."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def _overlap(one: Network, other: Network) -> bool:
    return one.version == other.version and one.overlaps(other)


def _can_give(network: Network, address: Address) -> bool:
    if network.version != address.version or address not in network or address == network.network_address:
        return False
    return network.version == 6 or address != network.broadcast_address
