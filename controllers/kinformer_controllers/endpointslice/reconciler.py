"""The reconciler: one service's slices, from what is there to what should be.

Slices are told apart by address type and by ports: pods that answer at other ports for the same service are in slices
of their own. Within each such set, :mod:`~kinformer_controllers.endpointslice.placement` says what goes where.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kinformer.client import NotFound, Resource
from kinformer.logs import get_logger
from kinformer.manager import SyncError
from kinformer.meta import GroupResource, GroupVersionKind, new_controller_ref
from kinformer.models import V1EndpointSlice, V1ObjectMeta, V1Service
from kinformer_controllers.endpointslice.endpoints import (
    NO_HINTS,
    EndpointState,
    Identity,
    PortsKey,
    SliceView,
    make_endpoint,
    make_ports,
    ports_key,
)
from kinformer_controllers.endpointslice.labels import needs_labels, wanted_labels
from kinformer_controllers.endpointslice.metrics import SliceMetrics
from kinformer_controllers.endpointslice.nodes import Nodes
from kinformer_controllers.endpointslice.placement import Placed, place
from kinformer_controllers.endpointslice.tracker import SliceTracker
from kinformer_controllers.endpointslice.traffic import hints_for, traffic_distribution
from kinformer_controllers.shared.owning.identity import OwnerId
from kinformer_controllers.shared.services.pod import EndpointPod, is_ipv6
from kinformer_controllers.shared.services.service import (
    TRIGGER_TIME_ANNOTATION,
    has_cluster_ip,
    port_resolver,
)
from kinformer_controllers.shared.services.trigger_time import format_trigger_time
from kinformer_controllers.shared.waiting.consistency import ConsistencyStore
from kinformer_controllers.shared.writing.names import generated_name_prefix
from kinformer_controllers.shared.writing.pods import is_namespace_terminating

__all__ = ("SLICES", "Reconciler", "address_types")

log = get_logger(__name__)

SLICES = GroupResource("discovery.k8s.io", "endpointslices")

_SERVICE = GroupVersionKind("", "v1", "Service")


@dataclass(eq=False, slots=True)
class _Changes:
    """What to write, of one address type."""

    create: list[V1EndpointSlice] = field(default_factory=list)
    update: list[V1EndpointSlice] = field(default_factory=list)
    delete: list[V1EndpointSlice] = field(default_factory=list)


class Reconciler:
    """
    :param slices: where to write
    :param nodes: the nodes that there are
    :param tracker: is told of every write, and so is `seen`
    """

    def __init__(
        self,
        slices: Resource[V1EndpointSlice],
        nodes: Nodes,
        tracker: SliceTracker,
        seen: ConsistencyStore,
        metrics: SliceMetrics,
        max_per_slice: int,
    ) -> None:
        self._slices = slices
        self._nodes = nodes
        self._tracker = tracker
        self._seen = seen
        self._metrics = metrics
        self._max_per_slice = max_per_slice

    async def reconcile(
        self,
        key: str,
        service: V1Service,
        pods: Collection[EndpointPod],
        existing: Sequence[SliceView],
        triggered: datetime | None,
    ) -> None:
        """
        Write what has to be written.

        :param existing: the service's slices that this controller looks after and nobody is deleting
        :raises ExceptionGroup: of whatever went wrong; what could be done is done
        """
        types = address_types(service)
        # All is worked out before anything is written: the pods are a view of what is there now.
        plans: list[_Changes] = []
        errors: list[Exception] = []
        unknown: dict[str, None] = {}
        distribution = traffic_distribution(service)
        self._metrics.distribution(key, distribution)
        for address_type in types:
            of_type = [view for view in existing if view.slice.address_type == address_type]
            changes, missing = self._plan(key, service, pods, of_type, address_type, distribution)
            plans.append(changes)
            unknown.update(dict.fromkeys(pod.node_name for pod in missing))
            if missing:
                others = f" (and {len(missing) - 1} others)" if len(missing) > 1 else ""
                pod = missing[0]
                errors.append(
                    SyncError(f"skipping Pod {pod.name}{others} for Service {key}: Node {pod.node_name} Not Found")
                )
        self._nodes.wait_for(key, unknown)
        # Of an address type that the service has no more.
        plans.append(_Changes(delete=[view.slice for view in existing if view.slice.address_type not in types]))
        owner = OwnerId(key, service.metadata.uid)
        for changes in plans:
            try:
                errors += await self._write(owner, service, changes, triggered, distribution)
            except Exception as error:  # the other address types are to be written
                errors.append(error)
        if errors:
            raise ExceptionGroup(f"slices of {key}", errors)

    def _plan(
        self,
        key: str,
        service: V1Service,
        pods: Iterable[EndpointPod],
        existing: list[SliceView],
        address_type: str,
        distribution: str,
    ) -> tuple[_Changes, list[EndpointPod]]:
        """:return: what to do, and the pods that were left out because nobody knows their node"""
        changes = _Changes()
        by_ports: dict[PortsKey, list[SliceView]] = {}
        for view in existing:
            if _owned_by(view.slice, service):
                by_ports.setdefault(view.ports, []).append(view)
            else:  # an earlier service's of that name; on its way out
                changes.delete.append(view.slice)
        desired, missing = self._desired(key, service, pods, address_type, distribution)
        labels = wanted_labels(service)
        added = removed = 0
        counts: dict[PortsKey, tuple[int, int]] = {}
        for ports, endpoints in desired.items():
            there = by_ports.pop(ports, [])
            count = len(endpoints)
            relabelled = {view.name for view in there if needs_labels(view.slice, service)}
            placement = place(there, endpoints, self._max_per_slice, relabelled)
            added += placement.added
            removed += placement.removed
            counts[ports] = (count, len(there) + len(placement.create) - len(placement.delete))
            changes.create += [_new_slice(service, labels, address_type, ports, placed) for placed in placement.create]
            changes.update += [_updated(view, labels, placed) for view, placed in placement.update]
            changes.delete += [view.slice for view in placement.delete]
        # Of ports that no pod has any more.
        for unwanted in by_ports.values():
            changes.delete += [view.slice for view in unwanted]
        if len(changes.delete) == len(existing) and not changes.create:
            # One stays, with nothing in it: whoever looks is to see that there are no endpoints, not that nobody knows.
            counts[()] = (0, 1)
            if len(existing) == 1 and _is_placeholder(existing[0], service, labels):
                changes.delete.clear()
            else:
                changes.create.append(_new_slice(service, labels, address_type, (), []))
        _reuse(changes, service)
        self._metrics.placed(added, removed)
        self._metrics.counts(key, address_type, counts)
        return changes, missing

    def _desired(
        self, key: str, service: V1Service, pods: Iterable[EndpointPod], address_type: str, distribution: str
    ) -> tuple[dict[PortsKey, dict[Identity, EndpointState]], list[EndpointPod]]:
        publish_all = bool(service.spec.publish_not_ready_addresses)
        ports_of, ipv6 = port_resolver(service), address_type == "IPv6"
        service_name = service.metadata.name
        desired: dict[PortsKey, dict[Identity, EndpointState]] = {}
        missing: list[EndpointPod] = []
        zones: dict[str, str | None] = {}
        resolved: object = None
        endpoints: dict[Identity, EndpointState] = {}
        # This is gone through for every pod of a service each time that one of them changes: 2 µs for each.
        for pod in pods:
            if not pod.has_ip or pod.terminal:
                continue
            ports = ports_of(pod)
            if ports is not resolved:
                resolved = ports
                endpoints = desired.setdefault(ports_key(ports), {})
            node_name = pod.node_name
            if node_name not in zones:
                zones[node_name] = self._nodes.zone_of(node_name)
            zone = zones[node_name]
            if zone is None and not publish_all:
                missing.append(pod)
                continue
            addresses = pod.ipv6 if ipv6 else pod.ipv4
            if not addresses:
                continue
            if len(addresses) > 1:
                addresses = tuple(sorted(addresses))
            hostname = pod.hostname if pod.subdomain == service_name else ""
            ready = publish_all or (pod.ready and not pod.deleting)
            hints = hints_for(distribution, ready, zone or "", node_name) if distribution else NO_HINTS
            endpoints[addresses, hostname, pod.namespace, pod.name] = EndpointState(
                node_name, zone or "", ready, pod.ready, pod.deleting, pod.target, hints
            )
        return desired, missing

    async def _write(
        self, owner: OwnerId, service: V1Service, changes: _Changes, triggered: datetime | None, distribution: str
    ) -> list[Exception]:
        """
        Write the changes of one address type.

        :return: what went wrong with deletes: the others are tried all the same, since none depends on another
        :raises ClientError: the first create or update that the server refuses; what would come after it is not tried
        """
        # The slices of a service that is being deleted are the garbage collector's: no new ones for it to find.
        if service.metadata.deletion_timestamp is not None:
            changes.create.clear()
        for slice_ in changes.create:
            _annotate(slice_, triggered)
            try:
                created = await self._slices.create(slice_)
            except Exception as error:
                if is_namespace_terminating(error):
                    return []  # no other can be made there either, and nobody minds
                raise
            self._wrote(owner, created)
            self._metrics.changed("create")
        for slice_ in changes.update:
            _annotate(slice_, triggered)
            self._wrote(owner, await self._slices.update(slice_))
            self._metrics.changed("update")
        errors: list[Exception] = []
        for slice_ in changes.delete:
            try:
                with self._tracker.deleting(slice_):
                    await self._delete(owner, slice_.metadata)
            except Exception as error:
                errors.append(error)
            else:
                self._metrics.changed("delete")
        if not errors:
            self._metrics.wrote(len(changes.create) + len(changes.update) + len(changes.delete), distribution)
        return errors

    def _wrote(self, owner: OwnerId, slice_: V1EndpointSlice) -> None:
        self._tracker.written(slice_)
        self._seen.wrote_object(owner, SLICES, slice_)

    async def _delete(self, owner: OwnerId, meta: V1ObjectMeta) -> None:
        try:
            await self._slices.delete(meta.name, meta.namespace)
        except NotFound:
            log.debug("slice_already_deleted", slice=f"{meta.namespace}/{meta.name}")
        self._seen.deleted(owner, SLICES, f"{meta.namespace}/{meta.name}", meta.uid)


def address_types(service: V1Service) -> tuple[str, ...]:
    """
    The types of which a service has slices: its families.

    One from before there were families has that of its IP; if it has no IP, both, rather than lose the slices that it
    has until the server fills them in.
    """
    families = dict.fromkeys(family for family in service.spec.ip_families or () if family in ("IPv4", "IPv6"))
    if families:
        return tuple(families)
    if has_cluster_ip(service):
        return ("IPv6",) if is_ipv6(service.spec.cluster_ip or "") else ("IPv4",)
    return ("IPv4", "IPv6")


def _owned_by(slice_: V1EndpointSlice, service: V1Service) -> bool:
    return any(
        owner.uid == service.metadata.uid and owner.kind == "Service" and owner.api_version == "v1"
        for owner in slice_.metadata.owner_references or ()
    )


def _new_slice(
    service: V1Service, labels: dict[str, str], address_type: str, ports: PortsKey, placed: Placed
) -> V1EndpointSlice:
    meta = service.metadata
    return V1EndpointSlice(
        api_version="discovery.k8s.io/v1",
        kind="EndpointSlice",
        metadata=V1ObjectMeta(
            generate_name=generated_name_prefix(meta.name),
            namespace=meta.namespace,
            labels=labels,
            owner_references=[new_controller_ref(service, _SERVICE)],
        ),
        address_type=address_type,
        endpoints=[make_endpoint(*each) for each in placed] or None,
        ports=make_ports(ports) or None,
    )


def _updated(view: SliceView, labels: dict[str, str], placed: Placed) -> V1EndpointSlice:
    slice_ = copy.copy(view.slice)
    slice_.metadata = copy.copy(view.slice.metadata)
    slice_.metadata.labels = labels
    slice_.endpoints = [make_endpoint(*each) for each in placed]
    return slice_


def _is_placeholder(view: SliceView, service: V1Service, labels: dict[str, str]) -> bool:
    """Whether it is just the one that would be made."""
    return (
        not view.endpoints
        and not view.ports
        and view.slice.metadata.labels == labels
        and _owned_by(view.slice, service)
    )


def _reuse(changes: _Changes, service: V1Service) -> None:
    """Where a slice is to be deleted and another to be made, write the one over the other: one write, not two."""
    kept: list[V1EndpointSlice] = []
    for doomed in changes.delete:
        # A slice of an earlier service of that name is about to be collected; so would be what is written over it.
        if changes.create and _owned_by(doomed, service):
            slice_ = changes.create.pop()
            slice_.metadata.name = doomed.metadata.name
            slice_.metadata.resource_version = doomed.metadata.resource_version
            changes.update.append(slice_)
        else:
            kept.append(doomed)
    changes.delete = kept


def _annotate(slice_: V1EndpointSlice, triggered: datetime | None) -> None:
    annotations = dict(slice_.metadata.annotations or {})
    annotations.pop(TRIGGER_TIME_ANNOTATION, None)
    if triggered is not None:
        annotations[TRIGGER_TIME_ANNOTATION] = format_trigger_time(triggered)
    slice_.metadata.annotations = annotations
