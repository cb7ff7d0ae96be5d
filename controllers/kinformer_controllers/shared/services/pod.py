"""EndpointPod: what of a pod matters to services, and nothing else of it.

A service of thousands of pods is synced each time that one of them changes. So a pod is read once, when it changes,
into this form; a sync looks at nothing else. Whether a change matters is whether the form is another one. The two
controllers that look at pods so are told by the same informer, and share what the first of them has read
(:class:`EndpointPods`).
"""

from __future__ import annotations

import ipaddress
import re
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from kinformer.cache import SharedIndexInformer
from kinformer.models import V1EndpointAddress, V1ObjectReference, V1Pod
from kinformer_controllers.shared.owning.status import is_pod_terminal, ready_condition
from kinformer_controllers.shared.partly import partly

__all__ = ("EndpointPod", "EndpointPods", "canonical_ip", "differs", "endpoint_pod", "is_ipv6")

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_PLAIN_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}", re.ASCII)
_LEADING_ZEROS = re.compile(r"\b0+(?=\d)", re.ASCII)

_NO_PORTS: dict[tuple[str, str], int] = {}


class EndpointPod(msgspec.Struct, gc=False, eq=False):
    """
    A pod as services see it. Not to be changed: all services that select the pod share it.

    :param ipv4: its addresses of that family, in the form in which they are written; :param ipv6: likewise
    :param primary_ipv6: whether its primary address, the one in ``podIP``, is an IPv6 address
    :param has_ip: whether it has any address, readable or not
    :param ready_changed: when its readiness changed last, whatever it is
    :param named_ports: container ports by name and protocol
    """

    key: str
    namespace: str
    name: str
    uid: str
    labels: dict[str, str]
    node_name: str
    hostname: str
    subdomain: str
    ipv4: tuple[str, ...]
    ipv6: tuple[str, ...]
    primary_ipv6: bool
    has_ip: bool
    ready: bool
    ready_changed: datetime | None
    terminal: bool
    deleting: bool
    named_ports: dict[tuple[str, str], int]
    #: What a reference to it says besides its name: kind, uid, and the two things that it does not say.
    target: tuple[str, str, str, str]
    #: What :meth:`address` made last.
    _address: V1EndpointAddress | None = None

    def address(self, ip: str) -> V1EndpointAddress:
        """It at that address, without a hostname. The same object each time: shared, and not to be changed."""
        address = self._address
        if address is None or address.ip != ip:
            self._address = address = self.new_address(ip)
        return address

    def new_address(self, ip: str, hostname: str | None = None) -> V1EndpointAddress:
        """It at that address."""
        target = V1ObjectReference(kind="Pod", namespace=self.namespace, name=self.name, uid=self.uid)
        return V1EndpointAddress(ip=ip, hostname=hostname, node_name=self.node_name or None, target_ref=target)


class EndpointPods:
    """
    The pods of one informer, each version read once, for all whom the informer tells of them.

    It is asked in the informer's handlers only, and not from other threads.
    """

    def __init__(self) -> None:
        self._read: dict[str, tuple[V1Pod, EndpointPod]] = {}

    @classmethod
    def of(cls, informer: SharedIndexInformer[V1Pod]) -> EndpointPods:
        """The same for everybody who asks with this informer."""
        found = _of_informers.get(informer)
        if found is None:
            found = _of_informers[informer] = cls()
        return found

    def read(self, pod: V1Pod) -> EndpointPod:
        """The pod, read."""
        uid = pod.metadata.uid or ""
        known = self._read.get(uid)
        # That very object: who is told later may be told of a version that others have left behind.
        if known is not None and known[0] is pod:
            return known[1]
        now = endpoint_pod(pod)
        self._read[uid] = pod, now
        return now

    def forget(self, pod: EndpointPod) -> None:
        """It is gone."""
        self._read.pop(pod.uid, None)


_of_informers: WeakKeyDictionary[SharedIndexInformer[V1Pod], EndpointPods] = WeakKeyDictionary()


class _Port(msgspec.Struct, rename="camel", gc=False):
    container_port: int
    name: str | None = None
    protocol: str | None = None


