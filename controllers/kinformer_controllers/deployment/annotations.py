"""What Deployments write down in annotations: revisions, and how large a ReplicaSet's Deployment was. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kinformer.models import V1Deployment, V1ReplicaSet
from kinformer_controllers.deployment.counts import desired
from kinformer_controllers.deployment.limits import max_surge

__all__ = (
    "DESIRED_REPLICAS",
    "MAX_REPLICAS",
    "REVISION",
    "REVISION_HISTORY",
    "ROLLBACK_TO",
    "annotations_for",
    "annotations_of",
    "count_in",
    "integer_in",
    "last_revision",
    "max_revision",
    "replicas_annotations",
    "revision_of",
    "rolled_back_annotations",
    "rollback_revision",
)

#: The number of a roll-out: of the Deployment, and of the ReplicaSet that it is about.
REVISION: Final = "deployment.kubernetes.io/revision"
#: The numbers that a ReplicaSet had before, with commas between them.
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
#: What the Deployment asked for when its ReplicaSet was scaled last: if that is another number now, it is being scaled.
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
#: The same, and the surge: what a ReplicaSet's share is counted from.
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"
#: Where to roll back to; what is left of the field rollbackTo of old versions of the API.
ROLLBACK_TO: Final = "deprecated.deployment.rollback.to"

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_NOT_COPIED: Final = frozenset({_LAST_APPLIED, REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS, ROLLBACK_TO})
#: The history is cut off where it would be longer.
_HISTORY_LENGTH: Final = 2000

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_INT64 = range(-(2**63), 2**63)


def annotations_of(obj: Any) -> dict[str, str]:
    annotations: dict[str, str] | None = obj.metadata.annotations
    return annotations or {}


def revision_of(obj: Any) -> int | None:
    """The number of a Deployment or ReplicaSet: 0 if it has none, None if what it has is no number."""
    return integer_in(annotations_of(obj).get(REVISION, "0"))


def max_revision(replica_sets: Iterable[V1ReplicaSet]) -> int:
    """The highest number; 0 if none has any."""
    return max((0, *(revision_of(each) or 0 for each in replica_sets)))


def last_revision(replica_sets: Iterable[V1ReplicaSet]) -> int:
    """The highest number but one: what was rolled out last before this."""
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
    """Which revision to roll back to, 0 for the last one; None if that is not asked for, or cannot be understood."""
    text = annotations_of(deployment).get(ROLLBACK_TO)
    return integer_in(text) if text else None


def count_in(replica_set: V1ReplicaSet, annotation: str) -> int | None:
    """The number of replicas that an annotation has, None if it has none."""
    text = annotations_of(replica_set).get(annotation, "")
    count = int(text) if text.isascii() and text.isdecimal() else None
    return count if count is not None and count < 2**31 else None


def replicas_annotations(deployment: V1Deployment) -> dict[str, str]:
    """How large the Deployment is, for its ReplicaSets to remember."""
    replicas = desired(deployment)
    return {DESIRED_REPLICAS: str(replicas), MAX_REPLICAS: str(replicas + max_surge(deployment))}


def annotations_for(deployment: V1Deployment, had: Mapping[str, str], revision: int) -> dict[str, str]:
    """
    The annotations of the new ReplicaSet: the Deployment's, and the number of this roll-out.

    A number that it has already, and that is not lower, is kept. A lower one goes to its history: it is rolled back to.

    :param had: those that it has
    :param revision: one more than the highest of the old ReplicaSets
    """
    old_text = had.get(REVISION, "")
    old = integer_in(old_text) if old_text else 0
    if old is None:
        return dict(had)
    annotations = {**had, **{key: it for key, it in annotations_of(deployment).items() if key not in _NOT_COPIED}}
    if old < revision:
        annotations[REVISION] = str(revision)
        if REVISION in had and (history := _with_revision(had.get(REVISION_HISTORY, ""), old_text)) is not None:
            annotations[REVISION_HISTORY] = history
    return annotations


def rolled_back_annotations(deployment: V1Deployment, replica_set: V1ReplicaSet) -> dict[str, str]:
    """The annotations of a Deployment that goes back to a ReplicaSet: those which that was made with."""
    own = {key: it for key, it in annotations_of(deployment).items() if key in _NOT_COPIED}
    return own | {key: it for key, it in annotations_of(replica_set).items() if key not in _NOT_COPIED}


def _with_revision(history: str, revision: str) -> str | None:
    """A history with one more revision, without the oldest where it becomes too long; None if there is no room."""
    if not history or history.startswith(","):
        return revision
    revisions = history.split(",")
    while revisions and len(",".join([*revisions, revision])) > _HISTORY_LENGTH:
        del revisions[0]
    joined = ",".join([*revisions, revision])
    return joined if len(joined) <= _HISTORY_LENGTH else None


def integer_in(text: str) -> int | None:
    """What Go's ParseInt makes of a text, None where it fails."""
    number = int(text) if len(text) <= 20 and _INTEGER.fullmatch(text) else None
    return number if number is not None and number in _INT64 else None
