"""The cleaner of certificate requests, as in kube-controller-manager: it deletes old CertificateSigningRequests."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="certificatesigningrequest-cleaner-controller",
    aliases=("csrcleaner",),
    summary="deletes old certificate requests",
    factory="kinformer_controllers.csrcleaner.controller:make_controller",
    permissions=(allow("list watch delete", "certificatesigningrequests.certificates.k8s.io"),),
    on_leader="one check of all requests an hour",
    page="identity.md",
    differs="a deletion names the request's uid",
)
