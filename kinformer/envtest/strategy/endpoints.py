"""The addresses of a service's pods: Endpoints, and EndpointSlices, which replace them."""

from __future__ import annotations

from collections.abc import Iterator

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.envtest.strategy.checks import (
    check_endpoint_address,
    check_names,
    check_port,
    invalid,
    not_supported,
    parse_address,
    required,
)

__all__ = ("EndpointSliceStrategy", "EndpointsStrategy")

_PROTOCOLS = ("SCTP", "TCP", "UDP")


class EndpointsStrategy(Strategy):
    def validate(self, obj: Obj) -> list[Cause]:
        return [
            cause
            for index, subset in enumerate(obj.get("subsets") or ())
            for cause in _check_subset(subset, f"subsets[{index}]")
        ]


def _check_subset(subset: Obj, path: str) -> Iterator[Cause]:
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        yield required(path, "must specify `addresses` or `notReadyAddresses`")
    for name in ("addresses", "notReadyAddresses"):
        for index, address in enumerate(subset.get(name) or ()):
            here = f"{path}.{name}[{index}]"
            yield from check_endpoint_address(address.get("ip", ""), f"{here}.ip")
            if hostname := address.get("hostname"):
                yield from check_names(hostname, f"{here}.hostname")
    ports = subset.get("ports") or ()
    for index, port in enumerate(ports):
        here = f"{path}.ports[{index}]"
        if name := port.get("name"):
            yield from check_names(name, f"{here}.name")
        elif len(ports) > 1:
            yield required(f"{here}.name")
        yield from check_port(port.get("port", 0), f"{here}.port")
        if (protocol := port.get("protocol")) not in _PROTOCOLS:
            yield not_supported(f"{here}.protocol", protocol, _PROTOCOLS)


class EndpointSliceStrategy(Strategy):
    def counts(self, obj: Obj, old: Obj) -> bool:
        names = ("addressType", "endpoints", "ports")
        labels = obj["metadata"].get("labels") != old["metadata"].get("labels")
        return labels or any(obj.get(name) != old.get(name) for name in names)

    def validate(self, obj: Obj) -> list[Cause]:
        return list(_check_slice(obj))


def _check_slice(obj: Obj) -> Iterator[Cause]:
    kind = obj.get("addressType", "")
    if not kind:
        yield required("addressType")
    elif kind not in ("FQDN", "IPv4", "IPv6"):
        yield not_supported("addressType", kind, ("FQDN", "IPv4", "IPv6"))
    names: set[str] = set()
    for index, port in enumerate(obj.get("ports") or ()):
        here = f"ports[{index}]"
        name = port.get("name", "")
        if name:
            yield from check_names(name, f"{here}.name")
        if name in names:
            yield Cause(f"{here}.name", "FieldValueDuplicate", f'Duplicate value: "{name}"')
        names.add(name)
        if (protocol := port.get("protocol")) not in _PROTOCOLS:
            yield not_supported(f"{here}.protocol", protocol, _PROTOCOLS)
    for index, endpoint in enumerate(obj.get("endpoints") or ()):
        path = f"endpoints[{index}].addresses"
        addresses = endpoint.get("addresses") or ()
        if not addresses:
            yield required(path, "must contain at least 1 address")
        for place, text in enumerate(addresses):
            if kind not in ("IPv4", "IPv6"):
                continue
            address = parse_address(text)
            if address is not None and address.version != int(kind[-1]):
                yield invalid(path, text, f"must be an {kind} address")
            yield from check_endpoint_address(text, f"{path}[{place}]")
