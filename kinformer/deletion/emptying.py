"""The order in which a namespace is emptied: first the pods, and everything else once they are gone.

A pod that is shutting down may need its ConfigMaps, its Service or a network policy until its end (Kubernetes'
OrderedNamespaceDeletion, KEP-5080).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from kinformer.meta import GroupResource

__all__ = ("PODS", "stages")

T = TypeVar("T")

PODS: Final = GroupResource("", "pods")


def stages(kinds: Iterable[T], resource_of: Callable[[T], GroupResource]) -> list[list[T]]:
    """
    Arrange the kinds of a namespace in the order in which they are deleted.

    :return: the stages; a stage begins when no objects of the stages before it are left
    """
    kinds = list(kinds)
    first = [kind for kind in kinds if resource_of(kind) == PODS]
    others = [kind for kind in kinds if resource_of(kind) != PODS]
    return [stage for stage in (first, others) if stage]
