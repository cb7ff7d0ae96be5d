"""The controller of ServiceCIDRs: a finalizer, and the condition Ready.

In: ServiceCIDRs and IPAddresses. Out: a ServiceCIDR gets a finalizer and the condition Ready. If it is being deleted,
it is kept while it is the only one that contains an address of a Service. Promised: before the finalizer is removed,
the server is asked for all ServiceCIDRs and IPAddresses. Two ServiceCIDRs that contain the same address never go at
once: the second one is judged after the first one is gone.
"""

from __future__ import annotations

from typing import Any, Final

import anyio

from kinformer.client import PatchType
from kinformer.client.errors import ClientError, NotFound
from kinformer.controllerutil.conditions import get_condition
from kinformer.controllerutil.finalizers import add_finalizers_patch, has_finalizer, remove_finalizers_patch
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1IPAddress, V1ServiceCIDR
from kinformer.record import WARNING
from kinformer_controllers.servicecidr.ranges import address_of, containing, may_go, overlapping

__all__ = ("FINALIZER", "GRACE", "ServiceCIDRController")

FINALIZER: Final = "networking.k8s.io/service-cidr-finalizer"
#: Seconds from the deletion to the removal of the finalizer. By then every kube-apiserver knows of the deletion, and
#: takes no more addresses from the range.
GRACE: Final = 10.0
_WORKERS: Final = 5
_MANAGER: Final = "service-cidr-controller"
_READY: Final = {
    "type": "Ready",
    "status": "True",
    "reason": "",
    "message": "Kubernetes Service CIDR is ready",
}
_IN_USE: Final = {
    "type": "Ready",
    "status": "False",
    "reason": "Terminating",
    "message": (
        "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"
    ),
}


class ServiceCIDRController:
    """Syncs ServiceCIDRs."""

    def __init__(self, context: ControllerContext) -> None:
        cidrs, ips = context.informers.informer_for(V1ServiceCIDR), context.informers.informer_for(V1IPAddress)
        self._cidrs, self._ips = cidrs.indexer, ips.indexer
        self._server, self._ip_server = context.client.resource(V1ServiceCIDR), context.client.resource(V1IPAddress)
        self._events = context.recorder(_MANAGER)
        self._clock = context.clock
        self._removing = anyio.Lock()
        self.controller = Controller(
            "service-cidr", self.sync, workers=_WORKERS, queue_name="ipaddresses", clock=context.clock
        )
        self.controller.watch_mapped(cidrs, self._touched_by_cidr, _is_added).watch(cidrs)
        # A new address may keep a range from going, and one that is gone may let it go. Addresses do not change.
        self.controller.watch_mapped(ips, self._touched_by_ip, _comes_or_goes)

    async def sync(self, name: str) -> float | None:
        """
        Bring a ServiceCIDR's finalizer and condition up to date.

        :return: seconds after which a ServiceCIDR that is being deleted is to be synced again
        :raises ClientError: if the server refuses a request
        """
        cidr = self._cidrs.get_by_key(name)
        if cidr is None:
            return None
        if (deleted := cidr.metadata.deletion_timestamp) is None:
            await self._make_ready(cidr)
            return None
        if not may_go(cidr, self._cidrs.list(), self._ips.list()):
            await self._set_condition(cidr, _IN_USE)
            return None
        remaining = GRACE - (self._clock.now() - deleted).total_seconds()
        if remaining > 0:
            return remaining
        if has_finalizer(cidr, FINALIZER):
            await self._let_go(cidr)
        return None

    async def _make_ready(self, cidr: V1ServiceCIDR) -> None:
        if not has_finalizer(cidr, FINALIZER):
            await self._patch(cidr, add_finalizers_patch(cidr, FINALIZER))
        try:
            await self._set_condition(cidr, _READY)
        except ClientError:
            why = "The ServiceCIDR Status can not be set to Ready=True"
            self._events.event(cidr, WARNING, "KubernetesServiceCIDRError", why)
            raise

    async def _let_go(self, cidr: V1ServiceCIDR) -> None:
        async with self._removing:
            cidrs, ips = (await self._server.list()).items, (await self._ip_server.list()).items
            if may_go(cidr, cidrs, ips):
                await self._patch(cidr, remove_finalizers_patch(cidr, FINALIZER))
                return
        await self._set_condition(cidr, _IN_USE)

    async def _patch(self, cidr: V1ServiceCIDR, patch: dict[str, Any]) -> None:
        try:
            await self._server.patch(cidr.metadata.name, patch, patch_type=PatchType.STRATEGIC)
        except NotFound:
            return  # it is gone

    async def _set_condition(self, cidr: V1ServiceCIDR, wanted: dict[str, str]) -> None:
        conditions = cidr.status.conditions if cidr.status is not None else None
        current = get_condition(conditions, wanted["type"])
        if current is not None and all((getattr(current, name) or "") == value for name, value in wanted.items()):
            return
        now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        applied = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "ServiceCIDR",
            "metadata": {"name": cidr.metadata.name},
            "status": {"conditions": [{**wanted, "lastTransitionTime": now}]},
        }
        await self._server.apply(applied, field_manager=_MANAGER, force=True, subresource="status")

    def _touched_by_cidr(self, cidr: V1ServiceCIDR) -> set[str]:
        return overlapping(cidr, self._cidrs.list())

    def _touched_by_ip(self, ip: V1IPAddress) -> set[str]:
        address = address_of(ip)
        return containing(address, self._cidrs.list()) if address is not None else set()


def _is_added(old: Any, new: Any) -> bool:
    return old is None


def _comes_or_goes(old: Any, new: Any) -> bool:
    return old is None or new is None
