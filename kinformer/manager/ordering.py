"""Ordering: which controllers of a manager start after which others.

A controller names those that it starts after (``Controller(..., starts_after=("crd-installer",))``). It then waits
until each of them has synced everything that its first lists brought, once. Names of controllers that do not run here
are passed over: there is nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Mapping

from kinformer.manager.checks import parts_of
from kinformer.manager.names import find_name
from kinformer.options import OptionError

__all__ = ("order_starts",)


def order_starts(controllers: Mapping[str, object]) -> None:
    """
    Have controllers wait for those that they start after.

    :param controllers: by name
    :raises OptionError: if some of them wait for each other
    """
    parts = {name: parts_of(runnable) for name, runnable in controllers.items()}
    waits_for: dict[str, list[str]] = {}
    for name, own in parts.items():
        found = [find_name(other, list(parts)) for part in own for other in part.starts_after]
        waits_for[name] = [other for other in found if other is not None]
    if circle := _circle(waits_for):
        raise OptionError(f"controllers wait for each other: {' after '.join(circle)}")
    for name, others in waits_for.items():
        for part in parts[name]:
            for other in others:
                for awaited in parts[other]:
                    part.wait_for_controller(awaited)


def _circle(waits_for: Mapping[str, list[str]]) -> list[str]:
    """Names of which each waits for the next, and the last for the first; empty if there is no such circle."""
    done: set[str] = set()

    def look(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return []
        for other in waits_for[name]:
            if found := look(other, [*way, name]):
                return found
        done.add(name)
        return []

    return next((found for name in waits_for if (found := look(name, []))), [])
