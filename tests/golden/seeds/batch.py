"""Jobs and CronJobs: what a user does to them at random, with indexes, policies for failures, and minutes that pass."""

from __future__ import annotations

from typing import Any

from tests.golden.seeds.parts import Draw, Operation, Step, delete, patch, template

__all__ = ("CronJob", "Job", "LimitedJob")


def _job_template(draw: Draw, name: str, version: int) -> dict[str, Any]:
    return template(draw, name, version, restartPolicy="Never")


def _ignores_or_ends(draw: Draw, indexed: bool) -> dict[str, Any]:
    """A policy that tells exit codes 3 and 4 from others."""
    actions = ["FailJob", "Ignore", "Count", *(["FailIndex"] if indexed else [])]
    rules: list[dict[str, Any]] = [
        {"action": draw.one(actions), "onExitCodes": {"containerName": "c", "operator": "In", "values": [3]}},
        {"action": draw.one(actions), "onExitCodes": {"operator": "NotIn", "values": [3, 4, 5]}},
    ]
    if draw.chance(0.4):
        rules.insert(0, {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]})
    return {"rules": rules}


class Job:
    kind = "Job"
    looks = ("Job",)
    #: The controller gathers what happens to pods for a second.
    settle = 2.4
    #: A sync that a conflict stopped comes again after a second, then two.
    settled = 5.0

    def __init__(self, draw: Draw, name: str) -> None:
        self._draw = draw
        self.name = name
        self.selector = f"app={name}"
        self._indexed = draw.chance(0.6)
        completions = draw.number(1, 5)
        spec: dict[str, Any] = {
            "template": _job_template(draw, name, 1),
            "parallelism": draw.weighted([(0, 1), (1, 3), (2, 4), (3, 3), (4, 2)]),
            "completions": completions,
            "backoffLimit": draw.weighted([(0, 1), (1, 2), (2, 2), (6, 2)]),
        }
        if self._indexed:
            spec["completionMode"] = "Indexed"
            if draw.chance(0.5):
                spec["backoffLimitPerIndex"] = draw.number(0, 1)
                del spec["backoffLimit"]
                if draw.chance(0.5):
                    spec["maxFailedIndexes"] = draw.number(0, completions)
            if draw.chance(0.4):
                rule: dict[str, Any] = {"succeededIndexes": f"0-{completions - 1}"}
                if draw.chance(0.7):
                    rule["succeededCount"] = draw.number(1, completions)
                spec["successPolicy"] = {"rules": [rule]}
        elif draw.chance(0.25):
            del spec["completions"]
        if draw.chance(0.4):
            spec["podFailurePolicy"] = _ignores_or_ends(draw, "backoffLimitPerIndex" in spec)
        elif draw.chance(0.3):
            spec["podReplacementPolicy"] = draw.one(["Failed", "TerminatingOrFailed"])
        if draw.chance(0.2):
            spec["suspend"] = True
        if draw.chance(0.15):
            spec["ttlSecondsAfterFinished"] = draw.one([0, 3600])
        self._completions = spec.get("completions")
        self.object = {
            "apiVersion": "batch/v1",
            "kind": self.kind,
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": spec,
        }

    def _patch(self, spec: dict[str, Any]) -> list[Step]:
        return [patch(self.kind, self.name, {"spec": spec})]

    def scale(self) -> Operation:
        parallelism = self._draw.weighted([(0, 1), (1, 2), (2, 2), (3, 2), (5, 1)])
        spec: dict[str, Any] = {"parallelism": parallelism}
        if self._indexed and parallelism and self._draw.chance(0.3):
            spec["completions"] = parallelism
        return f"scale to {spec}", self._patch(spec)

    def suspend(self) -> Operation:
        return "suspend", self._patch({"suspend": True})

    def resume(self) -> Operation:
        return "resume", self._patch({"suspend": False})

    def live_on(self) -> Operation:
        return "clean up later", self._patch({"ttlSecondsAfterFinished": self._draw.one([3600, None])})

    def make_anew(self) -> Operation:
        policy = self._draw.one(["Orphan", "Background", "Foreground"])
        steps = [delete(self.kind, self.name, policy), {"settle": 5.0}, {"create": self.object}]
        return f"delete ({policy}) and make anew", steps

    def operations(self) -> list[tuple[Any, int]]:
        return [(self.scale, 3), (self.suspend, 2), (self.resume, 3), (self.live_on, 1), (self.make_anew, 1)]


