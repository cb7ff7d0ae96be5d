"""The permissions of the approver of certificate requests at the API server."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import Rule, allow

__all__ = ("PERMISSIONS",)

PERMISSIONS: Final[tuple[Rule, ...]] = (
    allow("list watch", "certificatesigningrequests.certificates.k8s.io"),
    allow("update", "certificatesigningrequests.certificates.k8s.io/approval"),
    Rule(("approve",), ("signers.certificates.k8s.io",), names=("kubernetes.io/kube-apiserver-client-kubelet",)),
    allow("create", "subjectaccessreviews.authorization.k8s.io"),
)
