"""Rollout: a Deployment and its ReplicaSets during one sync. No I/O.

The new ReplicaSet is the one with the Deployment's template, whatever its hash; all others are old.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final

from kinformer.controllerutil.conditions import get_condition, put_condition
from kinformer.models import (
    V1Deployment,
    V1DeploymentCondition,
    V1ObjectMeta,
    V1PodSpec,
    V1PodTemplateSpec,
    V1ReplicaSet,
    semantically_equal,
    to_dict,
)
from kinformer_controllers.deployment.annotations import REVISION, annotations_of
from kinformer_controllers.deployment.limits import age
from kinformer_controllers.deployment.status import (
    PROGRESSING,
    condition,
    has_progress_deadline,
    same_status,
    status_of,
)
from kinformer_controllers.shared.history import hashing as history

__all__ = (
    "HASH_LABEL",
    "Rollout",
    "TemplateMemory",
    "find_new",
    "find_old",
    "replica_set_name",
    "same_template",
    "template_hash",
    "without_hash",
)

#: The label with the template's hash, on a ReplicaSet, in its selector and on its pods.
HASH_LABEL: Final = "pod-template-hash"

#: The longest name that an object may have.
_NAME_LENGTH: Final = 253

Same = Callable[[V1Deployment, V1ReplicaSet], bool]


def same_template(one: V1PodTemplateSpec, other: V1PodTemplateSpec) -> bool:
    """
    Whether two templates mean the same to Kubernetes. The hash label is ignored.

    An empty object is not a missing one: ``namespaceSelector: {}`` must be rolled out.
    """
    # Not the templates as a whole: `==`, which is tried first on them, decodes the containers of both.
    return semantically_equal(_metadata(one), _metadata(other)) and semantically_equal(
        one.spec or V1PodSpec(), other.spec or V1PodSpec()
    )


def without_hash(template: V1PodTemplateSpec) -> V1PodTemplateSpec:
    """Return the template without the hash label, as in the Deployment."""
    meta = template.metadata
    if meta is None or HASH_LABEL not in (meta.labels or {}):
        return template
    template = copy.copy(template)
    template.metadata = copy.copy(meta)
    template.metadata.labels = {key: it for key, it in (meta.labels or {}).items() if key != HASH_LABEL}
    return template


def template_hash(template: V1PodTemplateSpec, collision_count: int | None) -> str:
    """
    Return the hash for the name of a template's ReplicaSet. It differs from Kubernetes' hash, which does no harm: the
    new ReplicaSet is found by its template alone.

    :param collision_count: how often the name was taken by another ReplicaSet
    """
    return history.template_hash(to_dict(template), collision_count)


def replica_set_name(deployment: str, hash_: str) -> str:
    """Return the name of a Deployment's ReplicaSet."""
    return f"{deployment[: _NAME_LENGTH - 1 - len(hash_)]}-{hash_}"


def find_new(
    deployment: V1Deployment, replica_sets: Iterable[V1ReplicaSet], same: Same | None = None
) -> V1ReplicaSet | None:
    """Return the ReplicaSet with the Deployment's template; the oldest if there are several."""
    same = same or _is_of_template
    return next((each for each in sorted(replica_sets, key=age) if same(deployment, each)), None)


def find_old(replica_sets: Iterable[V1ReplicaSet], new: V1ReplicaSet | None) -> list[V1ReplicaSet]:
    """Return all ReplicaSets except the new one, the oldest first."""
    uid = new.metadata.uid if new is not None else None
    return [each for each in sorted(replica_sets, key=age) if each.metadata.uid != uid]


class TemplateMemory:
    """
    Remembers for each Deployment which ReplicaSets have its template, until the spec of either changes.

    Comparing two different templates takes 0.1 ms, and a Deployment is synced about a dozen times in a rollout.
    """

    def __init__(self) -> None:
        self._known: dict[str, dict[tuple[Any, ...], bool]] = {}

    def forget(self, key: str, uid: str = "") -> None:
        """Forget a Deployment that is gone."""
        self._known.pop(key, None)

    def comparing(self, key: str) -> Same:
        """Return the comparison for one sync of a Deployment. Results that it does not use are forgotten."""
        before = self._known.get(key, {})
        now = self._known[key] = {}

        def same(deployment: V1Deployment, replica_set: V1ReplicaSet) -> bool:
            one, other = deployment.metadata, replica_set.metadata
            what = (one.uid, one.generation, other.uid, other.generation)
            found = before.get(what)
            if found is None:
                found = _is_of_template(deployment, replica_set)
            now[what] = found
            return found

        return same


def _is_of_template(deployment: V1Deployment, replica_set: V1ReplicaSet) -> bool:
    return same_template(replica_set.spec.template, deployment.spec.template)


def _metadata(template: V1PodTemplateSpec) -> Any:
    meta = without_hash(template).metadata
    if meta is None:
        return V1ObjectMeta()
    return meta


class Rollout:
    """
    A Deployment and its ReplicaSets, with the writes of this sync so far.

    :param deployment: the Deployment from the cache; it is not changed
    :param replica_sets: the ReplicaSets that it owns
    :param same: whether a ReplicaSet has the Deployment's template
    :param now: the time of this sync
    """

    def __init__(
        self, deployment: V1Deployment, replica_sets: Iterable[V1ReplicaSet], same: Same | None, now: datetime
    ) -> None:
        self.deployment = deployment
        self.now = now
        #: The new status: conditions and collisions. The counts are added at the end.
        self.status = status_of(deployment)
        #: The new value of the Deployment's revision annotation.
        self.revision = annotations_of(deployment).get(REVISION)
        replica_sets = list(replica_sets)
        self.new = find_new(deployment, replica_sets, same)
        self.old = find_old(replica_sets, self.new)

    @property
    def all(self) -> list[V1ReplicaSet]:
        """All ReplicaSets. The new one is the last."""
        return [*self.old, *([self.new] if self.new is not None else [])]

    def replace(self, replica_set: V1ReplicaSet) -> None:
        """Replace a ReplicaSet by its written version."""
        uid = replica_set.metadata.uid
        if self.new is not None and self.new.metadata.uid == uid:
            self.new = replica_set
        self.old = [replica_set if each.metadata.uid == uid else each for each in self.old]

    def current(self, replica_set: V1ReplicaSet) -> V1ReplicaSet:
        """Return the latest version of a ReplicaSet."""
        return next(each for each in self.all if each.metadata.uid == replica_set.metadata.uid)

    def tell(self, told: V1DeploymentCondition) -> None:
        """Set a condition of the new status."""
        self.status.conditions = put_condition(self.status.conditions, told)

    def tell_progress(self, status: str, reason: str, message: str) -> None:
        """Set the condition Progressing of the new status, if the Deployment has a deadline."""
        if has_progress_deadline(self.deployment):
            self.tell(condition(PROGRESSING, status, reason, message, self.now))

    @property
    def tells_progress(self) -> bool:
        return get_condition(self.status.conditions, PROGRESSING) is not None

    def to_write(self) -> V1Deployment | None:
        """Return the Deployment with its new status and revision, for writing; None if neither has changed."""
        had = annotations_of(self.deployment)
        same_revision = self.revision == had.get(REVISION)
        if same_revision and same_status(self.deployment.status, self.status):
            return None
        written = copy.copy(self.deployment)
        written.status = self.status
        if not same_revision and self.revision is not None:
            written.metadata = copy.copy(self.deployment.metadata)
            written.metadata.annotations = {**had, REVISION: self.revision}
        return written
