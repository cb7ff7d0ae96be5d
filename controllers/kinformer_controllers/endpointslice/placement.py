"""Placing endpoints into slices, with few writes and well filled slices.

Every written slice is sent to every node of the cluster. So an endpoint stays in its slice. New endpoints are placed in
this order: into slices that must be written anyway; then into the one slice that has room for all the rest; then into
new slices. Slices that have become half empty are not merged, because that would be two writes without new information.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from kinformer_controllers.endpointslice.endpoints import EndpointState, Identity, SliceView

__all__ = ("Placement", "Placed", "place")

Placed = list[tuple[Identity, EndpointState]]


class Placement(NamedTuple):
    """
    The plan for the slices of one set of ports.

    :param create: the endpoints of each new slice
    :param update: the slices to update, with their new endpoints
    :param delete: the slices that have become empty
    :param added: the number of endpoints that were in no slice
    :param removed: the number of endpoints that are no longer in a slice
    """

    create: list[Placed]
    update: list[tuple[SliceView, Placed]]
    delete: list[SliceView]
    added: int
    removed: int


def place(
    existing: Sequence[SliceView],
    desired: dict[Identity, EndpointState],
    max_per_slice: int,
    relabelled: Collection[str] = (),
) -> Placement:
    """
    Find a slice for every endpoint.

    :param existing: the existing slices, in a fixed order, so that the result is always the same
    :param desired: the endpoints that should be in slices; the function empties this dict
    :param relabelled: the names of slices that must be written because of their labels
    """
    changed: dict[str, tuple[SliceView, Placed]] = {}
    unchanged: dict[str, SliceView] = {}
    delete: list[SliceView] = []
    removed = 0
    take = desired.pop
    for view in existing:
        kept: Placed = []
        differs = False
        for identity, state in view.endpoints:
            want = take(identity, None)
            if want is not None:
                kept.append((identity, want))
                differs = differs or want != state
        gone = len(view.endpoints) - len(kept)
        removed += gone
        if gone and not kept:
            delete.append(view)
        elif gone or differs or view.name in relabelled:
            changed[view.name] = (view, kept)
        else:
            unchanged[view.name] = view

    added = len(desired)
    left = list(desired.items())
    left.reverse()  # so that pop() takes them in their order
    # The fullest slice is filled first, because it needs the fewest endpoints.
    for _, placed in sorted(changed.values(), key=lambda each: -len(each[1])):
        _fill(placed, left, max_per_slice)
    create: list[Placed] = []
    while left:
        view_to_fill = _best_fit(unchanged, len(left), max_per_slice)
        placed = []
        if view_to_fill is None:
            create.append(placed)
        else:
            del unchanged[view_to_fill.name]
            placed = list(view_to_fill.endpoints)
            changed[view_to_fill.name] = (view_to_fill, placed)
        _fill(placed, left, max_per_slice)
    return Placement(create, list(changed.values()), delete, added, removed)


def _fill(placed: Placed, left: Placed, max_per_slice: int) -> None:
    while left and len(placed) < max_per_slice:
        placed.append(left.pop())


def _best_fit(unchanged: dict[str, SliceView], count: int, max_per_slice: int) -> SliceView | None:
    """Return the fullest slice that has room for this many endpoints; None if there is none."""
    best: SliceView | None = None
    least = max_per_slice
    if count >= max_per_slice:
        return None
    for view in unchanged.values():
        room = max_per_slice - count - len(view.endpoints)
        if 0 <= room < least:
            best, least = view, room
    return best
