"""Services, and the addresses and ports of the cluster that they take."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from kinformer.envtest import status
from kinformer.envtest.registry import Resource
from kinformer.envtest.status import Cause
from kinformer.envtest.storage import Change, Storage
from kinformer.envtest.storage.history import DELETED
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.envtest.strategy.checks import (
    check_labels,
    check_names,
    check_port,
    check_port_number_or_name,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kinformer.meta.names import GroupResource
from kinformer.meta.validation import dns1123_label_errors, dns1123_subdomain_errors

__all__ = ("ServiceAddresses", "ServiceStrategy")

_SERVICES = GroupResource("", "services")
_NETWORK = ipaddress.IPv4Network("10.96.0.0/12")
_NODE_PORTS = range(30000, 32768)
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_WITH_PORTS = ("LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


class ServiceAddresses:
    """
    Which cluster IPs and node ports are taken, as the stored services tell; and the next ones that are free.

    It follows the storage, so that whatever ends a service frees what it had.
    """

    def __init__(self, storage: Storage):
        self._taken: dict[str, tuple[list[str], list[int]]] = {}
        self.addresses: set[str] = {str(_NETWORK[1])}
        self.ports: set[int] = set()
        self._next_address = 10
        self._next_port = 0
        storage.listeners.append(self._follow)

    def load(self, storage: Storage) -> None:
        """Take note of what a storage that was read back holds."""
        for version in storage.log(_SERVICES).select(""):
            self._take(version.key, version.decode())

    def _follow(self, resource: GroupResource, change: Change) -> None:
        if resource != _SERVICES:
            return
        addresses, ports = self._taken.pop(change.now.key, ([], []))
        self.addresses.difference_update(addresses)
        self.ports.difference_update(ports)
        if change.type != DELETED:
            self._take(change.now.key, change.now.decode())

    def _take(self, key: str, service: Obj) -> None:
        spec = service.get("spec", {})
        addresses = [one for one in spec.get("clusterIPs") or () if one != "None"]
        ports = [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
        self._taken[key] = (addresses, ports)
        self.addresses.update(addresses)
        self.ports.update(ports)

    def new_address(self) -> str:
        for _ in range(_NETWORK.num_addresses - 2):
            address = str(_NETWORK[self._next_address])
            self._next_address = self._next_address % (_NETWORK.num_addresses - 2) + 1
            if address not in self.addresses:
                return address
        raise status.internal("failed to allocate a serviceIP: range is full")

    def new_port(self, taken: set[int]) -> int:
        """
        :param taken: ports that the service has already
        """
        for _ in _NODE_PORTS:
            port = _NODE_PORTS[self._next_port]
            self._next_port = (self._next_port + 1) % len(_NODE_PORTS)
            if port not in self.ports and port not in taken:
                return port
        raise status.internal("failed to allocate a nodePort: range is full")


class ServiceStrategy(Strategy):
    allow_create_on_update = True
    returns_deleted = True
    selectable: ClassVar[dict[str, str]] = {"spec.clusterIP": "", "spec.type": ""}

    def __init__(self, resource: Resource, addresses: ServiceAddresses):
        super().__init__(resource)
        self._addresses = addresses

    def default(self, obj: Obj) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("sessionAffinity", "None")
        spec.setdefault("type", "ClusterIP")
        kind = spec["type"]
        if spec["sessionAffinity"] == "None":
            spec.pop("sessionAffinityConfig", None)
        elif spec["sessionAffinity"] == "ClientIP":
            client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
            client.setdefault("timeoutSeconds", 10800)
        for port in spec.get("ports") or ():
            port.setdefault("protocol", "TCP")
            if port.get("targetPort") in (None, 0, ""):
                port["targetPort"] = port.get("port", 0)
        if kind in _WITH_PORTS or (kind == "ClusterIP" and spec.get("externalIPs")):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        if kind != "ExternalName":
            spec.setdefault("internalTrafficPolicy", "Cluster")
        if kind == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)
            for ingress in ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
                if ingress.get("ip"):
                    ingress.setdefault("ipMode", "VIP")

    def prepare_for_create(self, obj: Obj) -> None:
        super().prepare_for_create(obj)
        _normalise_addresses(obj["spec"])
        _default_families(obj["spec"])

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_update(obj, old)
        spec, before = obj["spec"], old.get("spec", {})
        _keep_allocated(spec, before)
        _normalise_addresses(spec)
        _default_families(spec)

    def finish(self, obj: Obj, old: Obj | None) -> None:
        spec = obj["spec"]
        if spec["type"] == "ExternalName":
            return
        before = (old or {}).get("spec", {})
        if not spec.get("clusterIP"):
            spec["clusterIP"] = self._addresses.new_address()
            spec["clusterIPs"] = [spec["clusterIP"]]
        elif spec["clusterIP"] != "None" and spec["clusterIP"] != before.get("clusterIP"):
            self._claim(obj, spec["clusterIPs"])
        if spec["type"] in _WITH_PORTS and spec.get("allocateLoadBalancerNodePorts", True):
            self._give_ports(obj, before)

    def _claim(self, obj: Obj, addresses: list[str]) -> None:
        for address in addresses:
            why = ""
            if address in self._addresses.addresses:
                why = "provided IP is already allocated"
            elif ipaddress.ip_address(address) not in _NETWORK:
                why = f"the provided IP ({address}) is not in the valid range. The range of valid IPs is {_NETWORK}"
            if why:
                text = f"failed to allocate IP {address}: {why}"
                cause = invalid("spec.clusterIPs", addresses, text)
                raise status.invalid(self.resource.group_kind, obj["metadata"]["name"], [cause])

    def _give_ports(self, obj: Obj, before: Obj) -> None:
        own = {port.get("nodePort") for port in before.get("ports") or ()}
        for index, port in enumerate(obj["spec"].get("ports") or ()):
            asked = port.get("nodePort")
            if not asked:
                port["nodePort"] = self._addresses.new_port(own)
                own.add(port["nodePort"])
                continue
            field = f"spec.ports[{index}].nodePort"
            if asked not in own and asked in self._addresses.ports:
                cause = invalid(field, asked, "provided port is already allocated")
            elif asked not in _NODE_PORTS:
                text = "provided port is not in the valid range. The range of valid ports is 30000-32767"
                cause = invalid(field, asked, text)
            else:
                continue
            raise status.invalid(self.resource.group_kind, obj["metadata"]["name"], [cause])

    def initial_status(self, obj: Obj) -> Obj:
        return {"loadBalancer": {}}

    def validate_name(self, name: str) -> list[str]:
        return dns1123_label_errors(name)

    def validate(self, obj: Obj) -> list[Cause]:
        return list(_check_service(obj["spec"]))

    def validate_replacement(self, obj: Obj, old: Obj) -> list[Cause]:
        return [*self.validate_update(obj, old), *self.validate(obj)]

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        mine, before = obj["spec"].get("clusterIPs") or [], old.get("spec", {}).get("clusterIPs") or []
        kept = obj["spec"]["type"] != "ExternalName" and old["spec"].get("type") != "ExternalName"
        if kept and before and mine and mine[0] != before[0]:
            return [invalid("spec.clusterIPs[0]", mine[0], "may not change once set")]
        return []


def _normalise_addresses(spec: Obj) -> None:
    """``clusterIP`` and the first of ``clusterIPs`` are one and the same, whichever was given."""
    if spec["type"] == "ExternalName":
        return
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    elif spec.get("clusterIPs") and not spec.get("clusterIP"):
        spec["clusterIP"] = spec["clusterIPs"][0]


def _default_families(spec: Obj) -> None:
    if spec["type"] == "ExternalName":
        return
    if spec.get("clusterIP") == "None" and not spec.get("selector"):
        # Who lists the endpoints of such a service by hand may have any family.
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
        if spec["ipFamilyPolicy"] != "SingleStack":
            families = spec.get("ipFamilies") or ["IPv4"]
            spec["ipFamilies"] = [*families, "IPv6" if families[0] == "IPv4" else "IPv4"][:2]
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    spec.setdefault("ipFamilies", ["IPv4"])


def _keep_allocated(spec: Obj, before: Obj) -> None:
    """An update that leaves out what was allocated keeps it, where its type still has such things."""
    if spec["type"] == "ExternalName":
        if before.get("type") != "ExternalName":
            for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                if spec.get(name) == before.get(name):
                    spec.pop(name, None)
        return
    if before.get("type") != "ExternalName" and not spec.get("clusterIP") and not spec.get("clusterIPs"):
        for name in ("clusterIP", "clusterIPs"):
            if name in before:
                spec[name] = before[name]
    for name in ("ipFamilies", "ipFamilyPolicy"):
        if name in before:
            spec.setdefault(name, before[name])
    ports = {(port.get("protocol"), port.get("port")): port.get("nodePort") for port in before.get("ports") or ()}
    for port in spec.get("ports") or ():
        kept = ports.get((port.get("protocol"), port.get("port")))
        if spec["type"] in _WITH_PORTS:
            if kept and not port.get("nodePort") and before.get("type") in _WITH_PORTS:
                port["nodePort"] = kept
        elif port.get("nodePort") and port["nodePort"] == kept:
            del port["nodePort"]
    if spec["type"] not in _WITH_PORTS and spec.get("externalTrafficPolicy") == before.get("externalTrafficPolicy"):
        spec.pop("externalTrafficPolicy", None)
    if spec["type"] != "LoadBalancer":
        spec.pop("allocateLoadBalancerNodePorts", None)


def _check_service(spec: Obj) -> Iterator[Cause]:
    ports = spec.get("ports") or []
    kind = spec.get("type", "")
    headless = spec.get("clusterIP") == "None"
    if not ports and not headless and kind != "ExternalName":
        yield required("spec.ports")
    if headless and kind in _WITH_PORTS:
        yield invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        if spec.get("clusterIPs"):
            yield forbidden("spec.clusterIPs", "may not be set for ExternalName services")
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
    elif affinity == "None" and spec.get("sessionAffinityConfig") is not None:
        yield forbidden("spec.sessionAffinityConfig", "must not be set when session affinity is None")
    yield from _check_addresses(spec)
    if kind not in _TYPES:
        yield not_supported("spec.type", kind, _TYPES)
    yield from _check_ports_together(ports, kind)
    yield from _check_policies(spec, kind)


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


def _check_addresses(spec: Obj) -> Iterator[Cause]:
    for index, address in enumerate(spec.get("clusterIPs") or ()):
        field = f"spec.clusterIPs[{index}]"
        if address == "None":
            continue
        if not _is_address(address):
            text = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            yield invalid(field, address, text)
    if spec.get("clusterIPs") and spec.get("clusterIP") and spec["clusterIPs"][0] != spec["clusterIP"]:
        yield invalid("spec.clusterIPs", spec["clusterIPs"], "first value must match `clusterIP`")


def _is_address(text: Any) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return not re.search(r"\s", text)


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


def _check_policies(spec: Obj, kind: str) -> Iterator[Cause]:
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        yield forbidden("spec.allocateLoadBalancerNodePorts", "may only be used when `type` is 'LoadBalancer'")
    policy = spec.get("externalTrafficPolicy")
    if policy is not None and kind not in _WITH_PORTS and not spec.get("externalIPs"):
        text = "may only be set for externally-accessible services"
        yield invalid("spec.externalTrafficPolicy", policy, text)
    elif policy not in (None, "Cluster", "Local"):
        yield not_supported("spec.externalTrafficPolicy", policy, ("Cluster", "Local"))
    policy = spec.get("internalTrafficPolicy")
    if policy not in (None, "Cluster", "Local"):
        yield not_supported("spec.internalTrafficPolicy", policy, ("Cluster", "Local"))
