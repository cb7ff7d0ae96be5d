"""Repacking the subsets of Endpoints into one normal form.

An Endpoints object is a list of subsets. Each subset means that all its addresses have all its ports. Different lists
can mean the same. After repacking, each set of addresses is there once, with all its ports; everything is sorted, and
there are no duplicates. The rule is that of Kubernetes' RepackSubsets, except for the order: Kubernetes sorts ports and
subsets by a hash of the text that Go prints for them, and this module sorts them by their values. Both controllers
repack existing Endpoints before they compare them. So neither rewrites an object only because the other one wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable

from kinformer.models import CoreV1EndpointPort, V1EndpointAddress, V1EndpointSubset

__all__ = ("repack",)

#: An address's IP and its target's uid: several pods in their node's network can have the same IP.
_AddressKey = tuple[str, str]
_PortKey = tuple[str, int, str, str]

#: Stands for the ports of a subset that has none.
_NO_PORT: _PortKey = ("", -1, "", "")


def repack(subsets: Iterable[V1EndpointSubset]) -> list[V1EndpointSubset]:
    """
    Return the same addresses at the same ports, in normal form.

    An address that is both ready and not ready at a port is not ready there.
    """
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
        # Left out: the entry that stands for subsets without ports.
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
