"""PodGroups as the scheduler needs them: one stays for as long as a pod of it has not ended."""

from __future__ import annotations

from typing import Any

from kinformer.simulation.world import World

__all__ = ("begin",)


def begin(world: World) -> None:
    """Demand that no PodGroup that was there goes before its pods have ended or are gone."""
    seen: set[str] = set()

    def pods_have_their_groups(state: Any) -> None:
        there = {obj["metadata"]["name"] for obj in state.list("podgroups.scheduling.k8s.io")}
        seen.update(there)
        for pod in state.list("pods"):
            group = pod["spec"].get("schedulingGroup", {}).get("podGroupName")
            ended = pod["status"]["phase"] in ("Succeeded", "Failed")
            assert ended or group in there or group not in seen, f"{pod['metadata']['name']} has lost its group"

    world.assert_always(pods_have_their_groups)
