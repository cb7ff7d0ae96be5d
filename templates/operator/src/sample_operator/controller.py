"""What is done for an object: it gets a Deployment, and its status says how many replicas are ready."""

from __future__ import annotations

from kinformer.models import V1Deployment, from_dict
from kinformer.operator import Reconciler, set_condition

from sample_operator.api import (
    Sample,
    SampleStatus,
)

__all__ = ("SampleReconciler", "deployment_of")


def deployment_of(obj: Sample) -> V1Deployment:
    """The Deployment that an object is to have: the fields that the operator decides, and no others."""
    labels = {"app": obj.metadata.name}
    containers = [{"name": "main", "image": obj.spec.image}]
    manifest = {
        "metadata": {"name": obj.metadata.name, "labels": labels},
        "spec": {
            "replicas": obj.spec.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }
    return from_dict(V1Deployment, manifest)


class SampleReconciler(Reconciler[Sample]):
    """Is asked to look at an object whenever it changes, or its Deployment does."""

    name = "sample-operator"
    owns = (V1Deployment,)

    async def reconcile(self, obj: Sample) -> None:
        if obj.metadata.deletion_timestamp:
            return  # the Deployment goes with its owner
        written = await self.applier.ensure_owned(obj, deployment_of(obj))
        if written.changed:
            self.event(obj, "DeploymentApplied", f"the Deployment was {written.outcome.value}")
        deployment = written.object.status
        ready = (deployment.ready_replicas or 0) if deployment else 0
        is_ready = ready >= obj.spec.replicas
        conditions = set_condition(
            obj.status.conditions if obj.status else None,
            "Ready",
            is_ready,
            reason="DeploymentReady" if is_ready else "DeploymentNotReady",
            message=f"{ready} of {obj.spec.replicas} replicas are ready",
            observed_generation=obj.metadata.generation,
            now=self.context.clock.now(),
        )
        status = SampleStatus(
            ready_replicas=ready,
            conditions=conditions,
        )
        await self.update_status(obj, status)
