"""The bootstrap signer, as in kube-controller-manager: it signs ``cluster-info`` with each bootstrap token."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="bootstrap-signer-controller",
    aliases=("bootstrapsigner",),
    summary="signs the ConfigMap `cluster-info`, by which nodes find the cluster that they join",
    factory="kinformer_controllers.bootstrapsigner.controller:BootstrapSigner",
    permissions=(
        allow("list watch", "configmaps", "secrets"),
        allow("get", "secrets", namespace="kube-system"),
        allow("update", "configmaps", names=("cluster-info",), namespace="kube-public"),
    ),
    on_leader="one ConfigMap, signed with Secrets of another namespace",
    on_by_default=False,
    page="identity.md#bootstrap-tokens",
    differs="before a signature is removed, the server is asked for its token; a write that fails is tried again",
)
