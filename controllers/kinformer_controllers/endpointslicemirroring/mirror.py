"""Planning the EndpointSlices that mirror an Endpoints object.

In: Endpoints, their existing slices, and the largest number of addresses in a subset that are mirrored. Out: slices to
create, to update and to delete. There is one slice for each set of ports and each address family. Promised: a slice
that is correct is not written; a deletion and a creation are combined into one update if possible.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kinformer.controllerutil.pod_control import generated_name_prefix
from kinformer.leaderelection import TERM_ANNOTATION
from kinformer.meta import GroupVersionKind, new_controller_ref
from kinformer.models import (
    DiscoveryV1EndpointPort,
    V1Endpoint,
    V1EndpointAddress,
    V1EndpointConditions,
    V1Endpoints,
    V1EndpointSlice,
    V1ObjectMeta,
)
from kinformer_controllers.shared.services.pod import canonical_ip
from kinformer_controllers.shared.services.repacking import repack

__all__ = ("MANAGED_BY", "MANAGER", "SERVICE_NAME", "Mirror", "is_mirrored_slice", "mirror", "should_mirror")

SERVICE_NAME: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
MANAGER: Final = "endpointslicemirroring-controller.k8s.io"
_SKIP: Final = "endpointslice.kubernetes.io/skip-mirror"
_LEADER: Final = "control-plane.alpha.kubernetes.io/leader"
#: Annotations that are about the Endpoints object itself, and are not copied.
_NOT_MIRRORED: Final = (
    "endpoints.kubernetes.io/last-change-trigger-time",
    "kubectl.kubernetes.io/last-applied-configuration",
    TERM_ANNOTATION,
)
_ENDPOINTS: Final = GroupVersionKind("", "v1", "Endpoints")

_Ports = tuple[tuple[str, int, str, str], ...]
_Key = tuple[str, _Ports]


@dataclass(slots=True)
class Mirror:
    """
    The plan.

    :param invalid: the number of invalid addresses
    :param skipped: the number of addresses that are not mirrored, including the invalid ones
    :param added: how many endpoints are new; `updated`, `removed`: how many are changed, or go
    :param sizes: for each set of ports and each family: the number of endpoints, and the number of slices for them
    """

    create: list[V1EndpointSlice] = field(default_factory=list)
    update: list[V1EndpointSlice] = field(default_factory=list)
    delete: list[V1EndpointSlice] = field(default_factory=list)
    invalid: int = 0
    skipped: int = 0
    added: int = 0
    updated: int = 0
    removed: int = 0
    sizes: list[tuple[int, int]] = field(default_factory=list)


def should_mirror(endpoints: V1Endpoints) -> bool:
    """Whether Endpoints are mirrored. They are not if a label forbids it, or if they are a leader election lock."""
    meta = endpoints.metadata
    return (meta.labels or {}).get(_SKIP) != "true" and _LEADER not in (meta.annotations or {})


def is_mirrored_slice(slice_: V1EndpointSlice) -> bool:
    """Whether a slice mirrors Endpoints."""
    return (slice_.metadata.labels or {}).get(MANAGED_BY) == MANAGER


def mirror(endpoints: V1Endpoints, there: Iterable[V1EndpointSlice], most: int) -> Mirror:
    """Plan the writes after which the slices mirror the Endpoints."""
    result, desired = Mirror(), _desired(endpoints, most)
    result.invalid, result.skipped = desired.invalid, desired.skipped
    existing: dict[_Key, list[V1EndpointSlice]] = {}
    for slice_ in sorted(there, key=lambda it: it.metadata.name):
        existing.setdefault((slice_.address_type, _ports_of(slice_)), []).append(slice_)
    for key, wanted in desired.by_key.items():
        slices = existing.pop(key, [])
        result.delete += slices[1:] if wanted else slices
        result.sizes.append((len(wanted), 1 if wanted else 0))
        _count(result, slices, wanted)
        if not wanted:
            continue
        slice_ = _slice(endpoints, key, list(wanted.values())[:most])
        if not slices:
            result.create.append(slice_)
        elif not _says_the_same(slices[0], slice_):
            result.update.append(_over(slices[0], slice_))
    result.delete += [slice_ for slices in existing.values() for slice_ in slices]
    _reuse(result)
    return result


def _count(result: Mirror, slices: list[V1EndpointSlice], wanted: Mapping[Any, V1Endpoint]) -> None:
    """Count the changes of endpoints, as Kubernetes does: by the first slice, or by all slices that go."""
    if not wanted:
        result.removed += sum(len(slice_.endpoints or ()) for slice_ in slices)
        return
    before, after = _comparable(slices[0].endpoints if slices else ()), _comparable(wanted.values())
    result.added += len(after.keys() - before.keys())
    result.removed += len(before.keys() - after.keys())
    result.updated += sum(before[identity] != after[identity] for identity in after.keys() & before.keys())


@dataclass(slots=True)
class _Desired:
    by_key: dict[_Key, dict[Any, V1Endpoint]] = field(default_factory=dict)
    invalid: int = 0
    skipped: int = 0


def _desired(endpoints: V1Endpoints, most: int) -> _Desired:
    desired = _Desired()
    for subset in repack(endpoints.subsets or ()):
        ports = _port_key(subset.ports or ())
        for family in ("IPv4", "IPv6"):
            desired.by_key.setdefault((family, ports), {})
        added = 0
        for addresses, ready in ((subset.addresses or (), True), (subset.not_ready_addresses or (), False)):
            for address in addresses:
                if added >= most:
                    desired.skipped += 1
                    continue
                found = _endpoint(address, ready)
                if found is None:
                    desired.invalid += 1
                    desired.skipped += 1
                    continue
                family, endpoint = found
                desired.by_key[family, ports].setdefault(_identity(endpoint), endpoint)
                added += 1
    return desired


def _endpoint(address: V1EndpointAddress, ready: bool) -> tuple[str, V1Endpoint] | None:
    """Return the family of an address, and its endpoint; None if the address is invalid."""
    if not (ip := canonical_ip(address.ip or "")):
        return None
    endpoint = V1Endpoint(
        addresses=[ip],
        conditions=V1EndpointConditions(ready=ready),
        target_ref=address.target_ref,
        node_name=address.node_name,
        hostname=address.hostname or None,
    )
    return "IPv6" if ":" in ip else "IPv4", endpoint


def _identity(endpoint: V1Endpoint) -> Any:
    """Return the identity of an endpoint. Its address alone is not enough: several pods may have the same one."""
    target = endpoint.target_ref
    name = (target.namespace or "", target.name or "") if target is not None else ("", "")
    return tuple(sorted(endpoint.addresses)), endpoint.hostname or "", *name


def _slice(endpoints: V1Endpoints, key: _Key, wanted: list[V1Endpoint]) -> V1EndpointSlice:
    meta, (family, ports) = endpoints.metadata, key
    annotations = {name: value for name, value in (meta.annotations or {}).items() if name not in _NOT_MIRRORED}
    return V1EndpointSlice(
        api_version="discovery.k8s.io/v1",
        kind="EndpointSlice",
        metadata=V1ObjectMeta(
            generate_name=generated_name_prefix(meta.name),
            namespace=meta.namespace,
            labels={**(meta.labels or {}), SERVICE_NAME: meta.name, MANAGED_BY: MANAGER},
            annotations=annotations or None,
            owner_references=[new_controller_ref(endpoints, _ENDPOINTS)],
        ),
        address_type=family,
        endpoints=wanted,
        ports=[
            DiscoveryV1EndpointPort(name=name, port=port, protocol=protocol, app_protocol=app or None)
            for name, port, protocol, app in ports
        ]
        or None,
    )


def _says_the_same(current: V1EndpointSlice, wanted: V1EndpointSlice) -> bool:
    here, there = current.metadata, wanted.metadata
    if (here.labels or {}) != (there.labels or {}) or (here.annotations or {}) != (there.annotations or {}):
        return False
    (owner,) = there.owner_references or []
    # As in Kubernetes: only a reference to earlier Endpoints of this name counts. A missing one is not put back.
    if any(
        (it.kind, it.name) == (owner.kind, owner.name) and it.uid != owner.uid for it in here.owner_references or ()
    ):
        return False
    return _comparable(current.endpoints) == _comparable(wanted.endpoints)


def _comparable(endpoints: Iterable[V1Endpoint] | None) -> Mapping[Any, Any]:
    """Return what is compared of endpoints besides their identity: Kubernetes' EndpointsEqualBeyondHash()."""
    return {_identity(each): _details(each) for each in endpoints or ()}


