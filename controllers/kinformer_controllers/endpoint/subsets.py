"""Computing the subsets of a service's Endpoints: the addresses of its pods, grouped by ports.

Subsets are compared and written in the normal form of :mod:`kinformer_controllers.shared.services.repacking`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kinformer.models import CoreV1EndpointPort, V1EndpointAddress, V1EndpointSubset, V1Service
from kinformer_controllers.shared.services.pod import EndpointPod
from kinformer_controllers.shared.services.repacking import repack
from kinformer_controllers.shared.services.service import (
    ResolvedPort,
    is_headless,
    port_resolver,
    wants_ipv6,
)

__all__ = ("same_subsets", "subsets_of")


def subsets_of(service: V1Service, pods: Iterable[EndpointPod]) -> list[V1EndpointSubset]:
    """
    Return the subsets of a service's Endpoints, repacked.

    The result shares addresses with the pods, so it must not be changed.
    """
    publish_all, name = bool(service.spec.publish_not_ready_addresses), service.metadata.name
    without_ports = is_headless(service) and not service.spec.ports
    ports_of, ipv6 = port_resolver(service), wants_ipv6(service)
    found: dict[tuple[ResolvedPort, ...], tuple[list[V1EndpointAddress], list[V1EndpointAddress]]] = {}
    last_ports: tuple[ResolvedPort, ...] | None = None
    ready: list[V1EndpointAddress] = []
    not_ready: list[V1EndpointAddress] = []
    # This loop is hot: it runs over all pods of a service each time that one of them changes, 0.5 µs for each pod.
    for pod in pods:
        if not pod.has_ip or pod.terminal or (pod.deleting and not publish_all):
            continue
        ips = pod.ipv6 if (pod.primary_ipv6 if ipv6 is None else ipv6) else pod.ipv4
        if not ips:
            continue  # it has addresses of the other family only
        ports = ports_of(pod)
        if ports is not last_ports:
            if not ports and not without_ports:
                continue
            ready, not_ready = found.setdefault(ports, ([], []))
            last_ports = ports
        # The pod gets its hostname in DNS only within the service that it names as its subdomain.
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


def same_subsets(current: Sequence[V1EndpointSubset] | None, wanted: Sequence[V1EndpointSubset]) -> bool:
    """Whether both mean the same. `wanted` must be repacked. The resource versions of pods are not compared."""
    there = list(current or ())
    if there == wanted:
        return True
    return repack(map(_without_versions, there)) == wanted


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
