"""CIDRSet: the parts of a network, and which of them are taken. No I/O.

Parts are given out one after the other, from the beginning, and from the beginning again after the last: one that was
given back is not given out at once to somebody else, who would get the packets that were meant for the one before.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from typing import Final, NamedTuple

from kinformer_controllers.shared.nodes.cluster_cidrs import Network

__all__ = ("Allocated", "CIDRSet", "NoCIDRLeft", "OutOfRange", "TooManyParts")

#: How much longer the mask of a part may be than that of an IPv6 network, as in Kubernetes.
_LARGEST_IPV6_DIFFERENCE: Final = 16


class NoCIDRLeft(Exception):
    """All parts are taken."""


class OutOfRange(ValueError):
    """A network has nothing in common with the one whose parts these are."""


class TooManyParts(ValueError):
    """An IPv6 network has more parts than are kept account of."""


class Allocated(NamedTuple):
    """
    A part that was given out.

    :param tries: how many taken ones lay before it
    """

    cidr: Network
    tries: int


class CIDRSet:
    """
    :param network: what is divided
    :param mask: the length of a part's mask, at least that of the network
    :raises TooManyParts: if an IPv6 network would have more than 65,536 parts
    """

    def __init__(self, network: Network, mask: int) -> None:
        if network.version == 6 and mask - network.prefixlen > _LARGEST_IPV6_DIFFERENCE:
            raise TooManyParts(
                f"{network} cannot be divided into parts of /{mask}: "
                f"want a mask of {network.prefixlen + _LARGEST_IPV6_DIFFERENCE} at most"
            )
        self.network = network
        self._mask = mask
        self._shift = network.max_prefixlen - mask
        self._base = int(network.network_address)
        #: How many parts there are, and how many of them are taken.
        self.size = 1 << (mask - network.prefixlen)
        self.taken = 0
        #: A byte for each part, 1 if it is taken, up to the last that ever was. A free one is found at memory's speed.
        self._used = bytearray()
        self._next = 0

    def allocate(self) -> Allocated:
        """
        Take the next free part.

        :raises NoCIDRLeft: if there is none
        """
        if self.taken == self.size:
            raise NoCIDRLeft(f"all {self.size} parts of {self.network} are taken")
        index = self._free_from(self._next)
        if index < 0:
            index = self._free_from(0)
        tries = (index - self._next) % self.size
        self._next = (index + 1) % self.size
        self._set(index, index + 1, 1)
        return Allocated(self._part(index), tries)

    def occupy(self, cidr: Network) -> int:
        """
        Take all parts that have something in common with a network; how many were free.

        :raises OutOfRange: if there are none
        """
        return self._set(*self._span(cidr), 1)

    def release(self, cidr: Network) -> int:
        """
        Give back all parts that have something in common with a network; how many were taken.

        :raises OutOfRange: if there are none
        """
        return self._set(*self._span(cidr), 0)

    def is_taken(self, cidr: Network) -> bool:
        """
        Whether any part that has something in common with a network is taken.

        :raises OutOfRange: if there is no such part
        """
        start, end = self._span(cidr)
        return self._used.find(1, start, end) >= 0

    def _span(self, cidr: Network) -> tuple[int, int]:
        """The parts that have something in common with a network: the first, and the one after the last."""
        if cidr.version != self.network.version or not cidr.overlaps(self.network):
            raise OutOfRange(f"cidr {cidr} is out the range of cluster cidr {self.network}")
        if cidr.prefixlen <= self.network.prefixlen:
            return 0, self.size
        first, last = int(cidr.network_address) - self._base, int(cidr.broadcast_address) - self._base
        return first >> self._shift, (last >> self._shift) + 1

    def _free_from(self, index: int) -> int:
        """The first free part from one on; -1 if there is none."""
        found = self._used.find(0, index)
        if found >= 0:
            return found
        unseen = max(index, len(self._used))
        return unseen if unseen < self.size else -1

    def _set(self, start: int, end: int, value: int) -> int:
        if value and len(self._used) < end:
            self._used.extend(bytes(end - len(self._used)))
        end = min(end, len(self._used))
        changed = self._used.count(1 - value, start, end)
        self._used[start:end] = bytes([value]) * (end - start)
        self.taken += changed if value else -changed
        return changed

    def _part(self, index: int) -> Network:
        address = self._base | index << self._shift
        return IPv4Network((address, self._mask)) if self.network.version == 4 else IPv6Network((address, self._mask))
