"""The revisions of StatefulSets."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from kinformer.client.errors import Status, error_from_status
from kinformer.manager import SyncError
from kinformer.meta import label_selector_as_selector
from kinformer.models import V1ControllerRevision, V1StatefulSet, from_dict, to_dict
from kinformer_controllers.statefulset.revisions import StatefulSetRevisions, restore, revision_data
from tests.controllers.objects import FakeInformers
from tests.controllers.statefulset.objects import make_set, reference
from tests.controllers.statefulset.world import running

SELECTOR = label_selector_as_selector({"matchLabels": {"app": "web"}})


class World:
    def __init__(self) -> None:
        self.informer = FakeInformers().informer_for(V1ControllerRevision)
        self.writes: list[str] = []
        #: Answers a create of a name that is taken.
        self.there: V1ControllerRevision | None = None

        async def create(revision: V1ControllerRevision) -> V1ControllerRevision:
            if self.there is not None and self.there.metadata.name == revision.metadata.name:
                raise error_from_status(Status(code=409, reason="AlreadyExists", message="already exists"))
            self.writes.append("create")
            return revision

        async def update(revision: V1ControllerRevision) -> V1ControllerRevision:
            self.writes.append(f"update {revision.metadata.name} to {revision.revision}")
            return revision

        async def get(name: str, namespace: str) -> Any:
            return self.there

        client: Any = SimpleNamespace(resource=lambda _: SimpleNamespace(create=create, update=update, get=get))
        self.revisions = StatefulSetRevisions(client, self.informer)

    def keep(self, statefulset: V1StatefulSet, number: int, name: str, data: Any = None) -> V1ControllerRevision:
        revision = from_dict(
            V1ControllerRevision,
            {
                "metadata": {
                    "name": name,
                    "namespace": "ns",
                    "labels": {"app": "web"},
                    "ownerReferences": [reference(statefulset)],
                },
                "data": data or revision_data(statefulset),
                "revision": number,
            },
        )
        self.informer.indexer.add(revision)
        return revision


async def test_a_changed_template_makes_a_new_revision() -> None:
    world = World()
    world.keep(make_set(), 1, "web-one")

    found = await world.revisions.of(make_set(image="new", status={"currentRevision": "web-one"}), SELECTOR)

    assert world.writes == ["create"]
    assert found.current.revision == "web-one"
    assert to_dict(found.current.statefulset)["spec"]["template"]["spec"]["containers"][0]["image"] == "img"


async def test_an_unchanged_template_makes_none() -> None:
    world = World()
    world.keep(make_set(image="old"), 1, "web-one")
    world.keep(make_set(), 2, "web-two")

    found = await world.revisions.of(make_set(replicas=9, status={"currentRevision": "web-two"}), SELECTOR)

    assert world.writes == []
    assert (found.current.revision, found.update.revision) == ("web-two", "web-two")


async def test_an_equal_revision_that_is_old_is_made_the_newest() -> None:
    world = World()
    world.keep(make_set(), 1, "web-one")
    world.keep(make_set(image="new"), 2, "web-two")

    found = await world.revisions.of(make_set(status={"currentRevision": "web-two"}), SELECTOR)

    assert world.writes == ["update web-one to 3"]
    assert (found.current.revision, found.update.revision) == ("web-two", "web-one")


async def test_the_current_revision_is_the_one_that_the_status_names() -> None:
    world = World()
    world.keep(make_set(image="old"), 1, "web-one")
    world.keep(make_set(), 2, "web-two")

    named = await world.revisions.of(make_set(status={"currentRevision": "web-one"}), SELECTOR)
    gone = await world.revisions.of(make_set(status={"currentRevision": "web-gone"}), SELECTOR)

    assert named.current.revision == "web-one"
    assert gone.current.revision == "web-two"


async def test_a_name_that_is_taken_is_counted_and_another_one_used() -> None:
    world = World()
    plain = await World().revisions.of(make_set(), SELECTOR)
    world.there = world.keep(make_set(image="other"), 1, plain.update.revision)
    world.informer.indexer.delete(world.there)

    found = await world.revisions.of(make_set(), SELECTOR)

    assert found.collisions == 1
    assert found.update.revision != plain.update.revision


async def test_a_revision_that_an_older_version_wrote_differently_is_the_same() -> None:
    world = World()
    data = revision_data(make_set())
    data["spec"]["template"]["metadata"]["creationTimestamp"] = None
    world.keep(make_set(), 1, "web-one", data)

    found = await world.revisions.of(make_set(), SELECTOR)

    assert world.writes == []
    assert found.update.revision == "web-one"


def test_a_revision_restores_the_template_that_it_keeps() -> None:
    revision = World().keep(make_set(image="old"), 1, "web-one")

    restored = restore(make_set(replicas=7, image="new"), revision)

    assert to_dict(restored)["spec"]["template"]["spec"]["containers"][0]["image"] == "old"
    assert restored.spec.replicas == 7


@pytest.mark.parametrize(
    "data", [{"spec": 1}, {"spec": {"template": []}}, {"spec": {"template": {"metadata": 3}}}], ids=str
)
def test_a_revision_that_keeps_something_else_is_named(data: Any) -> None:
    revision = World().keep(make_set(), 1, "web-one")
    revision.data = data

    with pytest.raises(SyncError, match="ControllerRevision web-one does not keep the template of a StatefulSet"):
        restore(make_set(), revision)


@pytest.mark.parametrize("data", [{"spec": {"replicas": 3}}, {"garbage": True}], ids=str)
def test_a_revision_that_keeps_no_template_leaves_that_of_the_set(data: Any) -> None:
    statefulset = make_set(image="new")

    assert restore(statefulset, World().keep(statefulset, 1, "web-one", data)) == statefulset


async def test_garbage_that_calls_itself_a_revision_of_a_set_holds_up_nothing() -> None:
    async with running() as world:
        await world.apply(make_set(1))
        await world.bring_up()
        for name, data in (("web-junk", {"garbage": True}), ("web-worse", {"spec": {"template": "garbage"}})):
            meta = {"name": name, "namespace": "default", "labels": {"app": "web"}}
            # Without a number, too.
            await world.client.resource(V1ControllerRevision).create({"metadata": meta, "data": data})
        await world.image("second")
        await world.remove()
        await world.bring_up()

        assert await world.shown() == ["web-0 second Running"]
        status = await world.status()
        assert status["currentRevision"] == status["updateRevision"] not in ("web-junk", "web-worse")


async def test_a_revisions_keys_are_sorted_as_kubectl_and_kubernetes_do() -> None:
    async with running() as world:
        await world.apply(make_set(1))
        (revision,) = (await world.client.resource(V1ControllerRevision).list("default")).items

        assert json.dumps(revision.data) == json.dumps(revision.data, sort_keys=True)


def test_large_numbers_pass_through_floats_as_in_kubernetes() -> None:
    statefulset = make_set()
    statefulset.spec.template.spec.termination_grace_period_seconds = 2**63 - 1
    statefulset.spec.template.spec.active_deadline_seconds = 2**53 + 1

    spec = revision_data(statefulset)["spec"]["template"]["spec"]

    # As Go prints its 64-bit floats of these numbers.
    assert spec["terminationGracePeriodSeconds"] == 9223372036854776000
    assert spec["activeDeadlineSeconds"] == 9007199254740992


async def test_an_orphan_revision_is_adopted() -> None:
    async with running() as world:
        await world.apply(make_set(1))
        statefulset = await world.sets.get("web", "default")
        data = revision_data(statefulset)
        data["spec"]["template"]["spec"]["containers"][0]["image"] = "ancient"
        meta = {"name": "web-ancient", "namespace": "default", "labels": {"app": "web"}}
        await world.client.resource(V1ControllerRevision).create({"metadata": meta, "data": data, "revision": 1})
        await world.sets.patch("web", {"metadata": {"labels": {"wake": "up"}}}, "default")
        await world.settle()

        adopted = await world.client.resource(V1ControllerRevision).get("web-ancient", "default")
        assert [one.name for one in adopted.metadata.owner_references or ()] == ["web"]


async def test_the_status_is_written_though_a_pod_was_refused() -> None:
    async with running() as world:
        limits = {"spec": {"limits": [{"type": "Pod", "min": {"cpu": "1"}}]}}
        await world.client.request(
            "POST",
            "/api/v1/namespaces/default/limitranges",
            body={"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, **limits},
        )
        await world.apply(make_set(1))

        assert await world.names() == []
        status = await world.status()
        assert (status["observedGeneration"], status["replicas"]) == (1, 0)