class _Container(msgspec.Struct, rename="camel", gc=False):
    ports: list[_Port] | None = None
    restart_policy: str | None = None


class _Spec(msgspec.Struct, rename="camel", gc=False):
    """What is read of a pod's spec: the rest of it stays the server's bytes, of which it is the larger part."""

    node_name: str | None = None
    hostname: str | None = None
    subdomain: str | None = None
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None


_spec_of = partly(V1Pod, "spec", _Spec)


def endpoint_pod(pod: V1Pod) -> EndpointPod:
    """Read a pod."""
    meta, spec, status = pod.metadata, _spec_of(pod), pod.status
    ipv4: list[str] = []
    ipv6: list[str] = []
    has_ip = primary_ipv6 = False
    if status is not None:
        has_ip = bool(status.pod_ip or status.pod_ips)
        primary_ipv6 = is_ipv6(status.pod_ip or "")
        for each in status.pod_ips or ():
            ip = canonical_ip(each.ip or "")
            if ip:
                (ipv6 if ":" in ip else ipv4).append(ip)
    condition = ready_condition(pod)
    namespace, name = meta.namespace or "", meta.name or ""
    return EndpointPod(
        key=f"{namespace}/{name}",
        namespace=namespace,
        name=name,
        uid=meta.uid or "",
        labels=meta.labels or {},
        node_name=(spec and spec.node_name) or "",
        hostname=(spec and spec.hostname) or "",
        subdomain=(spec and spec.subdomain) or "",
        ipv4=tuple(ipv4),
        ipv6=tuple(ipv6),
        primary_ipv6=primary_ipv6,
        has_ip=has_ip,
        ready=condition is not None and condition.status == "True",
        ready_changed=condition.last_transition_time if condition is not None else None,
        terminal=is_pod_terminal(pod),
        deleting=bool(meta.deletion_timestamp),
        named_ports=_named_ports(spec),
        target=("Pod", meta.uid or "", "", ""),
    )


def differs(before: EndpointPod, now: EndpointPod) -> bool:
    """
    Whether services that select the pod all the time have to hear of the change.

    Kubernetes looks at readiness, addresses and deletion. Whether the pod has ended is looked at here as well: one that
    was never ready and fails would otherwise stay among the not-ready addresses until something else happens.
    """
    return (
        before.ready != now.ready
        or before.deleting != now.deleting
        or before.terminal != now.terminal
        or before.ipv4 != now.ipv4
        or before.ipv6 != now.ipv6
        or before.primary_ipv6 != now.primary_ipv6
        or before.has_ip != now.has_ip
        or before.hostname != now.hostname
        or before.subdomain != now.subdomain
        or before.node_name != now.node_name
        or before.uid != now.uid
    )


def canonical_ip(text: str) -> str:
    """An address in the one form that it is written in; ``""`` if it is none. Leading zeros in IPv4 are forgiven."""
    if ":" not in text:
        if _PLAIN_IPV4.fullmatch(text):
            return text
        text = _LEADING_ZEROS.sub("", text)
        return text if _PLAIN_IPV4.fullmatch(text) else ""
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return ""
    # Go has no other notion of such an address than the one inside.
    return str(address.ipv4_mapped or address)


def is_ipv6(text: str) -> bool:
    return ":" in text and ":" in canonical_ip(text)


def _named_ports(spec: Any) -> dict[tuple[str, str], int]:
    if spec is None:
        return _NO_PORTS
    ports: dict[tuple[str, str], int] = {}
    for container in spec.containers or ():
        if container.ports:
            _add_ports(ports, container.ports)
    for container in spec.init_containers or ():
        # A sidecar, which runs beside the others; other init containers are gone by the time that anybody calls.
        if container.ports and container.restart_policy == "Always":
            _add_ports(ports, container.ports)
    return ports or _NO_PORTS


def _add_ports(ports: dict[tuple[str, str], int], declared: Any) -> None:
    for port in declared:
        if port.name:
            ports.setdefault((port.name, port.protocol or "TCP"), port.container_port)
