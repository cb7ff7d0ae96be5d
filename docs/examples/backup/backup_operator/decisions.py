"""Makes the CronJob of a Backup, and its status from its Jobs."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from backup_operator.api import Backup, BackupStatus
from kinformer.models import V1CronJob, V1Job, from_dict
from kinformer.operator import is_condition_true, set_condition

BACKUP_LABEL = "backups.example.com/backup"


def cronjob_of(backup: Backup, secret_version: str) -> V1CronJob:
    spec, labels = backup.spec, {BACKUP_LABEL: backup.metadata.name}
    days = spec.retention.max_age_days
    older = ["--max-age-days", str(days)] if days is not None else []
    container = {
        "name": "backup",
        "image": "backup:1",
        "args": ["--keep", str(spec.retention.keep), *older],
        "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
        "envFrom": [{"secretRef": {"name": spec.secret_name}}] if spec.secret_name else [],
    }
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": spec.target_pvc}}]
    pod = {"restartPolicy": "Never", "containers": [container], "volumes": volumes}
    annotations = {"backups.example.com/secret": secret_version}
    job = {"backoffLimit": 2, "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod}}
    cronjob = {
        "schedule": spec.schedule,
        "suspend": spec.suspend,
        "concurrencyPolicy": "Forbid",
        "successfulJobsHistoryLimit": min(spec.retention.keep, 10),
        "jobTemplate": {"metadata": {"labels": labels}, "spec": job},
    }
    return from_dict(V1CronJob, {"metadata": {"name": backup.metadata.name, "labels": labels}, "spec": cronjob})


def status_of(backup: Backup, jobs: Sequence[V1Job], secret_missing: bool, now: datetime) -> BackupStatus:
    old, generation = backup.status or BackupStatus(), backup.metadata.generation
    done = [job for job in jobs if is_condition_true(job.status.conditions, "Complete")]
    failed = [job for job in jobs if is_condition_true(job.status.conditions, "Failed")]
    put = partial(set_condition, observed_generation=generation, now=now)
    if secret_missing:
        ready = (False, "SecretMissing", f"the Secret {backup.spec.secret_name} does not exist")
    elif backup.spec.suspend:
        ready = (False, "Suspended", "spec.suspend is set")
    else:
        ready = (True, "Scheduled", f"runs at {backup.spec.schedule}")
    conditions = put(old.conditions, "Ready", ready[0], reason=ready[1], message=ready[2])
    newest = max([*done, *failed], key=lambda job: job.metadata.creation_timestamp or now, default=None)
    ran = (None, "NoRun") if newest is None else (True, "Complete") if newest in done else (False, "Failed")
    name = newest.metadata.name if newest else ""
    successes = [old.last_success, *(job.status.completion_time for job in done)]
    return BackupStatus(
        observed_generation=generation or 0,
        active=len(jobs) - len(done) - len(failed),
        succeeded=len(done),
        last_success=max((time for time in successes if time), default=None),
        conditions=put(conditions, "LastRunSucceeded", ran[0], reason=ran[1], message=name),
    )
