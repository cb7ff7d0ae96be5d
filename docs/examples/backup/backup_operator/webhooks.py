"""The webhooks: API servers call them before they store a Backup, and to convert one to its other version."""

from backup_operator.api import Backup, BackupSpec, OldBackup, OldBackupSpec, Retention
from kinformer.operator.webhooks import AdmissionRequest, Denied, Webhooks

webhooks = Webhooks("backup-operator.example.com")


@webhooks.validating(Backup)
def check(request: AdmissionRequest[Backup]) -> None:
    fields = request.object.spec.schedule.split()
    if len(fields) != 5:
        raise Denied(f"spec.schedule: want five fields, got {len(fields)}", code=422)
    if request.object.spec.retention.keep > 100:
        request.warn("spec.retention.keep: more than 100 backups need much space")


@webhooks.mutating(Backup)
def label(request: AdmissionRequest[Backup]) -> Backup:
    metadata, pvc = request.object.metadata, request.object.spec.target_pvc
    metadata.labels = {"backups.example.com/pvc": pvc, **(metadata.labels or {})}
    return request.object


@webhooks.converting(OldBackup, Backup)
def to_new(old: OldBackup) -> Backup:
    spec = BackupSpec(schedule=old.spec.cron, target_pvc=old.spec.pvc, retention=Retention(keep=old.spec.keep))
    return Backup(metadata=old.metadata, spec=spec, status=old.status)


@webhooks.converting(Backup, OldBackup)
def to_old(new: Backup) -> OldBackup:
    spec = OldBackupSpec(cron=new.spec.schedule, pvc=new.spec.target_pvc, keep=new.spec.retention.keep)
    return OldBackup(metadata=new.metadata, spec=spec, status=new.status)
