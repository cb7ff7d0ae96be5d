"""The annotations of Deployments and their ReplicaSets: revisions, and the Deployment's size. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kinformer.leaderelection import TERM_ANNOTATION
from kinformer.meta.integers import read_integer
from kinformer.models import V1Deployment, V1ReplicaSet
from kinformer_controllers.deployment.limits import desired, max_surge

__all__ = (
    "DESIRED_REPLICAS",
    "MAX_REPLICAS",
    "REVISION",
    "REVISION_HISTORY",
    "ROLLBACK_TO",
    "annotations_for",
    "annotations_of",
    "count_in",
    "last_revision",
    "max_revision",
    "replicas_annotations",
    "revision_of",
    "rollback_revision",
    "rolled_back_annotations",
)

#: The number of a rollout, on the Deployment and on its ReplicaSet.
REVISION: Final = "deployment.kubernetes.io/revision"
#: The earlier numbers of a ReplicaSet, separated by commas.
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
#: The Deployment's replicas when its ReplicaSet was last scaled. If the number differs now, the Deployment was scaled.
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
#: The same number with the surge. A ReplicaSet's share is computed from it.
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"
#: The revision to roll back to. It replaces the field rollbackTo of old API versions.
ROLLBACK_TO: Final = "deprecated.deployment.rollback.to"

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_NOT_COPIED: Final = frozenset(
    {_LAST_APPLIED, REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS, ROLLBACK_TO, TERM_ANNOTATION}
)
#: The greatest length of the history. The oldest numbers are removed.
_HISTORY_LENGTH: Final = 2000


def annotations_of(obj: Any) -> dict[str, str]:
    annotations: dict[str, str] | None = obj.metadata.annotations
    return annotations or {}


def revision_of(obj: Any) -> int | None:
    """Return the revision of a Deployment or ReplicaSet: 0 if it has none, None if it is not a number."""
    return read_integer(annotations_of(obj).get(REVISION, "0"))


def max_revision(replica_sets: Iterable[V1ReplicaSet]) -> int:
    """Return the highest revision; 0 if no ReplicaSet has one."""
    return max((0, *(revision_of(each) or 0 for each in replica_sets)))


def last_revision(replica_sets: Iterable[V1ReplicaSet]) -> int:
    """Return the second highest revision: that of the rollout before the current one."""
    highest = second = 0
    for each in replica_sets:
        revision = revision_of(each)
        if revision is None:
            continue
        if revision >= highest:
            highest, second = revision, highest
        elif revision > second:
            second = revision
    return second


def rollback_revision(deployment: V1Deployment) -> int | None:
    """Return the revision to roll back to, 0 for the last one; None if there is no valid annotation for this."""
    text = annotations_of(deployment).get(ROLLBACK_TO)
    return read_integer(text) if text else None


def count_in(replica_set: V1ReplicaSet, annotation: str) -> int | None:
    """Return the number of replicas in an annotation; None if it is missing or invalid."""
    text = annotations_of(replica_set).get(annotation, "")
    return read_integer(text, 32) if text.isdecimal() else None


def replicas_annotations(deployment: V1Deployment) -> dict[str, str]:
    """Return the annotations with the Deployment's size, for its ReplicaSets."""
    replicas = desired(deployment)
    return {DESIRED_REPLICAS: str(replicas), MAX_REPLICAS: str(replicas + max_surge(deployment))}


def annotations_for(deployment: V1Deployment, had: Mapping[str, str], revision: int) -> dict[str, str]:
    """
    Return the annotations of the new ReplicaSet: the Deployment's, and the revision of this rollout.

    If the ReplicaSet has a lower revision, this is a rollback to it: the lower number is moved to its history. If its
    revision is not lower, it is kept.

    :param had: the annotations that it has
    :param revision: one more than the highest revision of the old ReplicaSets
    """
    old_text = had.get(REVISION, "")
    old = read_integer(old_text) if old_text else 0
    if old is None:
        return dict(had)
    annotations = {**had, **{key: it for key, it in annotations_of(deployment).items() if key not in _NOT_COPIED}}
    if old < revision:
        annotations[REVISION] = str(revision)
        if REVISION in had and (history := _with_revision(had.get(REVISION_HISTORY, ""), old_text)) is not None:
            annotations[REVISION_HISTORY] = history
    return annotations


def rolled_back_annotations(deployment: V1Deployment, replica_set: V1ReplicaSet) -> dict[str, str]:
    """Return the annotations of a Deployment after a rollback to a ReplicaSet: those of the ReplicaSet."""
    own = {key: it for key, it in annotations_of(deployment).items() if key in _NOT_COPIED}
    return own | {key: it for key, it in annotations_of(replica_set).items() if key not in _NOT_COPIED}


def _with_revision(history: str, revision: str) -> str | None:
    """Add a revision to a history, and remove the oldest ones if it is too long. Returns None if there is no room."""
    if not history or history.startswith(","):
        return revision
    revisions = history.split(",")
    while revisions and len(",".join([*revisions, revision])) > _HISTORY_LENGTH:
        del revisions[0]
    joined = ",".join([*revisions, revision])
    return joined if len(joined) <= _HISTORY_LENGTH else None