class LimitedJob(Job):
    """A Job that also has deadlines, is soon cleaned up, and is suspended and resumed more often."""

    def __init__(self, draw: Draw, name: str) -> None:
        super().__init__(draw, name)
        spec = self.object["spec"]
        if draw.chance(0.2):
            spec["activeDeadlineSeconds"] = 3600
        if draw.chance(0.15):
            spec["ttlSecondsAfterFinished"] = 2
        # The others need pods whose containers are not started again.
        if draw.chance(0.4) and not {"backoffLimitPerIndex", "podFailurePolicy"} & spec.keys():
            spec["template"]["spec"]["restartPolicy"] = "OnFailure"

    def limit_time(self) -> Operation:
        seconds = self._draw.weighted([(1, 3), (3600, 2), (None, 1)])
        return f"a deadline of {seconds} s", [*self._patch({"activeDeadlineSeconds": seconds}), {"sleep": 3}]

    def operations(self) -> list[tuple[Any, int]]:
        return [*super().operations(), (self.suspend, 2), (self.resume, 2), (self.limit_time, 2)]


class CronJob:
    """
    A CronJob that is suspended but for moments.

    How long the steps of a scenario take must not decide how often it runs. So it is resumed soon after a minute has
    begun, makes good the run that it has missed, and is suspended before the next minute.
    """

    kind = "CronJob"
    looks = ("CronJob", "Job")
    settle = 2.4
    settled = 5.0
    #: How many minutes may pass in one scenario.
    minutes = 3

    def __init__(self, draw: Draw, name: str) -> None:
        self._draw = draw
        self.name = name
        self.selector = f"app={name}"
        self._version = 1
        spec: dict[str, Any] = {
            "schedule": draw.weighted([("* * * * *", 5), ("*/1 * * * *", 1), ("0 0 1 1 *", 0)]),
            "concurrencyPolicy": draw.one(["Allow", "Forbid", "Replace"]),
            "suspend": True,
            "jobTemplate": self._template(),
        }
        if draw.chance(0.4):
            spec["successfulJobsHistoryLimit"] = draw.number(0, 2)
        if draw.chance(0.4):
            spec["failedJobsHistoryLimit"] = draw.number(0, 2)
        if draw.chance(0.2):
            spec["timeZone"] = draw.one(["Etc/UTC", "Europe/Berlin"])
        if draw.chance(0.3):
            spec["startingDeadlineSeconds"] = draw.one([30, 200])
        self.object = {"apiVersion": "batch/v1", "kind": self.kind, "metadata": {"name": name}, "spec": spec}

    def _template(self) -> dict[str, Any]:
        job: dict[str, Any] = {"template": _job_template(self._draw, self.name, self._version)}
        job["backoffLimit"] = self._draw.number(0, 1)
        job["parallelism"] = self._draw.number(1, 2)
        return {"metadata": {"labels": {"app": self.name}, "annotations": {"note": "<&>"}}, "spec": job}

    def _patch(self, spec: dict[str, Any]) -> list[Step]:
        return [patch(self.kind, self.name, {"spec": spec})]

    def wait(self) -> Operation:
        resume, suspend = self._patch({"suspend": False}), self._patch({"suspend": True})
        return "run once in the next minute", [{"until_minute": 8}, *resume, {"settle": 5.0}, *suspend]

    def reschedule(self) -> Operation:
        schedule = self._draw.one(["* * * * *", "0 0 1 1 *"])
        return f"schedule {schedule}", self._patch({"schedule": schedule})

    def roll(self) -> Operation:
        self._version += 1
        body = [{"op": "replace", "path": "/spec/jobTemplate", "value": self._template()}]
        return f"roll to {self._version}", [patch(self.kind, self.name, body, "json")]

    def restrict(self) -> Operation:
        policy = self._draw.one(["Allow", "Forbid", "Replace"])
        return f"concurrency {policy}", self._patch({"concurrencyPolicy": policy})

    def limit_history(self) -> Operation:
        limits = {
            "successfulJobsHistoryLimit": self._draw.number(0, 1),
            "failedJobsHistoryLimit": self._draw.number(0, 1),
        }
        return "limit the history", self._patch(limits)

    def delete_a_job(self) -> Operation:
        options = {"propagationPolicy": self._draw.one(["Background", "Foreground"])}
        first = {"kind": "Job", "selector": self.selector, "by": "", "options": options}
        return "delete a job", [{"delete_first": first}]

    def operations(self) -> list[tuple[Any, int]]:
        return [
            (self.wait, 12),
            (self.reschedule, 1),
            (self.roll, 2),
            (self.restrict, 2),
            (self.limit_history, 2),
            (self.delete_a_job, 1),
        ]
