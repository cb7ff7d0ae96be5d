"""The order in which the controllers of a manager start.

A controller names the controllers that it starts after (``Controller(..., starts_after=("crd-installer",))``). It then
waits until each of them has synced every key of its first lists once. Names of controllers that do not run here are
ignored.
"""

from __future__ import annotations

from collections.abc import Mapping

from kinformer.manager.checks import parts_of
from kinformer.manager.names import find_name
from kinformer.options import OptionError

__all__ = ("order_starts",)


def order_starts(controllers: Mapping[str, object]) -> None:
    """
    Make controllers wait for those that they start after.

    :param controllers: the manager's runnables, by name
    :raises OptionError: if some of them wait for each other
    """
    parts = {name: parts_of(runnable) for name, runnable in controllers.items()}
    waits_for: dict[str, list[str]] = {}
    for name, own in parts.items():
        found = [find_name(other, list(parts)) for part in own for other in part.starts_after]
        waits_for[name] = [other for other in found if other is not None]
    if cycle := _cycle(waits_for):
        raise OptionError(f"controllers wait for each other: {' after '.join(cycle)}")
    for name, others in waits_for.items():
        for part in parts[name]:
            for other in others:
                for awaited in parts[other]:
                    part.wait_for_controller(awaited)


def _cycle(waits_for: Mapping[str, list[str]]) -> list[str]:
    """Names in a cycle: each waits for the next one, and the last is the first again. Empty if there is no cycle."""
    done: set[str] = set()

    def find(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in waits_for[name]:
            if found := find(other, [*path, name]):
                return found
        done.add(name)
        return []

    return next((found for name in waits_for if (found := find(name, []))), [])
