"""The endpoints of slices in a form that is cheap to compare: an identity and a state.

The identity of an endpoint is its addresses, its hostname and its pod. Its state may change while it stays in the same
slice. Existing slices are read into this form once for each change, pods in each sync. Models are made only for slices
that are written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kinformer.models import (
    DiscoveryV1EndpointPort,
    V1Endpoint,
    V1EndpointConditions,
    V1EndpointHints,
    V1EndpointSlice,
    V1ForNode,
    V1ForZone,
    V1ObjectReference,
)
from kinformer_controllers.shared.services.service import ResolvedPort

__all__ = (
    "NO_HINTS",
    "EndpointState",
    "Hints",
    "Identity",
    "PortsKey",
    "SliceView",
    "SliceViews",
    "make_endpoint",
    "make_ports",
    "ports_key",
)

#: The sorted addresses, the hostname, and the namespace and name of the pod.
Identity = tuple[tuple[str, ...], str, str, str]
#: The sorted ports of a slice, which are the same for all its endpoints.
PortsKey = tuple[ResolvedPort, ...]

#: The zones and the nodes whose traffic should go to an endpoint.
Hints = tuple[tuple[str, ...], tuple[str, ...]]
NO_HINTS: Hints = ((), ())

#: The other fields of a reference to a pod: kind, uid, apiVersion, fieldPath, as in :attr:`EndpointPod.target`.
_Target = tuple[str, str, str, str]


class EndpointState(NamedTuple):
    """The state of an endpoint."""

    node_name: str
    zone: str
    #: These are None if another client wrote a slice without them.
    ready: bool | None
    serving: bool | None
    terminating: bool | None
    target: _Target
    hints: Hints


class SliceView(NamedTuple):
    """A slice from the cache, with its ports and endpoints in comparable form."""

    slice: V1EndpointSlice
    ports: PortsKey
    endpoints: list[tuple[Identity, EndpointState]]

    @property
    def name(self) -> str:
        name: str = self.slice.metadata.name
        return name


class SliceViews:
    """The views of the slices in the cache. Each slice is read once, by its event handler, so that syncs are fast."""

    def __init__(self) -> None:
        self._views: dict[str, SliceView] = {}

    def of(self, slice_: V1EndpointSlice) -> SliceView:
        """Return the view of a slice."""
        uid = slice_.metadata.uid
        view = self._views.get(uid)
        if view is None or view.slice is not slice_:
            self._views[uid] = view = _read_slice(slice_)
        return view

    def forget(self, slice_: V1EndpointSlice) -> None:
        """Forget a slice that was deleted."""
        self._views.pop(slice_.metadata.uid, None)


def _read_slice(slice_: V1EndpointSlice) -> SliceView:
    """Read a slice."""
    ports = ports_key(
        ResolvedPort(port.name or "", port.port or 0, port.protocol or "TCP", port.app_protocol)
        for port in slice_.ports or ()
    )
    return SliceView(slice_, ports, [_read(endpoint) for endpoint in slice_.endpoints or ()])


def ports_key(ports: Iterable[ResolvedPort]) -> PortsKey:
    """Sort the ports for a slice."""
    return tuple(sorted(ports, key=_port_order))


def make_endpoint(identity: Identity, state: EndpointState) -> V1Endpoint:
    """Make the API's model of an endpoint."""
    addresses, hostname, namespace, name = identity
    kind, uid, api_version, field_path = state.target
    target = None
    if kind or name:
        target = V1ObjectReference(
            kind=kind or None,
            namespace=namespace or None,
            name=name or None,
            uid=uid or None,
            api_version=api_version or None,
            field_path=field_path or None,
        )
    zones, nodes = state.hints
    hints = None
    if zones or nodes:
        hints = V1EndpointHints(
            for_zones=[V1ForZone(name=zone) for zone in zones] or None,
            for_nodes=[V1ForNode(name=node) for node in nodes] or None,
        )
    return V1Endpoint(
        addresses=list(addresses),
        conditions=V1EndpointConditions(ready=state.ready, serving=state.serving, terminating=state.terminating),
        hostname=hostname or None,
        node_name=state.node_name or None,
        zone=state.zone or None,
        target_ref=target,
        hints=hints,
    )


def make_ports(ports: PortsKey) -> list[DiscoveryV1EndpointPort]:
    """Make the API's models of ports."""
    return [
        DiscoveryV1EndpointPort(name=port.name, port=port.port, protocol=port.protocol, app_protocol=port.app_protocol)
        for port in ports
    ]


def _read(endpoint: V1Endpoint) -> tuple[Identity, EndpointState]:
    target, conditions, hints = endpoint.target_ref, endpoint.conditions, endpoint.hints
    addresses = endpoint.addresses
    key = tuple(addresses) if len(addresses) == 1 else tuple(sorted(addresses))
    identity = (key, endpoint.hostname or "", (target and target.namespace) or "", (target and target.name) or "")
    state = EndpointState(
        endpoint.node_name or "",
        endpoint.zone or "",
        conditions.ready if conditions is not None else None,
        conditions.serving if conditions is not None else None,
        conditions.terminating if conditions is not None else None,
        (target.kind or "", target.uid or "", target.api_version or "", target.field_path or "")
        if target is not None
        else ("", "", "", ""),
        NO_HINTS
        if hints is None
        else (
            tuple(zone.name for zone in hints.for_zones or ()),
            tuple(node.name for node in hints.for_nodes or ()),
        ),
    )
    return identity, state


def _port_order(port: ResolvedPort) -> tuple[str, int, str, str]:
    return port.name, port.port, port.protocol, port.app_protocol or ""
