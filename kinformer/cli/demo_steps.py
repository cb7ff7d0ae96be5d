"""The demo's steps: each changes the cluster, and says when the cluster has converged."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final

import anyio

from kinformer.cli.demo_cluster import Cluster
from kinformer.cli.demo_rollout import roll_out, undo
from kinformer.cli.demo_view import DemoView, Scene, StepResult
from kinformer.cli.manifests import Manifest, apply_manifests
from kinformer.client import Client
from kinformer.models import V1Pod, V1ReplicationController

__all__ = ("Step", "steps", "take")

#: The tag of the image that is rolled out.
_NEW_TAG: Final = "2.0"


@dataclass(frozen=True, slots=True)
class Step:
    """
    One step of the demo.

    :param title: what the step does, for people
    :param act: a coroutine function that changes the cluster
    :param wanted: takes the current state; returns True if the step has converged
    """

    title: str
    act: Callable[[], Awaitable[None]]
    wanted: Callable[[Scene], bool]


def steps(client: Client, cluster: Cluster, objects: list[Manifest]) -> Iterator[Step]:
    """The steps in their order. Take each step before you ask for the next: later steps depend on what there is."""
    controllers = client.resource(V1ReplicationController)
    pods = client.resource(V1Pod)
    expected = sum(manifest.obj["kind"] == "ReplicationController" for manifest in objects)
    deployments = sum(manifest.obj["kind"] == "Deployment" for manifest in objects)

    async def apply() -> None:
        await apply_manifests(client, objects)

    def scale(change: Callable[[int], int]) -> Callable[[], Awaitable[None]]:
        async def act() -> None:
            for row in cluster.scene().rows:
                wanted = {"spec": {"replicas": change(row.desired)}}
                await controllers.patch(row.name, wanted, row.namespace)
                targets[row.uid] = change(row.desired)

        return act

    async def lose_some() -> None:
        for row in cluster.scene().rows:
            for pod in list(cluster.pods_of(row))[: max(row.desired // 4, 1)]:
                await pods.delete(pod.metadata.name, pod.metadata.namespace)
                lost.add(pod.metadata.uid)

    targets: dict[str, int] = {}
    lost: set[str] = set()

    def scaled(scene: Scene) -> bool:
        return scene.converged and all(row.desired == targets.get(row.uid, row.desired) for row in scene.rows)

    def replaced(scene: Scene) -> bool:
        return scaled(scene) and not any(pod.metadata.uid in lost for row in scene.rows for pod in cluster.pods_of(row))

    def applied(scene: Scene) -> bool:
        return len(scene.rows) >= expected and len(scene.rollouts) >= deployments and scaled(scene)

    async def set_image() -> None:
        for rollout in cluster.scene().rollouts:
            await roll_out(client, rollout, _NEW_TAG)

    async def go_back() -> None:
        for rollout in cluster.scene().rollouts:
            await undo(client, rollout)

    def rolled_out(scene: Scene) -> bool:
        return scaled(scene) and all(rollout.image.endswith(_NEW_TAG) for rollout in scene.rollouts)

    def undone(scene: Scene) -> bool:
        return scaled(scene) and not any(rollout.image.endswith(_NEW_TAG) for rollout in scene.rollouts)

    def full(scene: Scene) -> bool:
        """Whether there are exactly as many pods as the group quotas allow."""
        return all(gauge.converged and gauge.told == gauge.limit for gauge in scene.groups) and all(
            row.current == row.ready for row in scene.rows
        )

    yield Step(f"apply {len(objects)} objects", apply, applied)
    if expected:
        yield Step("scale to four times as many", scale(lambda replicas: replicas * 4), scaled)
        if groups := cluster.scene().groups:
            most = min(gauge.limit or 0 for gauge in groups)
            yield Step(f"ask for 40, the webhook lets {most} in", scale(lambda _: 40), full)
            yield Step("ask for 20 again", scale(lambda _: 20), scaled)
        yield Step("delete a quarter of the pods", lose_some, replaced)
        yield Step("scale down to two", scale(lambda _: 2), scaled)
    if cluster.scene().rollouts:
        yield Step(f"roll out {_NEW_TAG}", set_image, rolled_out)
        yield Step("undo the roll-out", go_back, undone)


async def take(step: Step, cluster: Cluster, view: DemoView, timeout: float) -> StepResult:
    """Take a step, and wait until it has converged, for `timeout` seconds at most."""
    before = cluster.scene().pods
    view.begin(step.title)
    began = time.perf_counter()
    converged = False
    with anyio.move_on_after(timeout):
        await step.act()
        while not (converged := step.wanted(cluster.scene())):
            await cluster.wait_changed()
    scene = cluster.scene()
    result = StepResult(step.title, before, scene.pods, time.perf_counter() - began, converged)
    view.draw(scene, cluster.events)
    view.end(result, scene)
    return result
