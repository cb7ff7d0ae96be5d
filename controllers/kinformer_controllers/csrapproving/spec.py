"""The approver of certificate requests, as in kube-controller-manager: it approves kubelets' client certificates."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import Rule, allow
from kinformer.spec import ControllerSpec

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="certificatesigningrequest-approving-controller",
    aliases=("csrapproving",),
    summary="approves the certificate requests of kubelets",
    factory="kinformer_controllers.csrapproving.controller:ApprovingController",
    permissions=(
        allow("list watch", "certificatesigningrequests.certificates.k8s.io"),
        allow("update", "certificatesigningrequests.certificates.k8s.io/approval"),
        Rule(("approve",), ("signers.certificates.k8s.io",), names=("kubernetes.io/kube-apiserver-client-kubelet",)),
        allow("create", "subjectaccessreviews.authorization.k8s.io"),
    ),
    sharded_by="name",
    page="identity.md",
)
