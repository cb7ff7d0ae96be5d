"""Pools: the networks that are divided among nodes, and the parts of them that each node has.

The networks and the size of a part are options. The parts of a node are stored by its uid. So if a node was deleted and
created again, releasing the parts of the first does not affect the second. All parts of a node are allocated together,
or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prometheus_client import Counter, Gauge, Histogram

from kinformer.logs import get_logger
from kinformer.manager import SyncError
from kinformer.options import OptionError
from kinformer_controllers.nodeipam.cidr_set import CIDRSet, OutOfRange
from kinformer_controllers.nodeipam.spec import NodeIpamOptions
from kinformer_controllers.shared.nodes import Network, parse_cidr, parse_cluster_cidrs

__all__ = (
    "BadPodCIDR",
    "Holding",
    "Pools",
    "Range",
    "ranges_of",
    "service_networks",
)

log = get_logger(__name__)

_LABELS = ("clusterCIDR",)

_ALLOCATIONS = Counter(
    "node_ipam_controller_cidrset_cidrs_allocations_total",
    "Counter measuring total number of CIDR allocations.",
    _LABELS,
)
_RELEASES = Counter(
    "node_ipam_controller_cidrset_cidrs_releases_total", "Counter measuring total number of CIDR releases.", _LABELS
)
_MAX_CIDRS = Gauge("node_ipam_controller_cirdset_max_cidrs", "Maximum number of CIDRs that can be allocated.", _LABELS)
_USAGE = Gauge("node_ipam_controller_cidrset_usage_cidrs", "Gauge measuring percentage of allocated CIDRs.", _LABELS)
_TRIES = Histogram(
    "node_ipam_controller_cidrset_allocation_tries_per_request",
    "Number of CIDRs that were tried for an allocation.",
    _LABELS,
    buckets=(1, 5, 25, 125, 625),
)

_DEFAULT_MASK = {4: 24, 6: 64}


@dataclass(frozen=True, slots=True)
class Range:
    """
    A network of which each node gets a part.

    :param mask: the mask length of a part
    """

    network: Network
    mask: int


def ranges_of(options: NodeIpamOptions) -> list[Range]:
    """
    Return the ranges, in the order of ``--cluster-cidr``.

    :raises OptionError: if options are missing or contradict each other
    """
    if not options.cluster_cidr.strip():
        raise OptionError("--cluster-cidr is not given: --allocate-node-cidrs needs it")
    networks = parse_cluster_cidrs(options.cluster_cidr)
    masks = _masks(options, [network.version for network in networks])
    for network in networks:
        mask = masks[network.version]
        if not network.prefixlen <= mask <= network.max_prefixlen:
            raise OptionError(
                f"--cluster-cidr is {network} and a node's mask /{mask}: "
                f"want a mask from {network.prefixlen} to {network.max_prefixlen}"
            )
    return [Range(network, masks[network.version]) for network in networks]


def service_networks(options: NodeIpamOptions) -> list[Network]:
    """
    Return the networks of Services. An invalid one is left out with a warning, as in Kubernetes.

    :raises OptionError: if there are more than two, or two of one family
    """
    texts = [text for text in options.service_cluster_ip_range.split(",") if text.strip()]
    if len(texts) > 2:
        raise OptionError("--service-cluster-ip-range can not contain more than two entries")
    networks = []
    for text in texts:
        try:
            networks.append(parse_cidr(text))
        except ValueError as error:
            log.warning("service_network_invalid", network=text, error=str(error))
    if len({network.version for network in networks}) < len(networks):
        raise OptionError("--service-cluster-ip-range names two networks of one family")
    return networks


def _masks(options: NodeIpamOptions, versions: list[int]) -> dict[int, int]:
    """Return the mask length of a node's part for each family."""
    any_, own = options.node_cidr_mask_size, {4: options.node_cidr_mask_size_ipv4, 6: options.node_cidr_mask_size_ipv6}
    if any_ and len(versions) > 1:
        raise OptionError("--node-cidr-mask-size is not allowed with two families: give one for each of them")
    if any_ and any(own.values()):
        raise OptionError("--node-cidr-mask-size cannot be given together with the flags for one family")
    for version, mask in own.items():
        if mask and version not in versions:
            raise OptionError(f"--node-cidr-mask-size-ipv{version} is not allowed: the cluster has no IPv{version}")
    return {version: any_ or own[version] or _DEFAULT_MASK[version] for version in versions}


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
            _MAX_CIDRS.labels(str(each.network)).set(each.size)
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
                self._count(each, _ALLOCATIONS, 1)
                _TRIES.labels(str(each.network)).observe(allocated.tries)
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
        self._count(set_, _ALLOCATIONS, set_.occupy(cidr))

    def _give_back(self, cidrs: Iterable[Network | None]) -> None:
        for each, cidr in zip(self.sets, cidrs, strict=False):
            if cidr is not None:
                self._count(each, _RELEASES, each.release(cidr))

    @staticmethod
    def _count(set_: CIDRSet, counter: Counter, number: int) -> None:
        label = str(set_.network)
        counter.labels(label).inc(number)
        _USAGE.labels(label).set(set_.taken / set_.size)
