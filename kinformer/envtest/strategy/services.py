"""Services, and the cluster IPs and node ports that they use."""

from __future__ import annotations

import ipaddress
import uuid

from kinformer.envtest import status
from kinformer.envtest.causes import invalid
from kinformer.envtest.registry import Resource
from kinformer.envtest.status import Cause
from kinformer.envtest.storage import Change, Storage
from kinformer.envtest.storage.history import DELETED
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.envtest.strategy.checks import ingress_points
from kinformer.envtest.strategy.fields import Fields
from kinformer.envtest.strategy.service_checks import (
    SERVICE,
    check_service_status,
    check_service_update,
    is_reached_from_outside,
    needs_health_check,
)
from kinformer.meta.names import GroupResource

__all__ = ("ServiceAddresses", "ServiceStrategy")

_SERVICES = GroupResource("", "services")
_RANGES = GroupResource("networking.k8s.io", "servicecidrs")
_ADDRESSES = GroupResource("networking.k8s.io", "ipaddresses")
_NETWORK = ipaddress.IPv4Network("10.96.0.0/12")
_NODE_PORTS = range(30000, 32768)
_LABELS = "ipaddress.kubernetes.io"
_WITH_PORTS = ("LoadBalancer", "NodePort")


class ServiceAddresses:
    """
    The cluster IPs and node ports that the stored services use, and the next free ones.

    It follows the changes of the storage. So an address is free again as soon as its service is gone, for any reason.
    """

    def __init__(self, storage: Storage):
        self._storage = storage
        self._ranges: dict[str, list[str]] = {}
        self._taken: dict[str, tuple[list[str], list[int]]] = {}
        self.addresses: set[str] = {str(_NETWORK[1])}
        self.ports: set[int] = set()
        self._next_address = 10
        self._next_port = 0
        storage.listeners.append(self._follow)

    def load(self, storage: Storage) -> None:
        """Add the services of a storage that was read from disk."""
        for version in storage.log(_RANGES).select(""):
            self._ranges[version.key] = _ready_ranges(version.decode())
        for version in storage.log(_SERVICES).select(""):
            self._take(version.key, version.decode())

    def _follow(self, resource: GroupResource, change: Change) -> None:
        key = change.now.key
        if resource == _RANGES:
            self._ranges[key] = [] if change.type == DELETED else _ready_ranges(change.now.decode())
        if resource != _SERVICES:
            return
        addresses, ports = self._taken.pop(key, ([], []))
        self.addresses.difference_update(addresses)
        self.ports.difference_update(ports)
        if change.type != DELETED:
            self._take(key, change.now.decode())
        held = {*self._taken.get(key, ([], []))[0]}
        for address in held ^ {*addresses}:
            self._note_address(address, change.now.decode()["metadata"], is_held=address in held)

    def _note_address(self, address: str, of: Obj, *, is_held: bool) -> None:
        """Store or remove the IPAddress of a Service, if the address is of a range that somebody added."""
        there, ip = self._storage.get(_ADDRESSES, "", address), ipaddress.ip_address(address)
        if there is not None and not is_held:
            self._storage.delete(_ADDRESSES, there)
        elif there is None and is_held and ip not in _NETWORK:
            family = {f"{_LABELS}/ip-family": f"IPv{ip.version}", f"{_LABELS}/managed-by": "ipallocator.k8s.io"}
            uid = str(uuid.uuid5(uuid.NAMESPACE_OID, of["uid"] + address))
            metadata = {"name": address, "uid": uid, "creationTimestamp": of["creationTimestamp"]}
            parent = {"resource": "services", "namespace": of["namespace"], "name": of["name"]}
            obj = {"metadata": {**metadata, "labels": family}, "spec": {"parentRef": parent}}
            self._storage.create(_ADDRESSES, "", address, obj)

    def is_in_range(self, address: str) -> bool:
        ranges = (str(_NETWORK), *(one for ranges in self._ranges.values() for one in ranges))
        return any(ipaddress.ip_address(address) in ipaddress.ip_network(one) for one in ranges)

    def _take(self, key: str, service: Obj) -> None:
        spec = service.get("spec", {})
        addresses = [one for one in spec.get("clusterIPs") or () if one != "None"]
        ports = [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
        ports += [port for port in (spec.get("healthCheckNodePort"),) if port]
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
        """A free node port that is not among `taken`, the ports of the present service."""
        for _ in _NODE_PORTS:
            port = _NODE_PORTS[self._next_port]
            self._next_port = (self._next_port + 1) % len(_NODE_PORTS)
            if port not in self.ports and port not in taken:
                return port
        raise status.internal("failed to allocate a nodePort: range is full")


def _ready_ranges(obj: Obj) -> list[str]:
    """The ranges of a ServiceCIDR, if Services can get addresses of them."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return obj["spec"]["cidrs"] if ready and "deletionTimestamp" not in obj["metadata"] else []


class ServiceStrategy(Strategy):
    checks = Fields(spec=SERVICE)

    def __init__(self, resource: Resource, addresses: ServiceAddresses):
        super().__init__(resource)
        self._addresses = addresses

    def default(self, obj: Obj) -> None:
        super().default(obj)
        spec = obj["spec"]
        if spec["sessionAffinity"] == "None":
            spec.pop("sessionAffinityConfig", None)
        for port in spec.get("ports") or ():
            if port.get("targetPort") in (None, 0, ""):
                port["targetPort"] = port.get("port", 0)
        if is_reached_from_outside(spec):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        if spec["type"] == "LoadBalancer":
            for ingress in ingress_points(obj):
                if ingress.get("ip"):
                    ingress.setdefault("ipMode", "VIP")

    def prepare_for_create(self, obj: Obj) -> None:
        super().prepare_for_create(obj)
        _complete_addresses(obj["spec"])

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_update(obj, old)
        spec, before = obj["spec"], old.get("spec", {})
        if spec["type"] != "LoadBalancer":
            obj["status"] = {**obj["status"], "loadBalancer": {}}
        _keep_allocated(spec, before)
        _complete_addresses(spec)

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
        if needs_health_check(spec) and not spec.get("healthCheckNodePort"):
            taken = {port.get("nodePort") for port in spec.get("ports") or ()}
            spec["healthCheckNodePort"] = self._addresses.new_port(taken)

    def _claim(self, obj: Obj, addresses: list[str]) -> None:
        for address in addresses:
            why = "the provided network does not match the current range"
            if address in self._addresses.addresses:
                why = "provided IP is already allocated"
            elif self._addresses.is_in_range(address):
                continue
            cause = invalid("spec.clusterIPs", addresses, f"failed to allocate IP {address}: {why}")
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

    def validate_subresource_change(self, subresource: str, obj: Obj, old: Obj) -> list[Cause]:
        return list(check_service_status(obj, old))

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        return list(check_service_update(obj["spec"], old.get("spec") or {}))


def _complete_addresses(spec: Obj) -> None:
    """``clusterIP`` and the first of ``clusterIPs`` are set from each other. Families that are missing are set."""
    if spec["type"] == "ExternalName":
        return
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    elif spec.get("clusterIPs") and not spec.get("clusterIP"):
        spec["clusterIP"] = spec["clusterIPs"][0]
    if spec.get("clusterIP") == "None" and not spec.get("selector"):
        # Somebody who writes the endpoints of such a service by hand may use any family.
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
        if spec["ipFamilyPolicy"] != "SingleStack":
            families = spec.get("ipFamilies") or ["IPv4"]
            spec["ipFamilies"] = [*families, "IPv6" if families[0] == "IPv4" else "IPv4"][:2]
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    spec.setdefault("ipFamilies", ["IPv4"])


def _keep_allocated(spec: Obj, before: Obj) -> None:
    """Keep the addresses, ports and the like that an update leaves out, if the new type of the service has them."""
    if spec["type"] == "ExternalName":
        if before.get("type") != "ExternalName":
            _drop_unchanged(spec, before, "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
    else:
        if before.get("type") != "ExternalName" and not spec.get("clusterIP") and not spec.get("clusterIPs"):
            for name in ("clusterIP", "clusterIPs"):
                if name in before:
                    spec[name] = before[name]
        for name in ("ipFamilies", "ipFamilyPolicy"):
            if name in before:
                spec.setdefault(name, before[name])
    _keep_ports(spec, before)
    had_by_kind = (("externalTrafficPolicy", is_reached_from_outside), ("healthCheckNodePort", needs_health_check))
    for name, wanted in had_by_kind:
        if wanted(before) and not wanted(spec):
            _drop_unchanged(spec, before, name)
    if needs_health_check(spec) and needs_health_check(before) and "healthCheckNodePort" in before:
        spec.setdefault("healthCheckNodePort", before["healthCheckNodePort"])
    if before.get("type") == "LoadBalancer" and spec["type"] != "LoadBalancer":
        _drop_unchanged(spec, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")


def _drop_unchanged(spec: Obj, before: Obj, *names: str) -> None:
    """Drop the fields that the new type does not have, unless the update itself sets them to another value."""
    for name in names:
        if spec.get(name) == before.get(name):
            spec.pop(name, None)


def _keep_ports(spec: Obj, before: Obj) -> None:
    """A port without a node port keeps that of the old port of its name. A type without node ports drops them."""
    had, ports = before.get("ports") or (), spec.get("ports") or ()
    if before.get("type") not in _WITH_PORTS:
        return
    if spec["type"] in _WITH_PORTS:
        by_name = {port.get("name", ""): port.get("nodePort") for port in had}
        still = {port.get("nodePort") for port in had} & {port.get("nodePort") for port in ports}
        for port in ports:
            kept = by_name.get(port.get("name", ""))
            if not port.get("nodePort") and kept and kept not in still:
                port["nodePort"] = kept
    elif [port.get("nodePort") for port in ports] == [port.get("nodePort") for port in had]:
        for port in ports:
            port.pop("nodePort", None)
