"""EndpointPod: the fields of a pod that matter to services.

A service with thousands of pods is synced each time that one of them changes. So a pod is read once, when it changes,
into an EndpointPod, and a sync reads only these. A change of a pod matters if its EndpointPod is different afterwards.
The controllers of Endpoints and EndpointSlices get the same pods from one informer; the second one uses the EndpointPod
that the first one has read (:class:`EndpointPods`).
"""

from __future__ import annotations

import ipaddress
import re
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from kinformer.cache import SharedIndexInformer
from kinformer.controllerutil.pods import is_pod_terminal, ready_condition
from kinformer.models import V1EndpointAddress, V1ObjectReference, V1Pod
from kinformer_controllers.shared.partly import partly

__all__ = ("EndpointPod", "EndpointPods", "canonical_ip", "differs", "endpoint_pod", "is_ipv6")

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_PLAIN_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}", re.ASCII)
_LEADING_ZEROS = re.compile(r"\b0+(?=\d)", re.ASCII)

_NO_PORTS: dict[tuple[str, str], int] = {}


# More than 15 fields: a record of what is read of a pod, flat because there is one for each pod.
class EndpointPod(msgspec.Struct, gc=False, eq=False):
    """
    The fields of a pod that matter to services. It must not be changed: all services that select the pod share it.

    :param ipv4: its IPv4 addresses, in canonical form
    :param ipv6: its IPv6 addresses, in canonical form
    :param primary_ipv6: whether its primary address, the one in ``podIP``, is an IPv6 address
    :param has_ip: whether it has any address, valid or not
    :param ready_changed: when its Ready condition last changed, to true or to false
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
    #: The fields of a reference to it besides its name: kind, uid, and two empty ones.
    target: tuple[str, str, str, str]
    #: The last result of :meth:`address`.
    _address: V1EndpointAddress | None = None

    def address(self, ip: str) -> V1EndpointAddress:
        """Return the pod's address, without a hostname. The result is shared and must not be changed."""
        address = self._address
        if address is None or address.ip != ip:
            self._address = address = self.new_address(ip)
        return address

    def new_address(self, ip: str, hostname: str | None = None) -> V1EndpointAddress:
        """Make the pod's address."""
        target = V1ObjectReference(kind="Pod", namespace=self.namespace, name=self.name, uid=self.uid)
        return V1EndpointAddress(ip=ip, hostname=hostname, node_name=self.node_name or None, target_ref=target)


class EndpointPods:
    """
    The pods of one informer. Each version of a pod is read once for all handlers of the informer.

    Only the informer's handlers use it, in the thread of the event loop.
    """

    def __init__(self) -> None:
        self._read: dict[str, tuple[V1Pod, EndpointPod]] = {}

    @classmethod
    def of(cls, informer: SharedIndexInformer[V1Pod]) -> EndpointPods:
        """Return the instance of an informer: the same for all its users."""
        found = _of_informers.get(informer)
        if found is None:
            found = _of_informers[informer] = cls()
            informer.decode_early("status")
        return found

    def read(self, pod: V1Pod) -> EndpointPod:
        """Return the EndpointPod of a pod."""
        uid = pod.metadata.uid or ""
        known = self._read.get(uid)
        # The same object, not only the same pod: a slower handler may get an older version than another handler had.
        if known is not None and known[0] is pod:
            return known[1]
        now = endpoint_pod(pod)
        self._read[uid] = pod, now
        return now

    def forget(self, pod: EndpointPod) -> None:
        """Forget a pod that was deleted."""
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
    """The fields that are read of a pod's spec. The rest, which is the larger part, is not decoded."""

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
    Whether the change matters to services that select the pod before and after it.

    Kubernetes compares readiness, addresses and deletion. Here it is also compared whether the pod has ended. Otherwise
    a pod that fails and was never ready would stay among the not-ready addresses until another change.
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
    """
    Return an IP address in canonical form; ``""`` if it is invalid, or has a zone. Leading zeros in IPv4 are removed.
    """
    if ":" not in text:
        if _PLAIN_IPV4.fullmatch(text):
            return text
        text = _LEADING_ZEROS.sub("", text)
        return text if _PLAIN_IPV4.fullmatch(text) else ""
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return ""
    if address.scope_id is not None:
        return ""
    # As in Go, an IPv4-mapped IPv6 address is an IPv4 address.
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
        # Sidecars only: other init containers have ended before the pod is ready.
        if container.ports and container.restart_policy == "Always":
            _add_ports(ports, container.ports)
    return ports or _NO_PORTS


def _add_ports(ports: dict[tuple[str, str], int], declared: Any) -> None:
    for port in declared:
        if port.name:
            ports.setdefault((port.name, port.protocol or "TCP"), port.container_port)
