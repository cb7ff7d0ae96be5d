"""The largest number of addresses in an Endpoints object, and cutting off those beyond it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kinformer.models import V1EndpointSubset

__all__ = ("MAX_CAPACITY", "OVER_CAPACITY_ANNOTATION", "TRUNCATED", "truncate")

#: The largest number of addresses, ready and not ready, in all subsets together.
MAX_CAPACITY = 1000

OVER_CAPACITY_ANNOTATION = "endpoints.kubernetes.io/over-capacity"
#: The annotation's value if addresses were left out.
TRUNCATED = "truncated"


def truncate(subsets: Sequence[V1EndpointSubset], capacity: int = MAX_CAPACITY) -> tuple[list[V1EndpointSubset], bool]:
    """
    Cut the addresses to the capacity: ready ones are kept first, from each subset in proportion to its size.

    A subset that would be empty is left out, because the server refuses it. (Kubernetes sends it.)

    :return: the subsets, and whether addresses were left out
    """
    ready = sum(len(subset.addresses or ()) for subset in subsets)
    not_ready = sum(len(subset.not_ready_addresses or ()) for subset in subsets)
    if ready + not_ready <= capacity:
        return list(subsets), False
    cut_ready = ready > capacity
    total, room = (ready, capacity) if cut_ready else (not_ready, capacity - ready)
    left = room
    kept: list[V1EndpointSubset] = []
    for subset in subsets:
        addresses, others = subset.addresses or [], subset.not_ready_addresses or []
        # The share is rounded up, so the last subset may get less than its share.
        share = min(math.ceil(len(addresses if cut_ready else others) / total * room), left)
        if cut_ready:
            addresses, others = addresses[:share], []
            left -= len(addresses)
        else:
            others = others[:share]
            left -= len(others)
        if addresses or others:
            kept.append(
                V1EndpointSubset(addresses=addresses or None, not_ready_addresses=others or None, ports=subset.ports)
            )
    return kept, True
