"""Kinds that make pods: their defaults, selectors, and statuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinformer.envtest.causes import forbidden, immutable, invalid, required
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.envtest.strategy.job_checks import CRON_JOB, JOB_PREFIX, check_job_change
from kinformer.envtest.strategy.job_status import check_job_status
from kinformer.envtest.strategy.pod_checks import check_template
from kinformer.envtest.strategy.podspec import default_template
from kinformer.meta.integers import read_integer

__all__ = (
    "CHECK_CRON_JOB",
    "CHECK_POD_TEMPLATE",
    "ControllerRevisionStrategy",
    "DaemonSetStrategy",
    "JobStrategy",
    "ReplicationControllerStrategy",
    "StatefulSetStrategy",
)


CHECK_POD_TEMPLATE = f.Fields(template=check_template)


def _check_state(data: Any, path: str) -> Iterator[Cause]:
    if not isinstance(data, dict):
        yield required(path, "data must be a valid JSON object")


class ControllerRevisionStrategy(Strategy):
    """A past state of a set. Its data never changes."""

    checks = f.Every(f.not_negative("revision"), f.Fields(data=f.Present(_check_state, detail="data is mandatory")))

    def validate_replacement(self, obj: Obj, old: Obj) -> list[Cause]:
        return [*f.not_negative("revision")(obj, ""), *immutable(obj.get("data"), old.get("data"), "data")]


class ReplicationControllerStrategy(Strategy):
    def default(self, obj: Obj) -> None:
        spec = obj.setdefault("spec", {})
        template = spec.get("template")
        if template is not None:
            labels = template.get("metadata", {}).get("labels")
            if labels:
                if not spec.get("selector"):
                    spec["selector"] = dict(labels)
                if not obj["metadata"].get("labels"):
                    obj["metadata"]["labels"] = dict(labels)
            default_template(template)
        spec.setdefault("replicas", 1)


class DaemonSetStrategy(Strategy):
    _generation = "deprecated.daemonset.template.generation"

    def prepare_for_create(self, obj: Obj) -> None:
        super().prepare_for_create(obj)
        annotations = obj["metadata"].setdefault("annotations", {})
        annotations.setdefault(self._generation, "1")

    def prepare_for_update(self, obj: Obj, old: Obj) -> None:
        super().prepare_for_update(obj, old)
        before = (old["metadata"].get("annotations") or {}).get(self._generation, "1")
        annotations = obj["metadata"].setdefault("annotations", {})
        if obj["spec"].get("template") != old["spec"].get("template"):
            annotations[self._generation] = str((read_integer(before) or 0) + 1)
        else:
            annotations[self._generation] = before


_STATEFUL_UPDATABLE = frozenset(
    (
        *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "minReadySeconds"),
        "persistentVolumeClaimRetentionPolicy",
    )
)


class StatefulSetStrategy(Strategy):
    def default(self, obj: Obj) -> None:
        super().default(obj)
        # The feature gate MaxUnavailableStatefulSet is off in 1.36.
        (obj["spec"]["updateStrategy"].get("rollingUpdate") or {}).pop("maxUnavailable", None)

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        def fixed(spec: Obj) -> Obj:
            return {key: value for key, value in spec.items() if key not in _STATEFUL_UPDATABLE}

        if fixed(obj["spec"]) == fixed(old["spec"]):
            return []
        text = (
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
            "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
        )
        return [forbidden("spec", text)]


class JobStrategy(Strategy):
    """A job is identified by its uid. The labels of its pods and its selector contain the uid."""

    def default(self, obj: Obj) -> None:
        super().default(obj)
        labels = obj["spec"]["template"].get("metadata", {}).get("labels")
        if labels and not obj["metadata"].get("labels"):
            # The same dict on purpose: it shows prepare_for_create that the job has no labels of its own.
            obj["metadata"]["labels"] = labels

    def deletion_warnings(self, said_what_happens: bool) -> list[str]:
        if said_what_happens:
            return []
        text = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
        return [text + "them or set propagationPolicy=Orphan to suppress this warning"]

    def prepare_for_create(self, obj: Obj) -> None:
        super().prepare_for_create(obj)
        spec, metadata = obj["spec"], obj["metadata"]
        if spec.get("manualSelector"):
            return
        given = {"controller-uid": metadata["uid"], "job-name": metadata.get("name", "")}
        template = spec["template"].setdefault("metadata", {})
        own = metadata.get("labels")
        is_own = bool(own) and own is not template.get("labels")
        labels = template["labels"] = dict(template.get("labels") or {})
        for name, value in given.items():
            labels.setdefault(name, value)
            labels.setdefault(JOB_PREFIX + name, value)
        # With a generated name, the real server works on a copy, whose labels are not the template's any more.
        if not is_own and not metadata.get("generateName"):
            metadata["labels"] = dict(labels)
        selector = spec.setdefault("selector", {}).setdefault("matchLabels", {})
        selector.setdefault(f"{JOB_PREFIX}controller-uid", metadata["uid"])

    def validate_subresource_change(self, subresource: str, obj: Obj, old: Obj) -> list[Cause]:
        return list(check_job_status(obj, old)) if subresource == "status" else []

    def validate_update(self, obj: Obj, old: Obj) -> list[Cause]:
        return list(check_job_change(obj, old))


_LONGEST_CRON_JOB = 52  # the names of its jobs are eleven characters longer


def _check_length(job: Obj, _path: str) -> Iterator[Cause]:
    name, metadata = job["metadata"].get("name", ""), job["metadata"]
    if len(name) > _LONGEST_CRON_JOB and not metadata.get("resourceVersion"):
        yield invalid("metadata.name", name, f"must be no more than {_LONGEST_CRON_JOB} characters")


CHECK_CRON_JOB = f.Every(f.Fields(spec=CRON_JOB), _check_length)
