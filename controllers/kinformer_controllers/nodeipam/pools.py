"""Pools: the parts of the cluster's networks that each node has.

They are stored by the node's uid. So if a node was deleted and created again, releasing the parts of the first does not
affect the second. All parts of a node are allocated together, or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prometheus_client import Counter

from kinformer.manager import SyncError
from kinformer_controllers.nodeipam.cidr_set import CIDRSet, OutOfRange
from kinformer_controllers.nodeipam.metrics import ALLOCATIONS, MAX_CIDRS, RELEASES, TRIES, USAGE
from kinformer_controllers.nodeipam.ranges import Range
from kinformer_controllers.shared.nodes.cluster_cidrs import Network, parse_cidr

__all__ = ("BadPodCIDR", "Holding", "Pools")


class BadPodCIDR(SyncError):
    """A node's pod CIDR is invalid, or is not in the cluster's networks."""


@dataclass(slots=True)
class Holding:
    """
    The parts of one node.

    :param cidrs: its parts, in the order of the ranges; None for a range of which it has no part
    :param written: whether the node on the server is known to have them
    """

    cidrs: Sequence[Network | None]
    written: bool

    def texts(self) -> list[str]:
        return [str(cidr) for cidr in self.cidrs if cidr is not None]


class Pools:
    """
    Allocates parts to nodes.

    :param ranges: the cluster's networks; each node gets a part of each
    :param services: the networks of Services, which are never allocated
    :raises TooManyParts: if an IPv6 range would have more than 65,536 parts
    """

    def __init__(self, ranges: Iterable[Range], services: Iterable[Network] = ()) -> None:
        self.sets = [CIDRSet(each.network, each.mask) for each in ranges]
        #: The parts of each node, by its uid.
        self.held: dict[str, Holding] = {}
        for each in self.sets:
            MAX_CIDRS.labels(str(each.network)).set(each.size)
            for service in services:
                if service.version == each.network.version and service.overlaps(each.network):
                    self._occupy(each, service)

    def allocate(self, uid: str) -> Holding:
        """
        Allocate the next part of each range to a node.

        :raises NoCIDRLeft: if a range has no free part
        """
        cidrs: list[Network | None] = []
        try:
            for each in self.sets:
                allocated = each.allocate()
                cidrs.append(allocated.cidr)
                self._count(each, ALLOCATIONS, 1)
                TRIES.labels(str(each.network)).observe(allocated.tries)
        except Exception:
            self._give_back(cidrs)
            raise
        self.held[uid] = Holding(cidrs, written=False)
        return self.held[uid]

    def hold(self, uid: str, texts: Sequence[str]) -> None:
        """
        Note the parts that are written in a node's spec.

        :raises BadPodCIDR: if one of them is invalid or out of its range; the others are noted anyway
        """
        known = self.held.get(uid)
        if known is not None:
            if known.texts() == list(texts):
                known.written = True
                return
            self.release(uid)
        problems: list[str] = []
        cidrs = [self._take(number, text, problems) for number, text in enumerate(texts)]
        self.held[uid] = Holding(cidrs, written=True)
        if problems:
            raise BadPodCIDR("; ".join(problems))

    def release(self, uid: str) -> None:
        """Release the parts of a node, if it has any."""
        holding = self.held.pop(uid, None)
        if holding is not None:
            self._give_back(holding.cidrs)

    def _take(self, number: int, text: str, problems: list[str]) -> Network | None:
        if number >= len(self.sets):
            problems.append(f"pod CIDR {text} at index {number}: there is no such range in --cluster-cidr")
            return None
        try:
            cidr = parse_cidr(text)
            self._occupy(self.sets[number], cidr)
        except OutOfRange as error:
            problems.append(str(error))
            return None
        except ValueError:
            problems.append(f"pod CIDR {text!r} is not a network: want one such as 10.0.0.0/24")
            return None
        return cidr

    def _occupy(self, set_: CIDRSet, cidr: Network) -> None:
        self._count(set_, ALLOCATIONS, set_.occupy(cidr))

    def _give_back(self, cidrs: Iterable[Network | None]) -> None:
        for each, cidr in zip(self.sets, cidrs, strict=False):
            if cidr is not None:
                self._count(each, RELEASES, each.release(cidr))

    @staticmethod
    def _count(set_: CIDRSet, counter: Counter, number: int) -> None:
        label = str(set_.network)
        counter.labels(label).inc(number)
        USAGE.labels(label).set(set_.taken / set_.size)
