"""The service account controller, as in kube-controller-manager: the account ``default`` in every namespace."""

from __future__ import annotations

from typing import Final

from kinformer.permissions import allow
from kinformer.spec import ControllerSpec

__all__ = ("SPEC",)


SPEC: Final = ControllerSpec(
    name="serviceaccount-controller",
    aliases=("serviceaccount",),
    summary="makes the ServiceAccount `default` in each namespace",
    factory="kinformer_controllers.serviceaccount.controller:ServiceAccountController",
    permissions=(
        allow("list watch", "namespaces"),
        allow("list watch create", "serviceaccounts"),
    ),
    sharded_by="namespace",
    page="identity.md",
)
