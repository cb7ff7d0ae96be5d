"""Counting the devices in a driver's pools, and deciding when an answer is old enough to be deleted.

In: a ResourcePoolStatusRequest, ResourceSlices, ResourceClaims and the time. Out: the status of the request. Only the
slices of a pool's newest generation count. A pool is incomplete while it has fewer of them than its slices say. The
periods are Kubernetes'. No device counts as unavailable: Kubernetes 1.36 does not look at their taints and conditions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from kinformer.models import (
    ResourceV1ResourceClaim,
    V1alpha3PoolStatus,
    V1alpha3ResourcePoolStatusRequest,
    V1alpha3ResourcePoolStatusRequestStatus,
    V1Condition,
    V1ResourceSlice,
)
from kinformer_controllers.shared.devices import allocation_of
from kinformer_controllers.shared.partly import partly

__all__ = ("IncompletePool", "count_pools", "is_old", "status_of")

Request = V1alpha3ResourcePoolStatusRequest
Status = V1alpha3ResourcePoolStatusRequestStatus

#: For how long an answer is kept, and a request without an answer.
_ANSWERED: Final = timedelta(hours=1)
_PENDING: Final = timedelta(hours=24)
#: How many pools an answer has, if the request does not say.
_LIMIT: Final = 100


class IncompletePool(Exception):
    """The driver has not published all slices of a pool yet."""


class _Device(msgspec.Struct, gc=False):
    """Nothing of a device is read: the devices are counted."""


class _PoolOfSlice(msgspec.Struct, rename="camel", gc=False):
    name: str
    generation: int = 0
    resource_slice_count: int = 0


class _Slice(msgspec.Struct, rename="camel", gc=False):
    driver: str
    pool: _PoolOfSlice
    node_name: str | None = None
    devices: list[_Device] | None = None


_spec_of = partly(V1ResourceSlice, "spec", _Slice)


@dataclass(slots=True)
class _Pool:
    generation: int
    expected: int
    slices: int = 0
    devices: int = 0
    nodes: set[str] = field(default_factory=set)


def status_of(request: Request) -> Status | None:
    """Return the answer to a request; None if it has none yet."""
    status: Status | None = request.status
    return status


def is_old(request: Request, now: datetime) -> bool:
    """Whether a request is to be deleted: its answer is old, or nobody has answered it for long."""
    made, status = request.metadata.creation_timestamp, status_of(request)
    if status is None:
        return _is_over(made, _PENDING, now)
    ends = (one.last_transition_time for one in status.conditions or () if one.type in ("Complete", "Failed"))
    return _is_over(next(ends, made), _ANSWERED, now)


def _is_over(since: datetime | None, age: timedelta, now: datetime) -> bool:
    return since is not None and now - since > age


def count_pools(
    request: Request, slices: Iterable[V1ResourceSlice], claims: Iterable[ResourceV1ResourceClaim], now: datetime
) -> Status:
    """
    Return the answer to a request.

    :raises IncompletePool: if one of the pools that the answer would have is incomplete
    """
    asked = request.spec
    pools = _pools(asked.driver, asked.pool_name or "", slices)
    used = Counter(result.pool for result in _results(claims) if result.driver == asked.driver)
    shown = []
    for name in sorted(pools)[: _LIMIT if asked.limit is None else asked.limit]:
        pool = pools[name]
        if pool.slices < pool.expected:
            raise IncompletePool(
                f"pool {asked.driver}/{name} is incomplete: "
                f"observed {pool.slices}/{pool.expected} slices at generation {pool.generation}"
            )
        [node, *others] = pool.nodes
        shown.append(
            V1alpha3PoolStatus(
                driver=asked.driver,
                pool_name=name,
                generation=pool.generation,
                node_name=(node or None) if not others else None,
                resource_slice_count=pool.slices,
                total_devices=pool.devices,
                allocated_devices=used[name],
                available_devices=max(0, pool.devices - used[name]),
                unavailable_devices=0,
            )
        )
    complete = V1Condition(
        type="Complete",
        status="True",
        last_transition_time=now,
        reason="CalculationComplete",
        message=f"Calculated status for {len(shown)} pools",
    )
    return Status(pool_count=len(pools), pools=shown or None, conditions=[complete])


def _pools(driver: str, name: str, slices: Iterable[V1ResourceSlice]) -> dict[str, _Pool]:
    pools: dict[str, _Pool] = {}
    for spec in map(_spec_of, slices):
        of = spec.pool
        if spec.driver != driver or (name and of.name != name):
            continue
        pool = pools.get(of.name)
        if pool is None or of.generation > pool.generation:
            pool = pools[of.name] = _Pool(of.generation, of.resource_slice_count)
        if of.generation == pool.generation:
            pool.slices += 1
            pool.devices += len(spec.devices or ())
            pool.nodes.add(spec.node_name or "")
    return pools


def _results(claims: Iterable[ResourceV1ResourceClaim]) -> Iterable[Any]:
    for allocation in filter(None, map(allocation_of, claims)):
        if allocation.devices is not None:
            yield from allocation.devices.results or ()
