"""quota_admission: the check of one request against the quotas of its namespace."""

from __future__ import annotations

from typing import Any

from kinformer.meta import GroupResource
from kinformer.meta.resourcelist import dump
from kinformer_controllers.shared.quota.admission.check import LimitedResource, QuotaRefused, check_request
from kinformer_controllers.shared.quota.evaluator import Request
from kinformer_controllers.shared.quota.limits import quota_of
from kinformer_controllers.shared.quota.registry import core_registry

__all__ = ("answer",)

REGISTRY = core_registry()


def answer(case: Any) -> Any:
    resource = GroupResource("", case["resource"])
    evaluator = REGISTRY.get(resource)
    assert evaluator is not None
    request = Request(case["operation"], resource, "ns", "x", case["object"], case.get("oldObject"))
    limited = [
        LimitedResource(GroupResource(one.get("apiGroup", ""), one["resource"]), tuple(one["MatchContains"] or ()))
        for one in case.get("limitedResources") or ()
    ]
    try:
        quotas = check_request([quota_of(quota) for quota in case["quotas"] or ()], request, evaluator, limited)
    except QuotaRefused as refusal:
        return {"ok": False, "message": str(refusal)}
    return {"ok": True, "quotas": [{"name": quota.name, "used": dump(quota.used)} for quota in quotas]}
