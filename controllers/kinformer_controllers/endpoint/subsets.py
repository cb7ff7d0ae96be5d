"""Subsets: the addresses of a service's pods by the ports at which they answer, in the one form that means the same.

An Endpoints object is a list of subsets, each so many addresses times so many ports. The same may be said by many
lists; they are compared, and written, repacked: every set of addresses once, with all its ports, everything sorted and
nothing twice. The rule is Kubernetes' (its RepackSubsets) but for one thing: where that sorts ports and subsets by a
hash of how Go prints them, here they are sorted by what they are. It compares what it finds after repacking it, too, so
neither writes a thing again because the other has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kinformer.models import CoreV1EndpointPort, V1EndpointAddress, V1EndpointSubset, V1Service
from kinformer_controllers.shared.services.pod import EndpointPod
from kinformer_controllers.shared.services.service import (
    ResolvedPort,
    is_headless,
    port_resolver,
    wants_ipv6,
)

__all__ = ("repack", "same_subsets", "subsets_of")

#: What tells addresses apart: the same IP may be that of several pods, on the network of their node.
_AddressKey = tuple[str, str]
_PortKey = tuple[str, int, str, str]

#: Stands for the ports of a subset that has none.
_NO_PORT: _PortKey = ("", -1, "", "")


def subsets_of(service: V1Service, pods: Iterable[EndpointPod]) -> list[V1EndpointSubset]:
    """
    What a service's Endpoints should list, repacked.

    Pods share their addresses with the cache: the result is to be written, not to be changed.
    """
    publish_all, name = bool(service.spec.publish_not_ready_addresses), service.metadata.name
    without_ports = is_headless(service) and not service.spec.ports
    ports_of, ipv6 = port_resolver(service), wants_ipv6(service)
    found: dict[tuple[ResolvedPort, ...], tuple[list[V1EndpointAddress], list[V1EndpointAddress]]] = {}
    last_ports: tuple[ResolvedPort, ...] | None = None
    ready: list[V1EndpointAddress] = []
    not_ready: list[V1EndpointAddress] = []
    # This is gone through for every pod of a service each time that one of them changes: 0.5 µs for each.
    for pod in pods:
        if not pod.has_ip or pod.terminal or (pod.deleting and not publish_all):
            continue
        ips = pod.ipv6 if (pod.primary_ipv6 if ipv6 is None else ipv6) else pod.ipv4
        if not ips:
            continue  # of the other family only
        ports = ports_of(pod)
        if ports is not last_ports:
            if not ports and not without_ports:
                continue
            ready, not_ready = found.setdefault(ports, ([], []))
            last_ports = ports
        # It is to be found under its hostname within the service that it names as its subdomain.
        if pod.hostname and pod.subdomain == name:
            address = pod.new_address(ips[0], pod.hostname)
        else:
            address = pod.address(ips[0])
        (ready if publish_all or pod.ready else not_ready).append(address)
    return repack(
        V1EndpointSubset(
            addresses=addresses,
            not_ready_addresses=others,
            ports=[
                CoreV1EndpointPort(
                    name=port.name or None, port=port.port, protocol=port.protocol, app_protocol=port.app_protocol
                )
                for port in ports
            ],
        )
        for ports, (addresses, others) in found.items()
    )


def repack(subsets: Iterable[V1EndpointSubset]) -> list[V1EndpointSubset]:
    """The same addresses at the same ports, in the canonical form. Not ready at a port outdoes ready."""
    addresses: dict[_AddressKey, V1EndpointAddress] = {}
    ports: dict[_PortKey, CoreV1EndpointPort] = {}
    readiness: dict[_PortKey, dict[_AddressKey, bool]] = {}
    for subset in subsets:
        ready = _noted(subset.addresses, addresses)
        not_ready = _noted(subset.not_ready_addresses, addresses)
        if not ready and not not_ready:
            continue
        for port_key in _noted_ports(subset.ports, ports):
            at_port = readiness.setdefault(port_key, {})
            for key in ready:
                at_port.setdefault(key, True)
            for key in not_ready:
                at_port[key] = False

    by_addresses: dict[frozenset[tuple[_AddressKey, bool]], list[_PortKey]] = {}
    for port_key, at_port in readiness.items():
        by_addresses.setdefault(frozenset(at_port.items()), []).append(port_key)

    packed: list[tuple[list[_PortKey], V1EndpointSubset]] = []
    for port_keys in by_addresses.values():
        at_port = readiness[port_keys[0]]
        # A port that is none says nothing beside one that is.
        port_keys = sorted(key for key in port_keys if key[1] > 0)
        subset = V1EndpointSubset(
            addresses=[addresses[key] for key in sorted(key for key, is_ready in at_port.items() if is_ready)] or None,
            not_ready_addresses=[
                addresses[key] for key in sorted(key for key, is_ready in at_port.items() if not is_ready)
            ]
            or None,
            ports=[ports[key] for key in port_keys] or None,
        )
        packed.append((port_keys, subset))
    packed.sort(key=lambda each: each[0])
    return [subset for _, subset in packed]


def same_subsets(current: Sequence[V1EndpointSubset] | None, wanted: Sequence[V1EndpointSubset]) -> bool:
    """Whether both say the same, `wanted` being repacked. The version of a pod at the time of writing is no matter."""
    there = list(current or ())
    if there == wanted:
        return True
    return repack(map(_without_versions, there)) == wanted


def _noted(found: list[V1EndpointAddress] | None, into: dict[_AddressKey, V1EndpointAddress]) -> list[_AddressKey]:
    keys: list[_AddressKey] = []
    for address in found or ():
        target = address.target_ref
        key = (address.ip, (target.uid or "") if target is not None else "")
        into.setdefault(key, address)
        keys.append(key)
    return keys


def _noted_ports(
    found: list[CoreV1EndpointPort] | None, into: dict[_PortKey, CoreV1EndpointPort]
) -> Iterable[_PortKey]:
    if not found:
        return (_NO_PORT,)
    keys: dict[_PortKey, None] = {}
    for port in found:
        key = (port.name or "", port.port or 0, port.protocol or "", port.app_protocol or "")
        into.setdefault(key, port)
        keys[key] = None
    return keys


def _without_versions(subset: V1EndpointSubset) -> V1EndpointSubset:
    return V1EndpointSubset(
        addresses=[_without_version(address) for address in subset.addresses or ()],
        not_ready_addresses=[_without_version(address) for address in subset.not_ready_addresses or ()],
        ports=subset.ports,
    )


def _without_version(address: V1EndpointAddress) -> V1EndpointAddress:
    target = address.target_ref
    if target is None or not target.resource_version:
        return address
    return V1EndpointAddress(
        ip=address.ip,
        hostname=address.hostname,
        node_name=address.node_name,
        target_ref=type(target)(
            api_version=target.api_version,
            kind=target.kind,
            namespace=target.namespace,
            name=target.name,
            uid=target.uid,
            field_path=target.field_path,
        ),
    )
