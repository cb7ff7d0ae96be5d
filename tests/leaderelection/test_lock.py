from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from kinformer.client import AlreadyExists, Client, Conflict, NotFound, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.leaderelection import ElectionRecord, LeaseLock, LockNotRead, record_from_spec, spec_from_record
from kinformer.models import V1Lease

CLOCK = FakeClock()  # whole seconds: a MicroTime has six digits all the same
RECORD = ElectionRecord("me", 15, CLOCK.now(), CLOCK.now(), 3)


class Recorder:
    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def event(self, obj: Any, type_: str, reason: str, message: str) -> None:
        self.events.append((obj["kind"], obj["metadata"]["name"], type_, reason, message))


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        yield client


def lock_of(client: Client, **options: Any) -> LeaseLock:
    return LeaseLock(client, "default", "x", "me", **options)


async def lease(client: Client) -> dict[str, Any]:
    return await client.resource(dict, V1Lease).get("x", "default")


async def test_a_lease_that_is_not_there_cannot_be_read_nor_updated(client: Client) -> None:
    lock = lock_of(client)
    assert lock.resource_version == ""
    with pytest.raises(NotFound):
        await lock.get()
    with pytest.raises(LockNotRead, match=r"the Lease default/x was not read yet"):
        await lock.update(RECORD)


async def test_what_was_created_is_read(client: Client) -> None:
    lock = lock_of(client)
    await lock.create(RECORD)
    assert await lock.get() == RECORD
    assert lock.resource_version == (await lease(client))["metadata"]["resourceVersion"]
    assert (await lease(client))["spec"]["renewTime"] == "2026-01-01T00:00:00.000000Z"


async def test_a_second_lease_of_one_name_cannot_be_created(client: Client) -> None:
    await lock_of(client).create(RECORD)
    with pytest.raises(AlreadyExists):
        await lock_of(client).create(RECORD)


async def test_an_update_after_somebody_elses_is_a_conflict(client: Client) -> None:
    mine, other = lock_of(client), lock_of(client)
    await mine.create(RECORD)
    await other.get()
    await other.update(ElectionRecord("you", 15))
    with pytest.raises(Conflict):
        await mine.update(RECORD)


async def test_an_event_about_the_lease_names_the_candidate(client: Client) -> None:
    recorder = Recorder()
    lock = lock_of(client, recorder=recorder)
    lock.record_event("became leader")
    await lock.create(RECORD)
    lock.record_event("stopped leading")
    assert recorder.events == [
        ("Lease", "x", "Normal", "LeaderElection", "me became leader"),
        ("Lease", "x", "Normal", "LeaderElection", "me stopped leading"),
    ]
    lock_of(client).record_event("without a recorder nothing is told")


def test_a_lock_is_called_by_namespace_and_name() -> None:
    client: Any = type("Client", (), {"resource": lambda *_: None})()
    assert lock_of(client).describe() == "default/x"


async def test_a_lease_keeps_its_other_fields_and_gets_the_labels(client: Client) -> None:
    lock = lock_of(client, labels={"b": "2"})
    await lock.create(RECORD)
    await client.resource(V1Lease).patch("x", {"metadata": {"labels": {"a": "1", "b": "9"}}}, "default")
    await lock.get()
    await lock.update(RECORD)
    assert (await lease(client))["metadata"]["labels"] == {"a": "1", "b": "2"}


@pytest.mark.parametrize("labels", [None, {"b": "2"}])
async def test_labels_are_set_where_missing_and_only_if_asked_for(
    client: Client, labels: dict[str, str] | None
) -> None:
    await lock_of(client).create(RECORD)
    lock = lock_of(client, labels=labels)
    await lock.get()
    await lock.update(RECORD)
    assert (await lease(client))["metadata"].get("labels") == labels


async def test_annotations_are_set_and_taken_away_with_the_record(client: Client) -> None:
    lock = lock_of(client, annotations=lambda record: {"a": "1" if record.holder_identity else None, "b": "2"})
    await lock.create(RECORD)
    await lock.update(RECORD)
    assert (await lease(client))["metadata"]["annotations"] == {"a": "1", "b": "2"}
    await lock.update(ElectionRecord("", 1))
    assert (await lease(client))["metadata"]["annotations"] == {"b": "2"}


@pytest.mark.parametrize(
    "record",
    [
        ElectionRecord(),
        RECORD,
        ElectionRecord("a", 1, datetime(2026, 1, 1, 0, 0, 0, 5, UTC), None, 2, "OldestEmulationVersion", "b"),
    ],
)
def test_a_record_is_the_same_after_it_stood_in_a_lease(record: ElectionRecord) -> None:
    assert record_from_spec(spec_from_record(record)) == record


def test_a_spec_of_nothing_is_an_empty_record() -> None:
    assert record_from_spec({}) == ElectionRecord()
    assert record_from_spec({"holderIdentity": 3, "leaseDurationSeconds": True, "renewTime": "?"}) == ElectionRecord()
