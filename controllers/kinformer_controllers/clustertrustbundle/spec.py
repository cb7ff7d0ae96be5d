"""The publisher of the API server's authorities, as in kube-controller-manager: it keeps one ClusterTrustBundle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import feature_gates, root_ca_file

__all__ = ("SIGNER", "SPEC", "TrustBundleOptions")

#: Whose bundles these are.
SIGNER: Final = "kubernetes.io/kube-apiserver-serving"


@dataclass(frozen=True)
class TrustBundleOptions:
    feature_gates: str = feature_gates()
    root_ca_file: str = root_ca_file()


SPEC: Final = ControllerSpec(
    name="kube-apiserver-serving-clustertrustbundle-publisher-controller",
    summary="publishes the certificates by which the API server is known, as a ClusterTrustBundle",
    factory="kinformer_controllers.clustertrustbundle.controller:make_controller",
    options=TrustBundleOptions,
    permissions=(
        allow("list watch create update delete", "clustertrustbundles.certificates.k8s.io"),
        allow("attest", "signers.certificates.k8s.io", names=(SIGNER,)),
    ),
    metrics=(
        "clustertrustbundle_publisher_sync_duration_seconds",
        "clustertrustbundle_publisher_sync_total",
    ),
    on_leader="one object",
    feature_gate="ClusterTrustBundle",
    page="identity.md#the-api-servers-certificates",
    differs="old bundles are deleted only if the server has the new one; only `v1beta1` of the API",
)
