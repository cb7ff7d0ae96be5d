"""Reading the options: the networks that are divided among nodes, and the size of a part."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.logs import get_logger
from kinformer.options import OptionError
from kinformer_controllers.nodeipam.spec import NodeIpamOptions
from kinformer_controllers.shared.nodes.cluster_cidrs import Network, parse_cidr, parse_cluster_cidrs

__all__ = ("Range", "ranges_of", "service_networks")

log = get_logger(__name__)

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