def _details(endpoint: V1Endpoint) -> tuple[Any, ...]:
    conditions, target = endpoint.conditions or V1EndpointConditions(), endpoint.target_ref
    # The version of the target does not count, because it changes with each of its heartbeats.
    fields = target and tuple(value or "" for value in (target.kind, target.api_version, target.uid, target.field_path))
    states = conditions.ready, conditions.serving, conditions.terminating
    return *states, endpoint.node_name, endpoint.zone, fields


def _over(current: V1EndpointSlice, wanted: V1EndpointSlice) -> V1EndpointSlice:
    """Return the wanted slice with the name and version of an existing slice, for an update."""
    slice_ = copy.copy(wanted)
    slice_.metadata = copy.copy(wanted.metadata)
    slice_.metadata.generate_name = None
    slice_.metadata.name = current.metadata.name
    slice_.metadata.resource_version = current.metadata.resource_version
    return slice_


def _reuse(result: Mirror) -> None:
    """Replace pairs of a deletion and a creation by an update: one write instead of two."""
    for doomed in list(result.delete):
        new = next((it for it in result.create if it.address_type == doomed.address_type), None)
        if new is not None:
            result.create.remove(new)
            result.delete.remove(doomed)
            reused = _over(doomed, new)
            # As in Kubernetes: only a slice that gets other ports keeps the prefix of its name.
            reused.metadata.generate_name = new.metadata.generate_name
            result.update.append(reused)


def _port_key(ports: Iterable[Any]) -> _Ports:
    return tuple(sorted((it.name or "", it.port or 0, it.protocol or "TCP", it.app_protocol or "") for it in ports))


def _ports_of(slice_: V1EndpointSlice) -> _Ports:
    return _port_key(slice_.ports or ())
