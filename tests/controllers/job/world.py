"""A Job, its pods, and the Job controller; nothing of it runs by itself."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from kinformer.clock import FakeClock
from kinformer.models import V1Job, V1Pod, from_dict
from kinformer_controllers.job.controller import JobController
from tests.controllers.objects import FakeContext, FakeInformers, FakePods, FakeRecorder, FakeServer

__all__ = ("KEY", "NOW", "UID", "World", "job_of", "pod_of", "stamp")

NOW = FakeClock().now()
KEY = "ns/j"
UID = "uid-j"
FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
SELECTOR = {"batch.kubernetes.io/controller-uid": UID}

_names = itertools.count(1)


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def job_of(
    *,
    parallelism: int | None = 1,
    completions: int | None = 1,
    backoff_limit: int = 6,
    indexed: bool = False,
    name: str = "j",
    uid: str = UID,
    status: dict[str, Any] | None = None,
    deleting: bool = False,
    restart: str = "Never",
    selector: dict[str, Any] | None = None,
    **spec: Any,
) -> V1Job:
    """
    A Job as the server has it.

    :param spec: further fields, under JSON's names
    """
    labels = {"batch.kubernetes.io/controller-uid": uid}
    container = {"name": "c", "image": "i"}
    return from_dict(
        V1Job,
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": uid,
                "generation": 1,
                "resourceVersion": "1",
                **({"deletionTimestamp": stamp(NOW)} if deleting else {}),
            },
            "spec": {
                "parallelism": parallelism,
                "completions": completions,
                "backoffLimit": backoff_limit,
                "completionMode": "Indexed" if indexed else "NonIndexed",
                "selector": selector or {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [container], "restartPolicy": restart},
                },
                **spec,
            },
            "status": status or {},
        },
    )


def pod_of(
    phase: str = "Running",
    *,
    index: str | int | None = None,
    job: V1Job | None = None,
    owner: str = UID,
    name: str = "",
    uid: str = "",
    tracked: bool = True,
    ready: bool = False,
    deleting: bool = False,
    ended: datetime | None = None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    status: dict[str, Any] | None = None,
) -> V1Pod:
    """
    A pod of the Job.

    :param owner: the uid of its Job; empty for none
    :param ended: when its container did, for one that has ended
    :param status: further fields, under JSON's names
    """
    number = next(_names)
    name = name or f"p{number}"
    marks = dict(annotations or {})
    if index is not None:
        marks[INDEX] = str(index)
    said: dict[str, Any] = {"phase": phase}
    if ready:
        said["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": stamp(NOW)}]
    if ended is not None:
        exit_code = 1 if phase == "Failed" else 0
        terminated = {"finishedAt": stamp(ended), "exitCode": exit_code}
        said["containerStatuses"] = [_state(terminated=terminated)]
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": owner, "controller": True}
    return from_dict(
        V1Pod,
        {
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": uid or f"uid-{name}",
                "resourceVersion": str(number),
                "creationTimestamp": stamp(NOW - timedelta(hours=1)),
                "labels": SELECTOR if labels is None else labels or None,
                "annotations": marks,
                "finalizers": [FINALIZER] if tracked else [],
                "ownerReferences": [reference] if owner else [],
                **({"deletionTimestamp": stamp(NOW)} if deleting else {}),
            },
            "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n1"},
            "status": {**said, **(status or {})},
        },
    )


def _state(restarts: int = 0, **state: Any) -> dict[str, Any]:
    return {"name": "c", "image": "", "imageID": "", "ready": False, "restartCount": restarts, "state": state}


class Server(FakeServer):
    """Keeps a copy of each status, as it is changed after it was written."""

    async def update_status(self, rc: Any) -> Any:
        self.updated.append(rc)
        if self.update_errors:
            raise self.update_errors.pop(0)
        self.statuses.append(copy.deepcopy(rc.status))
        written = copy.copy(rc)
        written.status = copy.deepcopy(rc.status)
        return written


class World:
    """
    :param most: pods that one sync makes or removes at most
    """

    def __init__(self, job: V1Job | None, pods: Iterable[V1Pod] = (), *, most: int = 500) -> None:
        self.clock = FakeClock()
        self.informers = FakeInformers()
        self.pods = FakePods()
        self.server = Server(job)
        self.recorder = FakeRecorder()
        self.controller = JobController(
            FakeContext(self.server, self.informers, self.recorder, clock=self.clock), pods=self.pods, most=most
        )
        if job is not None:
            self.put(job)
        for pod in pods:
            self.put(pod)

    def put(self, obj: V1Job | V1Pod) -> None:
        self.informers.informer_for(type(obj)).indexer.add(obj)

    def remove(self, obj: V1Job | V1Pod) -> None:
        self.informers.informer_for(type(obj)).indexer.delete(obj)

    async def sync(self, key: str = KEY) -> float | None:
        return await self.controller.sync(key)

    @property
    def status(self) -> Any:
        """The last status that was written."""
        return self.server.statuses[-1]

    @property
    def created_indexes(self) -> list[int]:
        return sorted(int(pod.metadata.annotations[INDEX]) for pod in self.pods.created)

    @property
    def looks_again_in(self) -> float | None:
        """Seconds until the Job comes back by itself; None if it does not."""
        return self.clock.next_due
