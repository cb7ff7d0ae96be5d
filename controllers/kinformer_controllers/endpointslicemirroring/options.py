"""The options of the mirroring of Endpoints."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import duration, option, workers

__all__ = ("MirroringOptions",)


@dataclass(frozen=True)
class MirroringOptions:
    mirroring_concurrent_service_endpoint_syncs: int = workers(5, "Endpoints that are mirrored")
    mirroring_max_endpoints_per_subset: int = option(
        1000, "The largest number of addresses of one subset that are mirrored.", minimum=1, maximum=1000
    )
    mirroring_endpointslice_updates_batch_period: float = duration(
        0.0, "How long changes of mirrored EndpointSlices are collected before a sync."
    )
