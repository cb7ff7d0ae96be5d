"""The reconciler: computes and writes the slices of one service.

All endpoints in a slice have the same address type and the same ports. Pods with other port numbers for the same
service are in other slices. For each such group, :mod:`~kinformer_controllers.endpointslice.placement` places the
endpoints.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kinformer.client import ClientError, NotFound, Resource
from kinformer.controllerutil.pod_control import generated_name_prefix, is_namespace_terminating
from kinformer.logs import get_logger
from kinformer.manager import SyncError
from kinformer.meta import GroupVersionKind, new_controller_ref
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
from kinformer_controllers.endpointslice.metrics import SliceMetrics
from kinformer_controllers.endpointslice.placement import Placed, place
from kinformer_controllers.endpointslice.topology import Nodes, hints_for, traffic_distribution
from kinformer_controllers.endpointslice.tracking import SliceTracker, needs_labels, wanted_labels
from kinformer_controllers.endpointslice.zones import Notice, ZoneHints, asks_for_zone_hints, without_hints
from kinformer_controllers.shared.services.pod import EndpointPod, is_ipv6
from kinformer_controllers.shared.services.service import (
    TRIGGER_TIME_ANNOTATION,
    format_trigger_time,
    has_cluster_ip,
    port_resolver,
)

__all__ = ("Reconciler",)

log = get_logger(__name__)


_SERVICE = GroupVersionKind("", "v1", "Service")


@dataclass(eq=False, slots=True)
class _Changes:
    """The writes for one address type, and the Events after them."""

    create: list[V1EndpointSlice] = field(default_factory=list)
    update: list[V1EndpointSlice] = field(default_factory=list)
    delete: list[V1EndpointSlice] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Reconciler:
    """
    Writes the slices of services.

    :param slices: the client's access to EndpointSlices
    :param nodes: finds the zones of nodes
    :param zones: gives hints by the size of zones, to services that ask for them
    :param tracker: every write is noted in it
    :param max_per_slice: the largest number of endpoints in a slice
    :param record: records an Event about a service
    """

    slices: Resource[V1EndpointSlice]
    nodes: Nodes
    zones: ZoneHints
    tracker: SliceTracker
    metrics: SliceMetrics
    max_per_slice: int
    record: Callable[[V1Service, str, str, str], object]

    async def reconcile(
        self,
        key: str,
        service: V1Service,
        pods: Collection[EndpointPod],
        existing: Sequence[SliceView],
        triggered: datetime | None,
    ) -> None:
        """
        Create, update and delete slices as needed.

        :param existing: the service's slices that this controller manages and that are not being deleted
        :raises ExceptionGroup: with all errors; an error does not stop the other writes
        """
        types = _address_types(service)
        # Everything is planned before the first write, because `pods` is a view that may change during a write.
        plans: list[_Changes] = []
        errors: list[Exception] = []
        unknown: dict[str, None] = {}
        distribution = traffic_distribution(service)
        self.metrics.distribution(key, distribution)
        for address_type in types:
            of_type = [view for view in existing if view.slice.address_type == address_type]
            changes, missing = self._plan(key, service, pods, of_type, address_type, distribution)
            plans.append(changes)
            unknown.update(dict.fromkeys(pod.node_name for pod in missing))
            errors += [
                SyncError(f"skipping Pod {pod.name} for Service {key}: Node {pod.node_name} Not Found")
                for pod in missing
            ]
        self.nodes.wait_for(key, unknown)
        for changes in plans:
            try:
                errors += await self._write(key, service, changes, triggered, distribution)
            except Exception as error:  # of any type: the other address types must be written, too
                errors.append(error)
            for notice in changes.notices:
                self.record(service, *notice)
        # Slices of an address type that the service no longer has.
        unwanted = [view.slice for view in existing if view.slice.address_type not in types]
        for slice_ in unwanted:
            self.zones.forget(key, slice_.address_type)
        errors += await self._delete_all(unwanted, "error deleting {} EndpointSlice for Service {}", key)
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
        """Plan one address type. Returns the writes, and the pods that were left out because their node is missing."""
        changes = _Changes()
        by_ports: dict[PortsKey, list[SliceView]] = {}
        for view in existing:
            if _owned_by(view.slice, service):
                by_ports.setdefault(view.ports, []).append(view)
            else:  # it belongs to an earlier service with this name
                changes.delete.append(view.slice)
        desired, missing = self._desired(key, service, pods, address_type, distribution)
        by_zone = asks_for_zone_hints(service)
        labels = wanted_labels(service)
        added = removed = 0
        counts: dict[PortsKey, tuple[int, int]] = {}
        create: list[tuple[PortsKey, Placed]] = []
        update: list[tuple[SliceView, Placed]] = []
        for ports, endpoints in desired.items():
            there = by_ports.pop(ports, [])
            count = len(endpoints)
            relabelled = {view.name for view in there if needs_labels(view.slice, service)}
            compared = list(map(without_hints, there)) if by_zone else there
            placement = place(compared, endpoints, self.max_per_slice, relabelled)
            added += placement.added
            removed += placement.removed
            counts[ports] = (count, len(there) + len(placement.create) - len(placement.delete))
            create += [(ports, placed) for placed in placement.create]
            update += placement.update
            changes.delete += [view.slice for view in placement.delete]
        # Slices with ports that no pod has any more.
        for unwanted in by_ports.values():
            changes.delete += [view.slice for view in unwanted]
        if by_zone:
            done = {slice_.metadata.name for slice_ in changes.delete} | {view.name for view, _ in update}
            unchanged = [view for view in existing if view.name not in done]
            written = [placed for _, placed in (*create, *update)]
            rewritten, changes.notices = self.zones.give(key, address_type, written, unchanged)
            update += rewritten
        else:
            changes.notices = self.zones.forget(key, address_type)
        changes.create += [_new_slice(service, labels, address_type, *each) for each in create]
        changes.update += [_updated(view, labels, placed) for view, placed in update]
        if len(changes.delete) == len(existing) and not changes.create:
            # One empty slice stays. It shows that there are no endpoints; without a slice this would not be known.
            counts[()] = (0, 1)
            if len(existing) == 1 and _is_placeholder(existing[0], service, labels):
                changes.delete.clear()
            else:
                changes.create.append(_new_slice(service, labels, address_type, (), []))
        _reuse(changes, service)
        self.metrics.placed(added, removed)
        self.metrics.counts(key, address_type, counts)
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
        # This loop is hot: it runs over all pods of a service each time that one of them changes, 2 µs for each pod.
        for pod in pods:
            if not pod.has_ip or pod.terminal:
                continue
            ports = ports_of(pod)
            if ports is not resolved:
                resolved = ports
                endpoints = desired.setdefault(ports_key(ports), {})
            node_name = pod.node_name
            if node_name not in zones:
                zones[node_name] = self.nodes.zone_of(node_name)
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
        self, key: str, service: V1Service, changes: _Changes, triggered: datetime | None, distribution: str
    ) -> list[Exception]:
        """
        Write the changes of one address type.

        :return: the errors of deletions; a failed deletion does not stop the others
        :raises SyncError: if the server refuses a creation or an update; later writes are not tried then
        """
        # The garbage collector deletes the slices of a service that is being deleted, so no new ones are created.
        if service.metadata.deletion_timestamp is not None:
            changes.create.clear()
        for slice_ in changes.create:
            _annotate(slice_, triggered)
            try:
                created = await self.slices.create(slice_)
            except ClientError as error:
                if is_namespace_terminating(error):
                    return []  # nothing can be created in the namespace any more; this is no error
                raise SyncError(f"failed to create EndpointSlice for Service {key}: {error}") from error
            self.tracker.written(created)
            self.metrics.changed("create")
        for slice_ in changes.update:
            _annotate(slice_, triggered)
            try:
                self.tracker.written(await self.slices.update(slice_))
            except ClientError as error:
                name = slice_.metadata.name
                raise SyncError(f"failed to update {name} EndpointSlice for Service {key}: {error}") from error
            self.metrics.changed("update")
        errors = await self._delete_all(changes.delete, "failed to delete {} EndpointSlice for Service {}", key)
        if not errors:
            topology = "Auto" if asks_for_zone_hints(service) else "Disabled"
            self.metrics.wrote(len(changes.create) + len(changes.update) + len(changes.delete), topology, distribution)
        return errors

    async def _delete_all(self, slices: Iterable[V1EndpointSlice], failure: str, key: str) -> list[Exception]:
        """
        Delete slices.

        :param failure: the beginning of an error's text, with {} for the name of the slice, and for the service's key
        :return: the errors
        """
        errors: list[Exception] = []
        for slice_ in slices:
            try:
                with self.tracker.deleting(slice_):
                    await self._delete(slice_.metadata)
            except ClientError as error:
                errors.append(SyncError(f"{failure.format(slice_.metadata.name, key)}: {error}"))
            else:
                self.metrics.changed("delete")
        return errors

    async def _delete(self, meta: V1ObjectMeta) -> None:
        try:
            await self.slices.delete(meta.name, meta.namespace)
        except NotFound:
            log.debug("slice_already_deleted", slice=f"{meta.namespace}/{meta.name}")


def _address_types(service: V1Service) -> tuple[str, ...]:
    """
    Return the address types for which a service has slices: its families.

    An old service may have no families. Then the family of its cluster IP counts. If it has no IP either, the result is
    both types, so that its slices are not deleted before the server sets its families.
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
    """Whether a slice is the same as the empty slice that would be created."""
    return (
        not view.endpoints
        and not view.ports
        and view.slice.metadata.labels == labels
        and _owned_by(view.slice, service)
    )


def _reuse(changes: _Changes, service: V1Service) -> None:
    """Replace pairs of a deletion and a creation by an update of the doomed slice: one write instead of two."""
    kept: list[V1EndpointSlice] = []
    for doomed in changes.delete:
        # Not for a slice of an earlier service with this name: the garbage collector will delete that object.
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
