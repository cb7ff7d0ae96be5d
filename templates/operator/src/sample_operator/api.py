"""The custom resource: what its definition, `deploy/crd.yaml`, is made from."""

from __future__ import annotations

from typing import Annotated

from kinformer.models import V1Condition
from kinformer.operator import Column, CustomResource, Fields, list_map
from msgspec import Meta

__all__ = (
    "Sample",
    "SampleSpec",
    "SampleStatus",
)


class SampleSpec(Fields):
    """What somebody wants."""

    image: Annotated[str, Meta(min_length=1)]
    replicas: Annotated[int, Meta(ge=0)] = 1


class SampleStatus(Fields):
    """What there is."""

    ready_replicas: int = 0
    conditions: Annotated[list[V1Condition], list_map("type")] = []


class Sample(
    CustomResource[
        SampleSpec,
        SampleStatus,
    ],
    group="example.com",
    version="v1",
    plural="samples",
    columns=(
        Column("Image", ".spec.image"),
        Column("Ready", ".status.readyReplicas"),
        Column("Age", ".metadata.creationTimestamp"),
    ),
):
    """Runs an image."""
