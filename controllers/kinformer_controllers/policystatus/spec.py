"""The status of ValidatingAdmissionPolicies, as in kube-controller-manager: warnings about types in expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kinformer.options import workers
from kinformer.permissions import allow
from kinformer.spec import ControllerSpec

__all__ = ("PolicyStatusOptions", "SPEC")


@dataclass(frozen=True)
class PolicyStatusOptions:
    concurrent_validating_admission_policy_status_syncs: int = workers(5, "policies")


SPEC: Final = ControllerSpec(
    name="validatingadmissionpolicy-status-controller",
    summary="checks the types in the expressions of policies, and writes warnings",
    factory="kinformer_controllers.policystatus.controller:PolicyStatus",
    options=PolicyStatusOptions,
    permissions=(
        allow("list watch", "validatingadmissionpolicies.admissionregistration.k8s.io"),
        allow("patch", "validatingadmissionpolicies.admissionregistration.k8s.io/status"),
    ),
    sharded_by="name",
    page="small.md#warnings-about-policies",
    differs="types come from the server's OpenAPI documents alone; the names of types in warnings have no number",
)
