"""The options of the Deployment controller."""

from __future__ import annotations

from dataclasses import dataclass

from kinformer.options import workers

__all__ = ("DeploymentOptions",)


@dataclass(frozen=True)
class DeploymentOptions:
    concurrent_deployment_syncs: int = workers(5, "Deployments")
