"""FleetInspector: makes snapshots of a fleet from those of its managers.

Names and keys of each cluster's part begin with the name of the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from kinformer.clock import Clock
from kinformer.manager.inspection.inspector import Inspected, Inspector, process_view, text_of
from kinformer.manager.inspection.views import ClusterView, KeyView, Snapshot

__all__ = ("FleetInspector",)

V = TypeVar("V", bound=msgspec.Struct)


class FleetInspector(Inspected):
    """
    Makes snapshots of the state of a fleet.

    :param inspectors: returns the inspectors of the managers, by the names of their clusters
    :param clusters: returns the state of each cluster
    """

    def __init__(
        self,
        clock: Clock,
        inspectors: Callable[[], Mapping[str, Inspector]],
        clusters: Callable[[], list[ClusterView]],
    ) -> None:
        super().__init__(clock)
        self._inspectors = inspectors
        self._clusters = clusters

    def inspectors(self) -> Mapping[str, Inspector]:
        """See :meth:`~kinformer.manager.inspection.inspector.Inspected.inspectors`."""
        return self._inspectors()

    def _make_snapshot(self, now: float) -> Snapshot:
        parts = {cluster: inspector.snapshot() for cluster, inspector in self.inspectors().items()}
        clusters = self._clusters()
        return Snapshot(
            at=text_of(self.clock.now()),
            process=process_view("", f"{len(clusters)} clusters", now - self._began),
            informers=[_of(cluster, it, "name") for cluster, part in parts.items() for it in part.informers],
            queues=[_of(cluster, it, "name", "controller") for cluster, part in parts.items() for it in part.queues],
            controllers=[
                _of(cluster, it, "name", "queue", slowest=_keys(cluster, it.slowest), failed=_keys(cluster, it.failed))
                for cluster, part in parts.items()
                for it in part.controllers
            ],
            tasks=[
                _of(cluster, it, "name", **({"key": f"{cluster}/{it.key}"} if it.key else {}))
                for cluster, part in parts.items()
                for it in part.tasks
            ],
            quotas=[_of(cluster, it, "name") for cluster, part in parts.items() for it in part.quotas],
            quotas_total=sum(part.quotas_total for part in parts.values()),
            clusters=clusters,
        )


def _keys(cluster: str, keys: list[KeyView]) -> list[KeyView]:
    return [_of(cluster, it, "key") for it in keys]


def _of(cluster: str, view: V, *names: str, **others: Any) -> V:
    """The view with the name of its cluster before these fields."""
    named = {name: f"{cluster}/{getattr(view, name)}" for name in names}
    return msgspec.structs.replace(view, **named, **others)
