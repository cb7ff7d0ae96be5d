"""The resource, in two versions. Objects are stored as ``v1``."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, field

from kinformer.models import V1Condition
from kinformer.operator import Column, CustomResource, Fields, immutable, list_map, rule


class Retention(Fields):
    """How long backups are kept."""

    keep: Annotated[int, Meta(ge=1, le=1000, description="Successful backups to keep.")] = 7
    max_age_days: Annotated[int, Meta(ge=1)] | None = None


class BackupSpec(Fields):
    schedule: Annotated[str, Meta(min_length=9, description="When, as in cron.")]
    target_pvc: Annotated[str, Meta(min_length=1, description="The claim that is backed up."), immutable()]
    retention: Retention = field(default_factory=Retention)
    secret_name: str | None = None
    suspend: bool = False
    rules = (rule("!self.suspend || self.retention.keep >= 1", "a suspended backup keeps at least one"),)


class BackupStatus(Fields):
    observed_generation: int = 0
    active: int = 0
    succeeded: int = 0
    last_success: datetime | None = None
    conditions: Annotated[list[V1Condition], list_map("type")] = []


class Backup(
    CustomResource[BackupSpec, BackupStatus],
    group="backups.example.com",
    version="v1",
    plural="backups",
    short_names=("bk",),
    columns=(
        Column("Schedule", ".spec.schedule"),
        Column("PVC", ".spec.targetPvc"),
        Column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
        Column("Last Success", ".status.lastSuccess"),
        Column("Keep", ".spec.retention.keep", priority=1),
        Column("Age", ".metadata.creationTimestamp"),
    ),
):
    """A backup of a volume, by a schedule."""


class OldBackupSpec(Fields):
    cron: str
    pvc: str
    keep: int = 7


class OldBackup(
    CustomResource[OldBackupSpec, BackupStatus],
    group="backups.example.com",
    version="v1alpha1",
    kind="Backup",
    plural="backups",
    storage=False,
    deprecated="use backups.example.com/v1",
):
    """A backup of a volume, by a schedule."""
