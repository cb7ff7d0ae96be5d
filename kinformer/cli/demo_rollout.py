"""The demo's Deployments: how far each roll-out is, and the functions that start a roll-out and undo it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kinformer.client import Client, PatchType
from kinformer.meta import get_controller_of
from kinformer.models import V1Deployment, V1ReplicaSet, to_dict

__all__ = ("Rollout", "roll_out", "undo")

#: The annotation with the number of a roll-out. The Deployment has it, and the ReplicaSet of that roll-out.
_REVISION = "deployment.kubernetes.io/revision"
_HASH_LABEL = "pod-template-hash"


@dataclass(frozen=True, slots=True)
class Rollout:
    """
    A Deployment, and how far its roll-out is.

    :param is_told: whether the status is about the current spec (``observedGeneration``)
    """

    namespace: str
    name: str
    image: str
    revision: str
    desired: int
    updated: int
    available: int
    replicas: int
    is_told: bool

    @classmethod
    def of(cls, deployment: V1Deployment) -> Rollout:
        meta, spec, status = deployment.metadata, deployment.spec, deployment.status
        return cls(
            meta.namespace,
            meta.name,
            spec.template.spec.containers[0].image or "",
            (meta.annotations or {}).get(_REVISION, "-"),
            spec.replicas if spec.replicas is not None else 1,
            (status.updated_replicas or 0) if status else 0,
            (status.available_replicas or 0) if status else 0,
            (status.replicas or 0) if status else 0,
            status is not None and (status.observed_generation or 0) >= (meta.generation or 0),
        )

    @property
    def converged(self) -> bool:
        """Whether all pods have the current template and are available, and no other pods are left."""
        return self.is_told and self.updated == self.available == self.replicas == self.desired

    def __str__(self) -> str:
        tag = self.image.rpartition(":")[2]
        counts = f"{self.updated} of {self.desired} updated, {self.available} available, {self.replicas} in all"
        return f"deployment {self.namespace}/{self.name} {tag} (revision {self.revision}): {counts}"


async def roll_out(client: Client, rollout: Rollout, tag: str) -> None:
    """Change the tag of the image of a Deployment's first container, as ``kubectl set image`` does."""
    image = f"{rollout.image.rpartition(':')[0]}:{tag}"
    patch = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image}]
    await client.resource(V1Deployment).patch(rollout.name, patch, rollout.namespace, patch_type=PatchType.JSON)


async def undo(client: Client, rollout: Rollout) -> None:
    """Give a Deployment its previous template again, as ``kubectl rollout undo`` does."""
    deployment = await client.resource(V1Deployment).get(rollout.name, rollout.namespace)
    listed = await client.resource(V1ReplicaSet).list(rollout.namespace)
    template = to_dict(_last(deployment, listed.items).spec.template)
    template["metadata"]["labels"].pop(_HASH_LABEL, None)
    patch = [{"op": "replace", "path": "/spec/template", "value": template}]
    await client.resource(V1Deployment).patch(rollout.name, patch, rollout.namespace, patch_type=PatchType.JSON)


def _last(deployment: V1Deployment, replica_sets: Iterable[V1ReplicaSet]) -> V1ReplicaSet:
    """The ReplicaSet of the previous roll-out."""
    uid = deployment.metadata.uid
    owned = [each for each in replica_sets if (owner := get_controller_of(each)) is not None and owner.uid == uid]
    owned.sort(key=lambda each: int((each.metadata.annotations or {}).get(_REVISION, "0")))
    return owned[-2]
