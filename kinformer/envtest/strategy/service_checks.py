"""Validation of services, of their changes, and of the addresses of their pods: Endpoints and EndpointSlices."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

from kinformer.envtest.causes import duplicate, forbidden, immutable, invalid, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.checks import (
    BAD_ADDRESS,
    BAD_NETWORK,
    check_address,
    check_endpoint_address,
    check_ingress_point,
    check_port,
    check_port_number_or_name,
    ingress_points,
    parse_address,
    parse_network,
)
from kinformer.envtest.strategy.metadata import validate_labels

__all__ = (
    "CHECK_ENDPOINTS",
    "CHECK_SLICE",
    "SERVICE",
    "check_service_status",
    "check_service_update",
    "is_reached_from_outside",
    "needs_health_check",
)

_WITH_PORTS = ("LoadBalancer", "NodePort")
_POLICY = f.OneOf("Cluster", "Local")
_FAMILIES = ("IPv4", "IPv6")
_LONGEST_AFFINITY = 86400
_FIXED = "may not change once set"


def is_reached_from_outside(spec: Obj) -> bool:
    kind = spec.get("type")
    return kind in _WITH_PORTS or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_check(spec: Obj) -> bool:
    """Whether nodes tell a load balancer if they have pods of the service."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _check_type(spec: Obj, path: str) -> Iterator[Cause]:
    kind, headless = spec.get("type", ""), spec.get("clusterIP") == "None"
    if not spec.get("ports") and not headless and kind != "ExternalName":
        yield required(f"{path}.ports")
    if headless and kind in _WITH_PORTS:
        yield invalid(f"{path}.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name):
                yield forbidden(f"{path}.{name}", "may not be set for ExternalName services")
        name = spec.get("externalName", "").removesuffix(".")
        yield from f.Needed(f.DNS_SUBDOMAIN)(name, f"{path}.externalName")


_PORTS = f.ports_of(
    f.Unique("name", counts=bool),
    f.Fields(
        port=check_port,
        protocol=f.PROTOCOL,
        targetPort=check_port_number_or_name,
        appProtocol=f.Given(f.QUALIFIED_NAME),
    ),
)


def _check_affinity(spec: Obj, path: str) -> Iterator[Cause]:
    if spec.get("sessionAffinity") == "ClientIP":
        seconds = ((spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get("timeoutSeconds", 0)
        if not 0 < seconds <= _LONGEST_AFFINITY:
            text = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
            yield invalid(f"{path}.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, text)


_FAMILY_ROWS = f.Fields(
    ipFamilies=f.Each(f.OneOf(*_FAMILIES), f.Unique()),
    ipFamilyPolicy=f.Given(f.OneOf("PreferDualStack", "RequireDualStack", "SingleStack")),
)


def _check_addresses(spec: Obj, path: str) -> Iterator[Cause]:
    if spec.get("type") == "ExternalName":
        return
    addresses, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    if addresses and spec.get("clusterIP") and addresses[0] != spec["clusterIP"]:
        yield invalid(f"{path}.clusterIPs", addresses, "first value must match `clusterIP`")
    yield from _FAMILY_ROWS(spec, path)
    wrong = False
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            if len(addresses) > 1:
                wrong = True
                yield invalid(f"{path}.clusterIPs", addresses, "'None' must be the first and only value")
        elif parse_address(address) is None:
            wrong = True
            yield invalid(f"{path}.clusterIPs[{index}]", address, BAD_ADDRESS)
    if len(addresses) > 2:
        yield invalid(f"{path}.clusterIPs", addresses, "may only hold up to 2 values")
    if wrong or addresses[:1] == ["None"]:
        return
    versions = [ipaddress.ip_address(address).version for address in addresses]
    if len(set(versions)) < len(versions):
        yield invalid(f"{path}.clusterIPs", addresses, "may specify no more than one IP for each IP family")
    for index, (version, family) in enumerate(zip(versions, families, strict=False)):
        if family in _FAMILIES and f"IPv{version}" != family:
            text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            yield invalid(f"{path}.clusterIPs[{index}]", addresses[index], text)


def _check_ports_together(spec: Obj, path: str) -> Iterator[Cause]:
    ports, kind = spec.get("ports") or [], spec.get("type", "")
    taken: set[tuple[Any, Any]] = set()
    node_ports: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        here = f"{path}.ports[{index}]"
        if (number := port.get("nodePort")) and kind == "ClusterIP":
            yield forbidden(f"{here}.nodePort", "may not be used when `type` is 'ClusterIP'")
        if number:
            key = (port.get("protocol"), number)
            if key in node_ports:
                yield duplicate(f"{here}.nodePort", number)
            node_ports.add(key)
    for index, port in enumerate(ports):
        key = (port.get("protocol"), port.get("port"))
        if key in taken:
            shown = {"protocol": key[0], "port": key[1], "targetPort": 0}
            yield duplicate(f"{path}.ports[{index}]", shown)
        taken.add(key)


def _check_ranges(ranges: list[str], path: str) -> Iterator[Cause]:
    for index, text in enumerate(ranges):
        if parse_network(text.strip()) is None:
            yield invalid(f"{path}[{index}]", text.strip(), BAD_NETWORK)


def _check_balancer(spec: Obj, path: str) -> Iterator[Cause]:
    """Check the fields that only services with a load balancer may have."""
    only, balanced = "may only be used when `type` is 'LoadBalancer'", spec.get("type") == "LoadBalancer"
    if ranges := spec.get("loadBalancerSourceRanges"):
        # The real server writes this name with a capital letter.
        field = f"{path}.LoadBalancerSourceRanges"
        if not balanced:
            yield forbidden(field, only)
        yield from _check_ranges(ranges, field)
    if spec.get("allocateLoadBalancerNodePorts") is not None and not balanced:
        yield forbidden(f"{path}.allocateLoadBalancerNodePorts", only)
    if (class_ := spec.get("loadBalancerClass")) is not None:
        if not balanced:
            yield forbidden(f"{path}.loadBalancerClass", only)
        else:
            yield from f.QUALIFIED_NAME(class_, f"{path}.loadBalancerClass")


def _check_outside(spec: Obj, path: str) -> Iterator[Cause]:
    """Check the fields of services that are reached from outside."""
    policy, port = spec.get("externalTrafficPolicy"), spec.get("healthCheckNodePort")
    if is_reached_from_outside(spec):
        yield from _POLICY(policy, f"{path}.externalTrafficPolicy")
    elif policy:
        yield invalid(f"{path}.externalTrafficPolicy", policy, "may only be set for externally-accessible services")
    if port and not needs_health_check(spec):
        text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid(f"{path}.healthCheckNodePort", port, text)
    elif port:
        yield from check_port(port, f"{path}.healthCheckNodePort")


SERVICE = f.Every(
    _check_type,
    f.Fields(ports=_PORTS, selector=f.Given(validate_labels), sessionAffinity=f.OneOf("ClientIP", "None")),
    _check_affinity,
    _check_addresses,
    f.Fields(
        externalIPs=f.Each(check_endpoint_address),
        type=f.OneOf("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"),
    ),
    _check_ports_together,
    _check_balancer,
    _check_outside,
    f.Fields(
        internalTrafficPolicy=f.Given(_POLICY),
        trafficDistribution=f.Given(f.OneOf("PreferClose", "PreferSameZone", "PreferSameNode")),
    ),
)

# -- changes ----------------------------------------------------------------------------------------------------------


def check_service_update(spec: Obj, old: Obj) -> Iterator[Cause]:
    if spec.get("type") != "ExternalName" and old.get("type") != "ExternalName":
        headless = [one.get("clusterIP") == "None" for one in (spec, old)]
        if not all(headless):
            yield from _check_same(spec.get("clusterIPs") or [], old.get("clusterIPs") or [], "clusterIPs", spec)
        if not any(headless):
            yield from _check_same(spec.get("ipFamilies") or [], old.get("ipFamilies") or [], "ipFamilies", spec)
    if spec.get("type") == old.get("type") == "LoadBalancer":
        class_, before = spec.get("loadBalancerClass"), old.get("loadBalancerClass")
        yield from immutable(class_, before, "spec.loadBalancerClass", _FIXED)
    if needs_health_check(spec) and needs_health_check(old):
        port, before = spec.get("healthCheckNodePort"), old.get("healthCheckNodePort")
        if port != before:
            yield forbidden("spec.healthCheckNodePort", "field is immutable")


def _check_same(values: list[str], before: list[str], name: str, spec: Obj) -> Iterator[Cause]:
    """Check that the first address or family does not change. A second one may be added and removed."""
    field = f"spec.{name}"
    what = {"clusterIPs": "clusterIP", "ipFamilies": "ipFamily"}[name]
    if len(values) == len(before):
        for index, value in enumerate(before):
            if value != values[index]:
                yield invalid(f"{field}[{index if name == 'clusterIPs' else 0}]", values, _FIXED)
        return
    if len(values) < len(before) and not values:
        yield invalid(f"{field}[0]", values, f"primary {what} can not be unset")
    elif before and values[0] != before[0]:
        yield invalid(f"{field}[0]", values, _FIXED)
    if len(values) == 1 and len(before) > 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        text = f"must be set to 'SingleStack' when releasing the secondary {what}"
        yield invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), text)


def check_service_status(service: Obj, old: Obj) -> Iterator[Cause]:
    """Check the addresses of the load balancer in the status. Only services of that type may have them."""
    points, before = ingress_points(service), ingress_points(old)
    field = "status.loadBalancer.ingress"
    if points and service["spec"].get("type") != "LoadBalancer":
        yield forbidden(field, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for index, point in enumerate(points):
        place, mode = f"{field}[{index}]", point.get("ipMode")
        if mode is None and point.get("ip"):
            yield required(f"{place}.ipMode", "must be specified when `ip` is set")
        elif mode is not None and not point.get("ip"):
            yield forbidden(f"{place}.ipMode", "may not be specified when `ip` is not set")
        elif mode is not None:
            yield from f.OneOf("Proxy", "VIP")(mode, f"{place}.ipMode")
        yield from check_ingress_point(point, before, place)


# -- the addresses of the pods ----------------------------------------------------------------------------------------


def _check_some_address(subset: Obj, path: str) -> Iterator[Cause]:
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        yield required(path, "must specify `addresses` or `notReadyAddresses`")


_ADDRESSES = f.Each(
    f.Fields(ip=check_address, hostname=f.Filled(f.DNS_LABEL), nodeName=f.Given(f.DNS_SUBDOMAIN)),
    f.Fields(ip=check_endpoint_address),
)


_ENDPOINT_PORTS = f.ports_of(f.Fields(port=check_port, protocol=f.PROTOCOL, appProtocol=f.Given(f.QUALIFIED_NAME)))
CHECK_ENDPOINTS = f.Fields(
    subsets=f.Each(
        _check_some_address,
        f.Fields(addresses=_ADDRESSES, notReadyAddresses=_ADDRESSES, ports=_ENDPOINT_PORTS),
    )
)


_SLICE_FIELDS = f.Fields(
    addressType=f.Needed(f.OneOf("FQDN", "IPv4", "IPv6")),
    ports=f.Each(
        f.Fields(name=f.Filled(f.DNS_LABEL)),
        f.Unique("name"),
        f.Fields(protocol=f.PROTOCOL, appProtocol=f.Given(f.QUALIFIED_NAME)),
    ),
)
_HINTS = f.Fields(forZones=f.Each(f.Unique("name"), f.Fields(name=f.LABEL_VALUE)))
_ENDPOINT = f.Fields(nodeName=f.Given(f.DNS_SUBDOMAIN), hostname=f.Given(f.DNS_LABEL), hints=_HINTS)


def _check_endpoints(obj: Obj, _path: str) -> Iterator[Cause]:
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
        yield from _ENDPOINT(endpoint, f"endpoints[{index}]")


CHECK_SLICE = f.Every(_SLICE_FIELDS, _check_endpoints)
