"""What wakes a Job: itself at once, its pods and its status after a second, gathered; and what goes to the orphans."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kinformer.cache import DeletedFinalStateUnknown
from kinformer.controllerutil.owning import OwnerId
from kinformer.models import V1Job, V1Pod
from kinformer_controllers.job.counting import Backoff
from kinformer_controllers.job.handlers import JobHandler, PodHandler
from kinformer_controllers.job.owning import OrphanKey
from kinformer_controllers.job.pods import done_pods_of_job, pods_of_job
from tests.controllers.job.world import KEY, NOW, SELECTOR, UID, World, job_of, pod_of, stamp
from tests.controllers.objects import drained, forbidden, not_found

JOB = OwnerId(KEY, UID)
DONE = {"conditions": [{"type": "Complete", "status": "True"}]}


class Wired(World):
    """With the handlers as the controller has wired them."""

    def __init__(self, job: V1Job | None, *pods: V1Pod) -> None:
        super().__init__(job, pods)
        controller = self.controller
        self.job_handler = JobHandler(
            controller.controller.queue, controller.orphans.queue.add, self.clock, *controller.forget
        )
        self.pod_handler = PodHandler(
            self.informers.informer_for(V1Job).indexer,
            controller.controller.queue.add_after,
            controller.orphans.queue.add,
            controller.claims.candidates_for,
            controller.expectations,
            controller.released,
        )

    def woken(self) -> tuple[list[str], list[str]]:
        """The keys that wait now, and those that a second brings."""
        at_once = drained(self.controller.controller.queue)
        self.clock.turn(1.0)
        return at_once, drained(self.controller.controller.queue)

    @property
    def orphans(self) -> list[str]:
        return drained(self.controller.orphans.queue)


def changed(obj: Any, **metadata: Any) -> Any:
    obj = copy.deepcopy(obj)
    obj.metadata.resource_version = "changed"
    for name, value in metadata.items():
        setattr(obj.metadata, name, value)
    return obj


async def test_a_new_spec_wakes_a_job_now_and_a_status_later() -> None:
    job = job_of()
    world = Wired(job)

    world.job_handler.on_add(job, False)
    assert world.woken() == ([KEY], [])
    world.job_handler.on_update(job, changed(job))
    assert world.woken() == ([], [KEY])
    world.job_handler.on_update(job, changed(job, generation=2))
    assert world.woken() == ([KEY], [])


async def test_a_deadline_brought_forward_wakes_the_job_when_over() -> None:
    job = job_of(activeDeadlineSeconds=100, status={"startTime": stamp(NOW)})
    sooner = changed(job, generation=2)
    sooner.spec.active_deadline_seconds = 5
    world = Wired(sooner)

    world.job_handler.on_update(job, sooner)

    assert world.woken() == ([KEY], [])
    assert world.looks_again_in == 4


async def test_a_job_that_is_gone_is_forgotten_and_its_pods_are_orphans() -> None:
    job = job_of()
    for gone in (job, DeletedFinalStateUnknown(KEY, job)):
        world = Wired(job)
        world.controller.backoffs[KEY] = Backoff(1, NOW)
        world.controller.expectations.expect(JOB, creations=1)
        world.controller.released.expect(JOB, deletions=["a"])

        world.job_handler.on_delete(gone)

        assert world.woken() == ([KEY], [])
        assert world.orphans == [OrphanKey.of_job(job).text]
        assert world.controller.expectations.get(JOB) is None
        assert not world.controller.released.awaited_deletions(JOB)
        assert not world.controller.backoffs


async def test_a_job_that_was_made_anew_under_its_name_starts_afresh() -> None:
    old, new = job_of(uid="old"), job_of()
    world = Wired(new)
    world.controller.released.expect(OwnerId(KEY, "old"), deletions=["a"])

    world.job_handler.on_update(old, new)

    assert not world.controller.released.awaited_deletions(OwnerId(KEY, "old"))
    assert world.orphans == [OrphanKey.of_job(old).text]


async def test_pods_that_come_are_crossed_off_and_wake_their_job() -> None:
    world = Wired(job_of())
    world.controller.expectations.expect(JOB, creations=2)

    world.pod_handler.on_add(pod_of(), False)
    world.pod_handler.on_add(pod_of(owner="another"), False)
    assert world.woken() == ([], [KEY])
    assert not world.controller.expectations.satisfied(JOB)
    world.pod_handler.on_add(pod_of(), False)

    assert world.controller.expectations.satisfied(JOB)


async def test_a_pod_already_being_deleted_is_not_awaited() -> None:
    world = Wired(job_of())
    world.controller.expectations.expect(JOB, creations=1)

    world.pod_handler.on_add(pod_of(deleting=True), True)

    assert not world.controller.expectations.satisfied(JOB)
    assert world.woken() == ([], [KEY])


async def test_a_pod_of_nobodys_is_offered_to_the_jobs_that_select_it() -> None:
    mine, other = job_of(), job_of(name="k", uid="uid-k")
    world = Wired(mine)
    world.put(other)

    world.pod_handler.on_add(pod_of(owner="", tracked=False), False)
    assert world.woken() == ([], [KEY])
    assert not world.orphans
    world.pod_handler.on_add(pod_of(owner="", tracked=False, labels={"a": "b"}), False)
    world.pod_handler.on_add(pod_of(owner="", tracked=False, labels={}), False)
    assert world.woken() == ([], [])


async def test_a_changed_pod_wakes_its_job_and_a_resync_does_not() -> None:
    pod = pod_of()
    world = Wired(job_of(), pod)

    world.pod_handler.on_update(pod, pod)
    assert world.woken() == ([], [])
    world.pod_handler.on_update(pod, changed(pod))
    assert world.woken() == ([], [KEY])


async def test_a_pod_that_changes_hands_wakes_both_jobs() -> None:
    mine, other = job_of(), job_of(name="k", uid="uid-k")
    world = Wired(mine)
    world.put(other)
    pod = pod_of()
    theirs = changed(pod)
    theirs.metadata.owner_references[0].name, theirs.metadata.owner_references[0].uid = "k", "uid-k"

    world.pod_handler.on_update(pod, theirs)

    assert sorted(world.woken()[1]) == [KEY, "ns/k"]


async def test_a_released_pod_wakes_its_job_and_those_that_select_it() -> None:
    other = job_of(name="k", uid="uid-k", selector={"matchLabels": {"a": "b"}})
    world = Wired(job_of())
    world.put(other)
    pod = pod_of()

    world.pod_handler.on_update(pod, changed(pod, owner_references=None, labels={"a": "b"}))

    assert sorted(world.woken()[1]) == [KEY, "ns/k"]
    assert world.orphans == [OrphanKey.of_pod(pod).text]


async def test_a_pod_of_nobodys_is_offered_again_when_its_labels_change() -> None:
    pod = pod_of(owner="", tracked=False, labels={})
    world = Wired(job_of())

    world.pod_handler.on_update(pod, changed(pod))
    assert world.woken() == ([], [])
    world.pod_handler.on_update(pod, changed(pod, labels=SELECTOR))
    assert world.woken() == ([], [KEY])


@pytest.mark.parametrize("tombstone", [False, True])
async def test_a_pod_that_goes_is_crossed_off_once_and_wakes_its_job(tombstone: bool) -> None:
    pod = pod_of()
    world = Wired(job_of(), pod)
    key = f"ns/{pod.metadata.name}"
    world.controller.expectations.expect(JOB, deletions=[key, "ns/another"])
    world.controller.released.expect(JOB, deletions=[pod.metadata.uid])

    world.pod_handler.on_update(pod, changed(pod, deletion_timestamp=NOW))
    assert world.controller.released.awaited_deletions(JOB) == {pod.metadata.uid}
    world.pod_handler.on_delete(DeletedFinalStateUnknown(key, pod) if tombstone else pod)

    assert world.controller.expectations.awaited_deletions(JOB) == {"ns/another"}
    assert not world.controller.released.awaited_deletions(JOB)
    assert world.woken() == ([], [KEY])
    world.pod_handler.on_delete(DeletedFinalStateUnknown("ns/x", None))


async def test_pods_that_go_after_their_job_has_are_orphans() -> None:
    finished = job_of(status=DONE)
    gone, done = Wired(None), Wired(finished)
    pods = [pod_of(deleting=True), pod_of(owner="", deleting=True)]

    for world in (gone, done):
        for pod in pods:
            world.pod_handler.on_update(pod_of(), pod)
        assert world.orphans == [OrphanKey.of_pod(pod).text for pod in pods]
        world.pod_handler.on_delete(pod_of(owner="", tracked=False))
        assert not world.orphans


async def test_a_pod_shown_without_its_finalizer_is_no_longer_awaited() -> None:
    pod = pod_of()
    world = Wired(job_of(), pod)
    world.controller.released.expect(JOB, deletions=[pod.metadata.uid])

    world.pod_handler.on_update(pod, changed(pod))
    assert world.controller.released.awaited_deletions(JOB)
    world.pod_handler.on_update(pod, changed(pod, finalizers=[]))
    assert not world.controller.released.awaited_deletions(JOB)


async def test_a_job_that_finishes_has_the_pods_looked_at_that_it_left() -> None:
    job, done = job_of(), changed(job_of(status=DONE))
    world = Wired(done)

    world.job_handler.on_update(job, done)

    assert world.orphans == [OrphanKey.of_job(done).text]


def orphan(**changes: Any) -> V1Pod:
    return pod_of(**{"name": "orphan", **changes})


@pytest.mark.parametrize(
    ("job", "pod", "released"),
    [
        pytest.param(None, orphan(owner=""), True, id="of nobody's"),
        pytest.param(job_of(uid="another"), orphan(), True, id="of a job that is gone"),
        pytest.param(job_of(status=DONE), orphan(), True, id="of a job that has finished"),
        pytest.param(job_of(), orphan(), False, id="of a job at work"),
        pytest.param(job_of(managedBy="example.com/other", status=DONE), orphan(), False, id="managed by another"),
        pytest.param(None, orphan(owner="", tracked=False), False, id="without the finalizer"),
    ],
)
async def test_an_orphan_loses_its_finalizer(job: V1Job | None, pod: V1Pod, released: bool) -> None:
    world = Wired(job, pod)

    await world.controller.orphan_sync(OrphanKey.of_pod(pod).text)

    patched = [("orphan", {"uid": pod.metadata.uid, "$deleteFromPrimitiveList/finalizers": FINALIZERS})]
    assert world.pods.patches == (patched if released else [])


FINALIZERS = ["batch.kubernetes.io/job-tracking"]


@pytest.mark.parametrize(("kind", "version"), [("Workflow", "batch/v1"), ("Job", "example.com/v1")])
async def test_a_pod_of_another_kind_keeps_its_finalizer(kind: str, version: str) -> None:
    pod = orphan()
    pod.metadata.owner_references[0].kind = kind
    pod.metadata.owner_references[0].api_version = version
    world = Wired(None, pod)

    await world.controller.orphan_sync(OrphanKey.of_pod(pod).text)

    assert not world.pods.patches


@pytest.mark.parametrize("kind", ["Job", "Workflow"])
async def test_a_pod_that_is_owned_but_not_controlled_is_an_orphan(kind: str) -> None:
    pod = orphan()
    pod.metadata.owner_references[0].kind = kind
    pod.metadata.owner_references[0].controller = None
    world = Wired(job_of(), pod)

    await world.controller.orphan_sync(OrphanKey.of_pod(pod).text)

    assert len(world.pods.patches) == 1


async def test_a_job_that_is_being_deleted_adopts_and_releases_nobody() -> None:
    job = job_of(deleting=True)
    world = World(job, [pod_of(owner="", tracked=False), pod_of(labels={"a": "b"})])

    assert not await world.controller.claims.pods_of(job)
    assert not world.pods.patches


async def test_all_that_a_job_left_is_released_though_one_is_refused() -> None:
    job = job_of(status=DONE)
    left = [orphan(name="a"), orphan(name="b"), orphan(name="c", owner=""), orphan(name="d")]
    others = [orphan(name="x", owner="", labels={"a": "b"}), orphan(name="y", tracked=False)]
    world = Wired(job, *left, *others)

    def refuse(name: str) -> None:
        if name == "a":
            raise forbidden("no")
        if name == "b":
            raise not_found()

    world.pods.on_patch = refuse

    with pytest.raises(ExceptionGroup):
        await world.controller.orphan_sync(OrphanKey.of_job(job).text)

    assert sorted(name for name, _ in world.pods.patches) == ["a", "b", "c", "d"]


async def test_a_deleted_pod_is_no_orphan_and_strange_selectors_match_nothing() -> None:
    strange = job_of(selector={"matchExpressions": [{"key": "a", "operator": "Near"}]}, status=DONE)
    world = Wired(strange, orphan(owner=""))

    await world.controller.orphan_sync("pod/ns/gone")
    await world.controller.orphan_sync(OrphanKey.of_job(strange).text)

    assert not world.pods.patches


async def test_matching_pods_are_adopted_with_the_finalizer_and_others_released() -> None:
    job = job_of(parallelism=2, completions=2)
    free, strange = pod_of(owner="", tracked=False, name="free"), pod_of(labels={"a": "b"}, name="strange")
    tracked = pod_of(owner="", name="tracked")
    world = World(job, [free, strange, tracked])

    pods = await world.controller.claims.pods_of(job)

    assert [(pod.metadata.name, pod.metadata.finalizers) for pod in pods] == [
        ("free", FINALIZERS),
        ("tracked", FINALIZERS),
    ]
    assert not free.metadata.finalizers
    patches = dict(world.pods.patches)
    assert patches["free"]["finalizers"] == FINALIZERS
    assert patches["strange"]["$deleteFromPrimitiveList/finalizers"] == FINALIZERS


@pytest.mark.parametrize("why", ["deleted", "made anew"])
async def test_a_job_that_is_not_what_it_was_adopts_nobody(why: str) -> None:
    job, free = job_of(), pod_of(owner="", tracked=False)
    world = World(job, [free])
    world.server.fresh = job_of(deleting=True) if why == "deleted" else job_of(uid="another")

    with pytest.raises(ExceptionGroup):
        await world.controller.claims.pods_of(job)

    assert not world.pods.patches


async def test_a_sync_looks_at_no_pod_that_is_done_and_counted() -> None:
    job = job_of()
    kept = [
        pod_of("Succeeded", name="to-count"),
        pod_of("Failed", tracked=False, name="failed"),
        pod_of("Succeeded", tracked=False, labels={"a": "b"}, name="to-release"),
        pod_of(owner="", tracked=False, name="to-adopt"),
    ]
    done = pod_of("Succeeded", tracked=False, name="done")
    world = World(job, [*kept, done, pod_of(owner="another"), pod_of("Succeeded", owner="another", tracked=False)])
    indexer = world.informers.informer_for(V1Pod).indexer

    assert {pod.metadata.name for pod in pods_of_job(indexer, job)} == {pod.metadata.name for pod in kept}
    assert done_pods_of_job(indexer, job) == [done]
