"""The root CA publisher, as in kube-controller-manager: the ConfigMap ``kube-root-ca.crt`` in every namespace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import root_ca_file

__all__ = ("RootCAOptions", "SPEC")


@dataclass(frozen=True)
class RootCAOptions:
    root_ca_file: str = root_ca_file()


SPEC: Final = ControllerSpec(
    name="root-ca-certificate-publisher-controller",
    aliases=("root-ca-cert-publisher",),
    summary="keeps the ConfigMap `kube-root-ca.crt` in each namespace",
    factory="kinformer_controllers.rootcacertpublisher.controller:RootCAPublisher",
    options=RootCAOptions,
    permissions=(
        allow("list watch", "namespaces"),
        allow("list watch create update", "configmaps"),
    ),
    metrics=(
        "root_ca_cert_publisher_sync_duration_seconds",
        "root_ca_cert_publisher_sync_total",
    ),
    sharded_by="namespace",
    page="identity.md",
)
