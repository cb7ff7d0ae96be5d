"""The protection of claims, as in kube-controller-manager: a claim is not deleted while pods use it."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="persistentvolumeclaim-protection-controller",
    aliases=("pvc-protection",),
    summary="protects claims that pods use from deletion",
    factory="kinformer_controllers.pvcprotection.controller:ClaimProtection",
    permissions=(
        allow("list watch update", "persistentvolumeclaims"),
        allow("list watch", "pods"),
    ),
    sharded_by="namespace",
    page="volumes.md",
)
