"""Tests the operator against a server, with the permissions of its manifest alone; its decisions; and a simulation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from backup_operator.api import Backup, BackupSpec, OldBackup, OldBackupSpec
from backup_operator.controller import Backups, Store
from backup_operator.decisions import cronjob_of, status_of

from kinformer.client import Client, Invalid
from kinformer.envtest import ApiServer, assert_no_writes, eventually, running
from kinformer.envtest.nodes import FakeNodes
from kinformer.manager import Manager
from kinformer.models import CoreV1Event, V1CronJob, V1Job, V1ObjectMeta, V1Secret, from_dict, to_dict
from kinformer.operator import definition_of, get_condition
from kinformer.operator.webhooks import WebhookServing
from kinformer.permissions import permissions_of
from kinformer.simulation import World, simulate
from kinformer.simulation.schema import Subject, try_fields

NOW = datetime(2026, 1, 1, tzinfo=UTC)

#: The certificate is in the Secret for which the manifest gives the permission.
SERVING = WebhookServing(host="127.0.0.1", port=0, secret=("backup-operator", "backup-operator-certificate"))


class FakeStore(Store):
    def __init__(self) -> None:
        super().__init__("http://nowhere")
        self.failures, self.calls = 0, 0
        self.deleted: list[str] = []

    async def delete(self, namespace: str, name: str) -> None:
        self.calls += 1
        if self.calls <= self.failures:
            raise RuntimeError("the store is down")
        self.deleted.append(f"{namespace}/{name}")


def backup(name: str = "db", **spec: Any) -> Backup:
    values: dict[str, Any] = {"schedule": "*/5 * * * *", "target_pvc": "data", **spec}
    return Backup(metadata=V1ObjectMeta(name=name, namespace="default"), spec=BackupSpec(**values))


def secret(name: str) -> V1Secret:
    return V1Secret(metadata=V1ObjectMeta(name=name, namespace="default"))


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
async def client(kinformer_client: Client, operator_client: Client, store: FakeStore) -> AsyncIterator[Client]:
    """A user's client, while the operator works and the server asks its webhooks."""
    manager = Manager(operator_client, known={"backup-operator": lambda it: Backups(it, store)}, webhooks=SERVING)
    async with running(manager):
        await eventually(lambda: not manager.unready())
        yield kinformer_client


async def condition(client: Client, kind: str = "Ready") -> str:
    found = await client.resource(Backup).get("db", "default")
    status = get_condition(found.status.conditions if found.status else None, kind)
    return (status.reason or "") if status else ""


async def until_reason(client: Client, wanted: str, kind: str = "Ready") -> None:
    async def check() -> None:
        assert await condition(client, kind) == wanted

    await eventually(check)


async def test_a_backup_gets_its_cronjob(client: Client, kinformer_api_server: ApiServer) -> None:
    made = await client.resource(Backup).create(backup())
    await until_reason(client, "Scheduled")

    cronjob = await client.resource(V1CronJob).get("db", "default")
    assert [owner.uid for owner in cronjob.metadata.owner_references or ()] == [made.metadata.uid]
    await assert_no_writes(kinformer_api_server)


async def test_the_secret_wakes_the_backup(client: Client) -> None:
    await client.resource(Backup).create(backup(secret_name="s3"))
    await until_reason(client, "SecretMissing")

    await client.resource(V1Secret).create(secret("s3"))

    await until_reason(client, "Scheduled")


async def test_what_it_does_is_told_in_events(client: Client) -> None:
    await client.resource(Backup).create(backup())

    async def told() -> None:
        events = (await client.resource(CoreV1Event).list("default")).items
        assert "CronJobApplied" in [event.reason for event in events]

    await eventually(told)


async def test_the_claim_cannot_be_changed(client: Client) -> None:
    await client.resource(Backup).create(backup())

    with pytest.raises(Invalid, match="cannot be changed"):
        await client.resource(Backup).patch("db", {"spec": {"targetPvc": "other"}}, "default")


async def test_a_store_that_is_down_is_asked_again(client: Client, store: FakeStore) -> None:
    store.failures = 3
    await client.resource(Backup).create(backup())
    await until_reason(client, "Scheduled")
    await client.resource(Backup).delete("db", "default")

    async def is_gone() -> bool:
        return not (await client.resource(Backup).list("default")).items

    await eventually(is_gone)
    assert (store.deleted, store.calls) == (["default/db"], 4)
    events = (await client.resource(CoreV1Event).list("default")).items
    assert {"CleanupFailed", "StoreCleaned"} <= {event.reason for event in events}


