"""EndpointPod: what of a pod matters to services, and nothing else of it.

A service of thousands of pods is synced each time that one of them changes. So a pod is read once, when it changes,
into this form; a sync looks at nothing else. Whether a change matters is whether the form is another one.
"""

from __future__ import annotations

import ipaddress
import re
from datetime import datetime

import msgspec

from kinformer.models import V1Container, V1EndpointAddress, V1ObjectReference, V1Pod
from kinformer_controllers.shared.owning.status import is_pod_terminal, ready_condition

__all__ = ("EndpointPod", "canonical_ip", "differs", "endpoint_pod", "is_ipv6")

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


def endpoint_pod(pod: V1Pod) -> EndpointPod:
    """Read a pod."""
    meta, spec, status = pod.metadata, pod.spec, pod.status
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
        named_ports=_named_ports(pod),
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
        text = text if _PLAIN_IPV4.fullmatch(text) else _LEADING_ZEROS.sub("", text)
        return text if _PLAIN_IPV4.fullmatch(text) else ""
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return ""
    # Go has no other notion of such an address than the one inside.
    return str(address.ipv4_mapped or address)


def is_ipv6(text: str) -> bool:
    return ":" in canonical_ip(text)


def _named_ports(pod: V1Pod) -> dict[tuple[str, str], int]:
    if pod.spec is None:
        return _NO_PORTS
    ports: dict[tuple[str, str], int] = {}
    for container in pod.spec.containers or ():
        _add_ports(ports, container)
    for container in pod.spec.init_containers or ():
        # A sidecar, which runs beside the others; other init containers are gone by the time that anybody calls.
        if container.restart_policy == "Always":
            _add_ports(ports, container)
    return ports or _NO_PORTS


def _add_ports(ports: dict[tuple[str, str], int], container: V1Container) -> None:
    for port in container.ports or ():
        if port.name:
            ports.setdefault((port.name, port.protocol or "TCP"), port.container_port)
