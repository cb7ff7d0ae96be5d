"""A pod's controller, read the short way: asked of every pod at every notification and in every sync."""

from __future__ import annotations

from kinformer.models import V1OwnerReference, V1Pod

__all__ = ("controller_of",)


def controller_of(pod: V1Pod) -> V1OwnerReference | None:
    """:func:`kinformer.meta.get_controller_of` for what is known to be a pod model (0.2 µs instead of 1.5)."""
    references = pod.metadata.owner_references
    if references:
        for reference in references:
            if reference.controller:
                return reference
    return None
