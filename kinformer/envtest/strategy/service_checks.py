"""Validation of services, and of their changes."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

from kinformer.envtest.status import Cause
from kinformer.envtest.strategy.base import Obj
from kinformer.envtest.strategy.checks import (
    BAD_ADDRESS,
    BAD_NETWORK,
    check_endpoint_address,
    check_ingress_point,
    check_labels,
    check_names,
    check_port,
    check_port_number_or_name,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    parse_address,
    parse_network,
    repeats,
    required,
)
from kinformer.meta.validation import dns1123_subdomain_errors, label_key_errors

__all__ = (
    "check_service",
    "check_service_status",
    "check_service_update",
    "is_reached_from_outside",
    "needs_health_check",
)

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_WITH_PORTS = ("LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_POLICIES = ("Cluster", "Local")
_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_LONGEST_AFFINITY = 86400
_FIXED = "may not change once set"
_IP_MODES = ("Proxy", "VIP")


def is_reached_from_outside(spec: Obj) -> bool:
    kind = spec.get("type")
    return kind in _WITH_PORTS or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_check(spec: Obj) -> bool:
    """Whether nodes tell a load balancer if they have pods of the service."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def check_service(spec: Obj) -> Iterator[Cause]:
    ports = spec.get("ports") or []
    kind = spec.get("type", "")
    headless = spec.get("clusterIP") == "None"
    if not ports and not headless and kind != "ExternalName":
        yield required("spec.ports")
    if headless and kind in _WITH_PORTS:
        yield invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name):
                yield forbidden(f"spec.{name}", "may not be set for ExternalName services")
        name = spec.get("externalName", "").removesuffix(".")
        if not name:
            yield required("spec.externalName")
        else:
            yield from check_names(name, "spec.externalName", dns1123_subdomain_errors)
    names: set[str] = set()
    for index, port in enumerate(ports):
        yield from _check_service_port(port, len(ports) > 1, names, f"spec.ports[{index}]")
    yield from check_labels(spec.get("selector") or {}, "spec.selector")
    if (affinity := spec.get("sessionAffinity")) not in ("ClientIP", "None"):
        yield not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    elif affinity == "ClientIP":
        seconds = ((spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get("timeoutSeconds", 0)
        if not 0 < seconds <= _LONGEST_AFFINITY:
            text = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
            yield invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, text)
    if kind != "ExternalName":
        yield from _check_addresses(spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        yield from check_endpoint_address(address, f"spec.externalIPs[{index}]")
    if kind not in _TYPES:
        yield not_supported("spec.type", kind, _TYPES)
    yield from _check_ports_together(ports, kind)
    yield from _check_balancer(spec, kind)
    yield from _check_policies(spec)


def _check_service_port(port: Obj, named: bool, names: set[str], path: str) -> Iterator[Cause]:
    name = port.get("name", "")
    if named and not name:
        yield required(f"{path}.name")
    elif name:
        yield from check_names(name, f"{path}.name")
        if name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)
    yield from check_port(port.get("port", 0), f"{path}.port")
    if (protocol := port.get("protocol")) not in _PROTOCOLS:
        yield not_supported(f"{path}.protocol", protocol, _PROTOCOLS)
    yield from check_port_number_or_name(port.get("targetPort"), f"{path}.targetPort")
    if (application := port.get("appProtocol")) is not None:
        yield from check_names(application, f"{path}.appProtocol", label_key_errors)


def _check_addresses(spec: Obj) -> Iterator[Cause]:
    addresses, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    if addresses and spec.get("clusterIP") and addresses[0] != spec["clusterIP"]:
        yield invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`")
    for index, (family, again) in enumerate(zip(families, repeats(families), strict=True)):
        if family not in _FAMILIES:
            yield not_supported(f"spec.ipFamilies[{index}]", family, _FAMILIES)
        if again:
            yield duplicate(f"spec.ipFamilies[{index}]", family)
    if (policy := spec.get("ipFamilyPolicy")) not in (None, *_FAMILY_POLICIES):
        yield not_supported("spec.ipFamilyPolicy", policy, _FAMILY_POLICIES)
    wrong = False
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            if len(addresses) > 1:
                wrong = True
                yield invalid("spec.clusterIPs", addresses, "'None' must be the first and only value")
        elif parse_address(address) is None:
            wrong = True
            yield invalid(f"spec.clusterIPs[{index}]", address, BAD_ADDRESS)
    if len(addresses) > 2:
        yield invalid("spec.clusterIPs", addresses, "may only hold up to 2 values")
    if wrong or addresses[:1] == ["None"]:
        return
    versions = [ipaddress.ip_address(address).version for address in addresses]
    if len(set(versions)) < len(versions):
        yield invalid("spec.clusterIPs", addresses, "may specify no more than one IP for each IP family")
    for index, (version, family) in enumerate(zip(versions, families, strict=False)):
        if family in _FAMILIES and f"IPv{version}" != family:
            text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            yield invalid(f"spec.clusterIPs[{index}]", addresses[index], text)


def _check_ports_together(ports: list[Obj], kind: str) -> Iterator[Cause]:
    taken: set[tuple[Any, Any]] = set()
    node_ports: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        path = f"spec.ports[{index}]"
        if (number := port.get("nodePort")) and kind == "ClusterIP":
            yield forbidden(f"{path}.nodePort", "may not be used when `type` is 'ClusterIP'")
        if number:
            key = (port.get("protocol"), number)
            if key in node_ports:
                yield duplicate(f"{path}.nodePort", number)
            node_ports.add(key)
    for index, port in enumerate(ports):
        key = (port.get("protocol"), port.get("port"))
        if key in taken:
            shown = {"protocol": key[0], "port": key[1], "targetPort": 0}
            yield duplicate(f"spec.ports[{index}]", shown)
        taken.add(key)


def _check_balancer(spec: Obj, kind: str) -> Iterator[Cause]:
    """Check the fields that only services with a load balancer may have."""
    only = "may only be used when `type` is 'LoadBalancer'"
    if ranges := spec.get("loadBalancerSourceRanges"):
        # The real server writes this name with a capital letter.
        path = "spec.LoadBalancerSourceRanges"
        if kind != "LoadBalancer":
            yield forbidden(path, only)
        for index, text in enumerate(ranges):
            if parse_network(text.strip()) is None:
                yield invalid(f"{path}[{index}]", text.strip(), BAD_NETWORK)
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        yield forbidden("spec.allocateLoadBalancerNodePorts", only)
    if (class_ := spec.get("loadBalancerClass")) is not None:
        if kind != "LoadBalancer":
            yield forbidden("spec.loadBalancerClass", only)
        else:
            yield from check_names(class_, "spec.loadBalancerClass", label_key_errors)


def _check_policies(spec: Obj) -> Iterator[Cause]:
    policy = spec.get("externalTrafficPolicy")
    if not is_reached_from_outside(spec):
        if policy:
            text = "may only be set for externally-accessible services"
            yield invalid("spec.externalTrafficPolicy", policy, text)
    elif policy not in _POLICIES:
        yield not_supported("spec.externalTrafficPolicy", policy, _POLICIES)
    if (port := spec.get("healthCheckNodePort")) and not needs_health_check(spec):
        text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid("spec.healthCheckNodePort", port, text)
    elif port:
        yield from check_port(port, "spec.healthCheckNodePort")
    if (policy := spec.get("internalTrafficPolicy")) not in (None, *_POLICIES):
        yield not_supported("spec.internalTrafficPolicy", policy, _POLICIES)
    if (distribution := spec.get("trafficDistribution")) not in (None, *_DISTRIBUTIONS):
        yield not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS)


# -- changes ----------------------------------------------------------------------------------------------------------


def check_service_update(spec: Obj, old: Obj) -> Iterator[Cause]:
    if spec.get("type") != "ExternalName" and old.get("type") != "ExternalName":
        headless = [one.get("clusterIP") == "None" for one in (spec, old)]
        if not all(headless):
            yield from _check_same(spec.get("clusterIPs") or [], old.get("clusterIPs") or [], "clusterIPs", spec)
        if not any(headless):
            yield from _check_same(spec.get("ipFamilies") or [], old.get("ipFamilies") or [], "ipFamilies", spec)
    if spec.get("type") == old.get("type") == "LoadBalancer":
        class_ = spec.get("loadBalancerClass")
        if class_ != old.get("loadBalancerClass"):
            yield invalid("spec.loadBalancerClass", class_, _FIXED)
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
    points, before = _ingress_of(service), _ingress_of(old)
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
        elif mode is not None and mode not in _IP_MODES:
            yield not_supported(f"{place}.ipMode", mode, _IP_MODES)
        yield from check_ingress_point(point, before, place)


def _ingress_of(service: Obj) -> list[Obj]:
    return ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
