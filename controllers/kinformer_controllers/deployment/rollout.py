"""Rollout: the state of a Deployment during one sync. No I/O."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from datetime import datetime

from kinformer.controllerutil.conditions import get_condition, put_condition
from kinformer.models import V1Deployment, V1DeploymentCondition, V1ReplicaSet
from kinformer_controllers.deployment.annotations import REVISION, annotations_of
from kinformer_controllers.deployment.conditions import PROGRESSING, condition, has_progress_deadline
from kinformer_controllers.deployment.status import same_status, status_of
from kinformer_controllers.deployment.templates import Same, find_new, find_old

__all__ = ("Rollout",)


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

    @property
    def key(self) -> str:
        meta = self.deployment.metadata
        return f"{meta.namespace}/{meta.name}"

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
