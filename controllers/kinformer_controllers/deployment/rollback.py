"""Rolling back to the revision in the annotation ``deprecated.deployment.rollback.to``.

``kubectl rollout undo`` does not use this annotation: it writes the older template itself.
"""

from __future__ import annotations

import copy
from typing import Final

from kinformer.models import V1Deployment
from kinformer_controllers.deployment.annotations import (
    ROLLBACK_TO,
    annotations_of,
    last_revision,
    revision_of,
    rollback_revision,
    rolled_back_annotations,
)
from kinformer_controllers.deployment.rollout import Rollout
from kinformer_controllers.deployment.strategies import ensure_new
from kinformer_controllers.deployment.templates import same_template, without_hash
from kinformer_controllers.deployment.writer import DeploymentWriter

__all__ = ("DONE", "NOT_FOUND", "UNCHANGED", "roll_back")

DONE: Final = "DeploymentRollback"
NOT_FOUND: Final = "DeploymentRollbackRevisionNotFound"
UNCHANGED: Final = "DeploymentRollbackTemplateUnchanged"


async def roll_back(writer: DeploymentWriter, rollout: Rollout) -> None:
    """Give the Deployment the template of the requested revision, if there is one, and remove the annotation."""
    deployment = rollout.deployment
    changed = _without_request(deployment)
    await ensure_new(writer, rollout)
    revision = rollback_revision(deployment) or last_revision(rollout.all)
    name = deployment.metadata.name
    target = next((each for each in rollout.all if revision_of(each) == revision), None)
    if not revision:
        writer.warn(deployment, NOT_FOUND, "Unable to find last revision.")
    elif target is None:
        writer.warn(deployment, NOT_FOUND, "Unable to find the revision to rollback to.")
    elif same_template(deployment.spec.template, target.spec.template):
        message = f'The rollback revision contains the same template as current deployment "{name}"'
        writer.warn(deployment, UNCHANGED, message)
    else:
        changed.spec = copy.copy(deployment.spec)
        changed.spec.template = without_hash(target.spec.template)
        annotations = rolled_back_annotations(deployment, target)
        annotations.pop(ROLLBACK_TO, None)
        changed.metadata.annotations = annotations
        await writer.update_deployment(changed)
        writer.tell(deployment, DONE, f'Rolled back deployment "{name}" to revision {revision}')
        return
    await writer.update_deployment(changed)


def _without_request(deployment: V1Deployment) -> V1Deployment:
    changed = copy.copy(deployment)
    changed.metadata = copy.copy(deployment.metadata)
    changed.metadata.annotations = {key: it for key, it in annotations_of(deployment).items() if key != ROLLBACK_TO}
    return changed
