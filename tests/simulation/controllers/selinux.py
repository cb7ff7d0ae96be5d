"""Conflicts of SELinux labels, as the metric shows them in the end: of the pods that there are, and of no others."""

from __future__ import annotations

from typing import Any, Final

import anyio
from prometheus_client import REGISTRY

from kinformer.simulation.world import World

__all__ = ("begin",)

_METRIC: Final = "selinux_warning_controller_selinux_volume_conflict"


def begin(world: World) -> None:
    """Look at the metric every second, and demand that in the end each two of the pods conflict, and no others."""
    shown: set[tuple[str, str]] = set()

    async def look() -> None:
        while True:
            families = REGISTRY.restricted_registry([_METRIC]).collect()
            labels = [sample.labels for family in families for sample in family.samples]
            shown.clear()
            shown.update((it["pod1_name"], it["pod2_name"]) for it in labels)
            await anyio.sleep(1)

    def all_pods_conflict(state: Any) -> None:
        pods = {pod["metadata"]["name"] for pod in state.list("pods")}
        assert shown == {(one, two) for one in pods for two in pods if one != two}, f"conflicts of {pods}: {shown}"

    world.start(look, "reader of the metric")
    world.assert_eventually(all_pods_conflict)
