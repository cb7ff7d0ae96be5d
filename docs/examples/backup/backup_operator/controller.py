"""The controller: keeps a CronJob and the status of each Backup, and empties the store when a Backup is deleted."""

from contextlib import suppress
from dataclasses import dataclass

import aiohttp
from prometheus_client import Counter, Gauge

from backup_operator.api import Backup
from backup_operator.decisions import BACKUP_LABEL, cronjob_of, status_of
from backup_operator.webhooks import webhooks
from kinformer.manager import ControllerContext, SyncError
from kinformer.models import V1CronJob, V1Job, V1Secret
from kinformer.operator import OptionsOf, Reconciler, Referred, Related
from kinformer.options import duration, option, workers

CLEANUPS = Counter("backup_operator_remote_deletions_total", "Deletions at the store.")
FAILURES = Counter("backup_operator_remote_failures_total", "Deletions at the store that failed.")
LAST_SUCCESS = Gauge("backup_operator_last_success_timestamp_seconds", "Last success.", ["namespace", "name"])


@dataclass
class Store:
    """Where the backups are kept. If a call fails, the sync fails, and the queue repeats it."""

    url: str

    async def delete(self, namespace: str, name: str) -> None:
        timeout = aiohttp.ClientTimeout(total=5)
        async with aiohttp.request("DELETE", f"{self.url}/backups/{namespace}/{name}", timeout=timeout) as answer:
            if answer.status not in (200, 202, 204, 404):
                raise SyncError(f"the store answered {answer.status}")


@dataclass(frozen=True)
class BackupOptions:
    concurrent_backup_syncs: int = workers(2, "backups")
    backup_period: float = duration(300.0, "How often every backup is looked at.")
    backup_store: str = option("http://127.0.0.1:9900", "The URL of the store.")


class Backups(Reconciler[Backup]):
    name = "backup-operator"
    owns = (V1CronJob,)
    options = OptionsOf(BackupOptions)
    webhooks = webhooks
    jobs = Related(V1Job, lambda job: [(job.metadata.labels or {}).get(BACKUP_LABEL)])
    secrets = Referred(V1Secret, lambda backup: [backup.spec.secret_name], metadata=True)

    def __init__(self, context: ControllerContext, store: Store | None = None) -> None:
        super().__init__(context)
        self.workers = self.options.concurrent_backup_syncs
        self.store = store or Store(self.options.backup_store)

    async def reconcile(self, obj: Backup) -> float | None:
        backup = await self.finalizer("backups.example.com/store").ensure(obj, self.clean_up)
        if backup is None:
            return None
        secrets, wanted = self.secrets.of(backup), backup.spec.secret_name
        if wanted and not secrets:
            self.event(backup, "SecretMissing", f"the Secret {wanted} does not exist", warning=True)
        else:
            version = secrets[0].metadata.resource_version if secrets else ""
            written = await self.applier.ensure_owned(backup, cronjob_of(backup, version or ""))
            if written.changed:
                self.event(backup, "CronJobApplied", f"The CronJob was {written.outcome.value}.")
        status = status_of(backup, self.jobs.of(backup), bool(wanted and not secrets), self.context.clock.now())
        if status.succeeded > (backup.status.succeeded if backup.status else 0):
            self.event(backup, "BackupSucceeded", f"{status.succeeded} backups are kept.")
        await self.update_status(backup, status)
        if status.last_success:
            LAST_SUCCESS.labels(backup.metadata.namespace, backup.metadata.name).set(status.last_success.timestamp())
        return self.options.backup_period

    async def clean_up(self, backup: Backup) -> None:
        with FAILURES.count_exceptions():
            await self.store.delete(backup.metadata.namespace or "", backup.metadata.name)
        CLEANUPS.inc()
        self.event(backup, "StoreCleaned", "The backups at the store were deleted.")

    async def deleted(self, key: str) -> None:
        with suppress(KeyError):
            LAST_SUCCESS.remove(*key.split("/"))
