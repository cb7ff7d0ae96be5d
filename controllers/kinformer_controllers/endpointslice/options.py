"""The options of the endpoint slice controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import duration, option, workers

__all__ = ("EndpointSliceOptions",)


@dataclass(frozen=True)
class EndpointSliceOptions:
    concurrent_service_endpoint_syncs: int = workers(5, "Services' EndpointSlices")
    max_endpoints_per_slice: int = option(100, "The largest number of endpoints in a slice.", minimum=1, maximum=1000)
    endpointslice_updates_batch_period: float = duration(
        0.0, "How long changes of a Service's pods are collected before a sync."
    )
