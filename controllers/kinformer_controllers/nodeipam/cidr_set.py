"""CIDRSet: divides a network into parts, and remembers which of them are taken. No I/O.

Parts are allocated in order; after the last part it starts again with the first. So a released part is not allocated
again at once: its new node could receive packets that were sent to the old node.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from typing import Final, NamedTuple

from kinformer_controllers.shared.nodes import Network

__all__ = ("Allocated", "CIDRSet", "NoCIDRLeft", "OutOfRange", "TooManyParts")

#: How much longer the mask of a part may be than that of an IPv6 network, as in Kubernetes.
_LARGEST_IPV6_DIFFERENCE: Final = 16


class NoCIDRLeft(Exception):
    """All parts are taken."""


class OutOfRange(ValueError):
    """A network does not overlap with the network of the set."""


class TooManyParts(ValueError):
    """An IPv6 network has too many parts."""


class Allocated(NamedTuple):
    """
    A part that was allocated.

    :param tries: how many taken parts were skipped before it
    """

    cidr: Network
    tries: int


class CIDRSet:
    """
    The parts of one network.

    :param network: the network that is divided
    :param mask: the mask length of a part, at least that of the network
    :raises TooManyParts: if an IPv6 network would have more than 65,536 parts
    """

    def __init__(self, network: Network, mask: int) -> None:
        if network.version == 6 and mask - network.prefixlen > _LARGEST_IPV6_DIFFERENCE:
            raise TooManyParts(
                f"{network} cannot be divided into parts of /{mask}: "
                f"want a mask of at most {network.prefixlen + _LARGEST_IPV6_DIFFERENCE}"
            )
        self.network = network
        self._mask = mask
        self._shift = network.max_prefixlen - mask
        self._base = int(network.network_address)
        #: The number of parts, and the number of taken ones.
        self.size = 1 << (mask - network.prefixlen)
        self.taken = 0
        #: A byte for each part, 1 if it is taken, up to the last part that was ever taken. A search in it is fast.
        self._used = bytearray()
        self._next = 0

    def allocate(self) -> Allocated:
        """
        Take the next free part.

        :raises NoCIDRLeft: if all parts are taken
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
        Take all parts that overlap with a network. Returns how many of them were free.

        :raises OutOfRange: if no part overlaps with it
        """
        return self._set(*self._span(cidr), 1)

    def release(self, cidr: Network) -> int:
        """
        Release all parts that overlap with a network. Returns how many of them were taken.

        :raises OutOfRange: if no part overlaps with it
        """
        return self._set(*self._span(cidr), 0)

    def is_taken(self, cidr: Network) -> bool:
        """
        Whether any part that overlaps with a network is taken.

        :raises OutOfRange: if no part overlaps with it
        """
        start, end = self._span(cidr)
        return self._used.find(1, start, end) >= 0

    def _span(self, cidr: Network) -> tuple[int, int]:
        """Return the range of parts that overlap with a network: the first one, and the one after the last."""
        if cidr.version != self.network.version or not cidr.overlaps(self.network):
            raise OutOfRange(f"cidr {cidr} is out the range of cluster cidr {self.network}")
        if cidr.prefixlen <= self.network.prefixlen:
            return 0, self.size
        first, last = int(cidr.network_address) - self._base, int(cidr.broadcast_address) - self._base
        return first >> self._shift, (last >> self._shift) + 1

    def _free_from(self, index: int) -> int:
        """Return the first free part at or after an index; -1 if there is none."""
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
