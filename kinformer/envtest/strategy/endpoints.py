"""The addresses of a service's pods: Endpoints, and EndpointSlices, which replace them."""

from __future__ import annotations

from collections.abc import Iterator

from kinformer.envtest.causes import invalid, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.checks import check_endpoint_address, check_port, parse_address

__all__ = ("CHECK_ENDPOINTS", "CHECK_SLICE")


def _check_some_address(subset: Obj, path: str) -> Iterator[Cause]:
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        yield required(path, "must specify `addresses` or `notReadyAddresses`")


_ADDRESSES = f.Each(f.Fields(ip=check_endpoint_address, hostname=f.Filled(f.DNS_LABEL)))


_PORTS = f.ports_of(f.Fields(port=check_port, protocol=f.PROTOCOL))
CHECK_ENDPOINTS = f.Fields(
    subsets=f.Each(
        _check_some_address,
        f.Fields(addresses=_ADDRESSES, notReadyAddresses=_ADDRESSES, ports=_PORTS),
    )
)


_SLICE = f.Fields(
    addressType=f.Needed(f.OneOf("FQDN", "IPv4", "IPv6")),
    ports=f.Each(f.Fields(name=f.Filled(f.DNS_LABEL)), f.Unique("name"), f.Fields(protocol=f.PROTOCOL)),
)


def _check_addresses(obj: Obj, _path: str) -> Iterator[Cause]:
    kind = obj.get("addressType", "")
    for index, endpoint in enumerate(obj.get("endpoints") or ()):
        path = f"endpoints[{index}].addresses"
        addresses = endpoint.get("addresses") or ()
        if not addresses:
            yield required(path, "must contain at least 1 address")
        for place, text in enumerate(addresses if kind in ("IPv4", "IPv6") else ()):
            address = parse_address(text)
            if address is not None and address.version != int(kind[-1]):
                yield invalid(path, text, f"must be an {kind} address")
            yield from check_endpoint_address(text, f"{path}[{place}]")


CHECK_SLICE = f.Every(_SLICE, _check_addresses)
