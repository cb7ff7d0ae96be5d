"""Pools: which node has which parts of the cluster's networks.

What a node has is known by its uid: a node that was deleted and made again is another one, and what is given back for
the first cannot be taken from the second. All parts of a node are given out together, or none is.
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
    """A node has a pod CIDR that is none, or is no part of the cluster's networks."""


@dataclass(slots=True)
class Holding:
    """
    What a node has.

    :param cidrs: its parts, in the order of the ranges; None where it has none of a range
    :param written: whether the server has been told, as far as is known
    """

    cidrs: Sequence[Network | None]
    written: bool

    def texts(self) -> list[str]:
        return [str(cidr) for cidr in self.cidrs if cidr is not None]


class Pools:
    """
    :param services: networks of Services, of which nobody gets a part
    :raises TooManyParts: if an IPv6 range would have more than 65,536 parts
    """

    def __init__(self, ranges: Iterable[Range], services: Iterable[Network] = ()) -> None:
        self.sets = [CIDRSet(each.network, each.mask) for each in ranges]
        #: What each node has, by its uid.
        self.held: dict[str, Holding] = {}
        for each in self.sets:
            MAX_CIDRS.labels(str(each.network)).set(each.size)
            for service in services:
                if service.version == each.network.version and service.overlaps(each.network):
                    self._occupy(each, service)

    def allocate(self, uid: str) -> Holding:
        """
        Give a node the next part of each range.

        :raises NoCIDRLeft: if a range has none
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
        Take note of the parts that a node says it has.

        :raises BadPodCIDR: if one of them is none, or is out of its range; the others are taken all the same
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
        """Take back what a node has, if it has anything."""
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
            problems.append(f"pod CIDR {text!r} is no network")
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
