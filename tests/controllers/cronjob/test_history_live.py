"""A CronJob that keeps no finished jobs, against the embedded server."""

from __future__ import annotations

from kinformer.client import connect
from kinformer.models import CoreV1Event, V1CronJob, V1Job, V1Pod, from_dict
from tests.golden.pace import scenario_clock
from tests.golden.scenario_command import serving
from tests.turning import turn

POD = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}


async def test_a_job_that_it_has_deleted_itself_is_not_missed() -> None:
    clock = scenario_clock()
    async with (
        serving(controllers=("cronjob", "job"), clock=clock) as (url, token),
        connect(url=url, token=token, clock=clock) as client,
    ):
        spec = {"schedule": "* * * * *", "successfulJobsHistoryLimit": 0}
        spec["jobTemplate"] = {"spec": {"template": {"spec": POD}}}
        meta = {"name": "h", "namespace": "default"}
        await client.resource(V1CronJob).create(from_dict(V1CronJob, {"metadata": meta, "spec": spec}))
        for _ in range(3):
            await turn(clock, 62)
            for pod in (await client.resource(V1Pod).list("default")).items:
                succeeded = {"status": {"phase": "Succeeded"}}
                await client.resource(V1Pod).patch(pod.metadata.name, succeeded, "default", subresource="status")
            await turn(clock, 3)

        reasons = [event.reason for event in (await client.resource(CoreV1Event).list("default")).items]
        jobs = (await client.resource(V1Job).list("default")).items

    assert set(reasons) == {"SuccessfulCreate", "Completed", "SuccessfulDelete"}
    assert [job.metadata.name for job in jobs if not job.metadata.deletion_timestamp] == []
