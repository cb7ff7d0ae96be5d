"""The options of the endpoints controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import duration, workers

__all__ = ("EndpointOptions",)


@dataclass(frozen=True)
class EndpointOptions:
    concurrent_endpoint_syncs: int = workers(5, "Services' Endpoints")
    endpoint_updates_batch_period: float = duration(
        0.0, "How long changes of a Service's pods are collected before a sync."
    )
