"""The labels of slices: the name of their service, the name of their controller, and the service's own labels."""

from __future__ import annotations

from collections.abc import Mapping

from kinformer.models import V1EndpointSlice, V1Service
from kinformer_controllers.shared.services.service import HEADLESS_LABEL, has_cluster_ip

__all__ = (
    "MANAGED_BY",
    "MANAGED_BY_LABEL",
    "SERVICE_LABEL",
    "is_managed",
    "labels_of",
    "needs_labels",
    "service_key",
    "wanted_labels",
)

SERVICE_LABEL = "kubernetes.io/service-name"
MANAGED_BY_LABEL = "endpointslice.kubernetes.io/managed-by"
#: The value of :data:`MANAGED_BY_LABEL` on slices that this controller made.
MANAGED_BY = "endpointslice-controller.k8s.io"

_RESERVED = (SERVICE_LABEL, MANAGED_BY_LABEL, HEADLESS_LABEL)


def labels_of(slice_: V1EndpointSlice) -> Mapping[str, str]:
    labels: Mapping[str, str] | None = slice_.metadata.labels
    return labels or {}


def is_managed(slice_: V1EndpointSlice) -> bool:
    """Whether this controller manages the slice."""
    return labels_of(slice_).get(MANAGED_BY_LABEL) == MANAGED_BY


def service_key(slice_: V1EndpointSlice) -> str:
    """Return the key of the service in a slice's label. The name is empty if the slice has no such label."""
    return f"{slice_.metadata.namespace}/{labels_of(slice_).get(SERVICE_LABEL, '')}"


def wanted_labels(service: V1Service) -> dict[str, str]:
    """Return the labels for a service's slices."""
    labels = _of_users(service.metadata.labels)
    if not has_cluster_ip(service):
        labels[HEADLESS_LABEL] = ""
    labels[SERVICE_LABEL] = service.metadata.name
    labels[MANAGED_BY_LABEL] = MANAGED_BY
    return labels


def needs_labels(slice_: V1EndpointSlice, service: V1Service) -> bool:
    """Whether a slice must be written because its labels differ. The reserved labels are not compared."""
    return _of_users(labels_of(slice_)) != _of_users(service.metadata.labels)


def _of_users(labels: Mapping[str, str] | None) -> dict[str, str]:
    return {key: value for key, value in (labels or {}).items() if key not in _RESERVED}