@pytest.mark.kinformer_controllers("job", "cronjob")
async def test_a_run_is_in_the_status(client: Client, kinformer_fake_nodes: FakeNodes) -> None:
    await client.resource(Backup).create(backup())
    await until_reason(client, "Scheduled")
    cronjob = await client.resource(V1CronJob).get("db", "default")
    template = to_dict(cronjob.spec.job_template)
    template["spec"]["template"]["metadata"]["annotations"] = {"fake-nodes.kinformer.dev/run-seconds": "0.1"}
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "db", "uid": cronjob.metadata.uid, "controller": True}
    metadata = {"name": "db-1", "namespace": "default", "ownerReferences": [owner], **template["metadata"]}

    await client.resource(V1Job).create(from_dict(V1Job, {"metadata": metadata, "spec": template["spec"]}))

    async def seen() -> None:
        found = await client.resource(Backup).get("db", "default")
        assert found.status is not None
        assert (found.status.succeeded, found.status.last_success is not None) == (1, True)

    await eventually(seen, seconds=15)
    await until_reason(client, "Complete", "LastRunSucceeded")


async def test_a_wrong_schedule_is_refused(client: Client) -> None:
    with pytest.raises(Invalid, match="want five fields, got 6"):
        await client.resource(Backup).create(backup(schedule="every day at five o clock"))


async def test_the_label_is_filled_in(client: Client) -> None:
    made = await client.resource(Backup).create(backup())

    assert made.metadata.labels == {"backups.example.com/pvc": "data"}


async def test_the_old_version_is_converted(client: Client) -> None:
    spec = OldBackupSpec(cron="1 2 3 4 *", pvc="p", keep=3)
    old = OldBackup(metadata=V1ObjectMeta(name="old", namespace="default"), spec=spec)
    await client.resource(OldBackup).create(old)

    new = await client.resource(Backup).get("old", "default")
    assert (new.spec.schedule, new.spec.target_pvc, new.spec.retention.keep) == ("1 2 3 4 *", "p", 3)


def test_without_a_run_nothing_is_known_of_one() -> None:
    status = status_of(backup(), [], False, NOW)

    found = get_condition(status.conditions, "LastRunSucceeded")
    assert found is not None
    assert (found.status, status.last_success) == ("Unknown", None)


def test_a_run_counts() -> None:
    done = {"completionTime": "2025-12-31T00:00:00Z", "conditions": [{"type": "Complete", "status": "True"}]}
    metadata = {"name": "a", "creationTimestamp": "2025-12-30T00:00:00Z"}
    status = status_of(backup(), [from_dict(V1Job, {"metadata": metadata, "status": done})], False, NOW)

    assert (status.succeeded, status.active) == (1, 0)
    assert status.last_success == datetime(2025, 12, 31, tzinfo=UTC)


def test_the_cronjob_has_the_secret() -> None:
    made = to_dict(cronjob_of(backup(secret_name="s"), "5"))

    (container,) = made["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert container["envFrom"] == [{"secretRef": {"name": "s"}}]


@simulate(seeds=3)
async def test_a_backup_lives_and_dies(world: World) -> None:
    store = FakeStore()
    await world.apply(definition_of(Backup, OldBackup))
    world.manager({"backup-operator": lambda context: Backups(context, store)})
    await world.apply(backup(secret_name="s3"))
    await world.settled()
    await world.apply(secret("s3"))
    await world.settled()
    await world.patch(Backup, "db", {"spec": {"schedule": "1 * * * *"}})
    await world.settled()
    await world.delete(Backup, "db")
    await world.settled()
    assert "default/db" in store.deleted


def test_every_field_of_a_backup_may_be_changed_and_changed_back() -> None:
    def begin(world: World) -> None:
        world.manager({"backup-operator": lambda context: Backups(context, FakeStore())})

    # If a Secret is missing, a CronJob that is there goes on with the earlier settings, and a new one is not made.
    report = try_fields(Subject(begin, [definition_of(Backup, OldBackup), backup()], one_way=["spec.secretName"]))

    assert report.is_clean, report
    assert "spec.retention.maxAgeDays" in report.tried


def test_the_manifest_has_the_definition_and_the_permissions_of_the_classes() -> None:
    manifests = list(yaml.safe_load_all((Path(__file__).parent / "manifest.yaml").read_text()))
    found = {(one["kind"], one["metadata"]["name"]): one for one in manifests}

    definition = found["CustomResourceDefinition", "backups.backups.example.com"]
    assert definition == to_dict(definition_of(Backup, OldBackup)), "make it anew: kinformer crd backup_operator"
    rules = found["ClusterRole", "kinformer:backup-operator"]["rules"]
    asked = {(verb, name) for rule in rules for verb in rule["verbs"] for name in rule["resources"]}
    needed = permissions_of(Backups.permissions)
    assert asked == {(one.verb, f"{one.resource}/{one.part}" if one.part else one.resource) for one in needed}, (
        "make them anew: kinformer rbac backup_operator.controller:Backups …"
    )
