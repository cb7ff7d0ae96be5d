"""The cost of a completion of an Indexed Job, in small and large Jobs.

The Job controller works against objects in memory. What it creates, patches and writes goes into its cache at once, and
the pods of each round end together. So only the controller's own CPU time is measured. Finished pods stay in the cache,
as they stay in a cluster until their Job is deleted.

A completion should cost the same in a small Job and in a large one: no step of a sync may become slower with the number
of completions.
"""

from __future__ import annotations

import copy
import itertools
import time
from typing import Any

from kinformer.bench.results import Figures
from kinformer.bench.runner import Case, each
from kinformer.clock import FakeClock
from kinformer.controllerutil.owning import owner_id
from kinformer.informers import SharedInformerFactory
from kinformer.manager import ControllerContext
from kinformer.models import V1Job, V1Pod, from_dict
from kinformer_controllers.job.controller import JobController
from kinformer_controllers.job.jobs import is_finished

UID = "00000000-0000-0000-0000-000000000001"
KEY = "default/j"


def manifest(completions: int, parallelism: int) -> V1Job:
    labels = {"batch.kubernetes.io/controller-uid": UID}
    return from_dict(
        V1Job,
        {
            "metadata": {"name": "j", "namespace": "default", "uid": UID, "generation": 1},
            "spec": {
                "completions": completions,
                "parallelism": parallelism,
                "backoffLimit": 6,
                "completionMode": "Indexed",
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "c", "image": "img"}], "restartPolicy": "Never"},
                },
            },
            "status": {},
        },
    )


class _Context(ControllerContext):
    """A context without Events."""

    def recorder(self, component: str) -> Any:
        return _NoEvents()


class _NoEvents:
    def event(self, *_: Any) -> None: ...


class Cluster:
    """Stands for a client, the caches of the controller, and the nodes that run pods."""

    def __init__(self, job: V1Job) -> None:
        self.clock = FakeClock()
        self._versions = itertools.count(1)
        informers = SharedInformerFactory(self)  # type: ignore[arg-type]  # the informers are not run
        self.pods, self.jobs = informers.informer_for(V1Pod), informers.informer_for(V1Job)
        self.controller = JobController(
            _Context(self, informers, clock=self.clock),  # type: ignore[arg-type]  # it has all of a client that is used
            pods=self,
        )
        self.jobs.indexer.add(job)
        self.owner = owner_id(job)

    def resource(self, *_: Any, **__: Any) -> Any:
        return self

    async def create(self, pod: V1Pod, owner: Any) -> V1Pod:
        pod = copy.deepcopy(pod)
        number = next(self._versions)
        pod.metadata.name, pod.metadata.uid = f"{pod.metadata.generate_name}{number}", f"uid-{number}"
        self._show(pod, phase="Running")
        self.controller.expectations.creation_observed(self.owner)
        return pod

    async def patch(self, namespace: str, name: str, patch: dict[str, Any]) -> None:
        pod = copy.deepcopy(self._pod(f"{namespace}/{name}"))
        pod.metadata.finalizers = None
        self._show(pod, phase=pod.status.phase)
        self.controller.released.deletion_observed(self.owner, pod.metadata.uid)

    async def update_status(self, job: V1Job) -> V1Job:
        job = copy.deepcopy(job)
        job.metadata.resource_version = str(next(self._versions))
        self.jobs.indexer.update(job)
        return job

    def end_pods(self) -> None:
        """Let all running pods succeed."""
        for pod in self.pods.indexer.list():
            if pod.status.phase == "Running":
                self._show(copy.deepcopy(pod), phase="Succeeded")

    @property
    def job(self) -> V1Job:
        job = self.jobs.indexer.get_by_key(KEY)
        assert job is not None
        return job

    def _pod(self, key: str) -> V1Pod:
        pod = self.pods.indexer.get_by_key(key)
        assert pod is not None
        return pod

    def _show(self, pod: V1Pod, phase: str) -> None:
        pod.metadata.resource_version = str(next(self._versions))
        pod.status = from_dict(V1Pod, {"status": {"phase": phase}}).status
        self.pods.indexer.update(pod)


async def run(completions: int, parallelism: int) -> tuple[float, int, float]:
    """
    Bring a Job to its end.

    :return: the CPU seconds of all syncs, the number of syncs, and the CPU seconds of the longest sync
    """
    cluster = Cluster(manifest(completions, parallelism))
    spent, longest, syncs = 0.0, 0.0, 0
    while not is_finished(cluster.job):
        began = time.process_time()
        await cluster.controller.sync(KEY)
        took = time.process_time() - began
        spent, longest, syncs = spent + took, max(longest, took), syncs + 1
        cluster.clock.turn(1.0)
        if cluster.controller.expectations.satisfied(cluster.owner) and syncs % 2:
            cluster.end_pods()
    return spent, syncs, longest


async def measure(completions: int, parallelism: int = 500) -> Figures:
    """Measure a Job with so many completions."""
    await run(200, 100)  # models are made at their first use, which is not to be measured
    spent, syncs, longest = await run(completions, parallelism)
    return {"us CPU each": round(1e6 * spent / completions), "syncs": syncs, "longest sync ms": round(1e3 * longest)}


CASES = {
    "jobs": Case(
        "A completion of an Indexed Job",
        measure,
        each("completions", (1_000, 10_000), parallelism=500),
        each("completions", (500, 1_000), parallelism=100),
        ("us CPU each",),
        lower_is_better=True,
    )
}
