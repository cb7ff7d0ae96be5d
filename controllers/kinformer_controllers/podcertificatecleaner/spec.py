"""The cleaner of PodCertificateRequests, as in kube-controller-manager: it deletes old ones."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec
from kinformer_controllers.shared.options import GateOptions

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="podcertificaterequest-cleaner-controller",
    summary="deletes old requests of pods for certificates",
    factory="kinformer_controllers.podcertificatecleaner.controller:make_controller",
    options=GateOptions,
    permissions=(allow("list watch delete", "podcertificaterequests.certificates.k8s.io"),),
    on_leader="one check of all requests every five minutes",
    feature_gate="PodCertificateRequest",
    page="identity.md#certificates-of-pods",
    differs="a deletion names the version of the request that was read, too",
)
