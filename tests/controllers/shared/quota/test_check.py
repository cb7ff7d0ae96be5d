from __future__ import annotations

from typing import Any

import pytest

from kinformer.meta import QuantityError
from kinformer.meta.resourcelist import dump, load
from kinformer.models import V1ResourceQuota, from_dict
from kinformer_controllers.shared.quota import CREATE, Request, core_registry
from kinformer_controllers.shared.quota.admission import LimitedResource, QuotaRefused, UncoveredScopes, check_request
from kinformer_controllers.shared.quota.counting import CLAIMS
from kinformer_controllers.shared.quota.evaluator import UPDATE
from kinformer_controllers.shared.quota.limits import Quota, ScopeError, ScopeRequirement, quota_of, scopes_of
from kinformer_controllers.shared.quota.pods import PODS

REGISTRY = core_registry()


def quota(hard: dict[str, str], used: dict[str, str], name: str = "q", *scopes: str) -> Quota:
    return Quota("ns", name, scopes_of(scopes), load(hard), load(used))


def pod(cpu: str = "1", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    return {"metadata": {"generateName": "p-"}, "spec": {"containers": containers, **spec}}


def check(obj: Any, *quotas: Quota, limited: Any = (), name: str = "p", old: Any = None, **more: Any) -> list[Any]:
    evaluator = REGISTRY.get(more.get("resource", PODS))
    assert evaluator is not None
    request = Request(
        UPDATE if old is not None else CREATE, more.get("resource", PODS), "ns", name, obj, old, more.get("sub", "")
    )
    return [dump(one.used) for one in check_request(quotas, request, evaluator, limited)]


def test_a_pod_without_a_name_is_called_by_its_prefix() -> None:
    with pytest.raises(QuotaRefused, match='pods "p-" is forbidden'):
        check(pod(), quota({"pods": "0"}, {"pods": "0"}), name="")


def test_what_would_give_quota_back_is_refused_for_being_negative() -> None:
    with pytest.raises(QuotaRefused, match=r"quota usage is negative for resource\(s\): cpu,requests.cpu"):
        check(pod("-1"))


def test_what_is_limited_may_not_be_used_without_a_quota_for_it() -> None:
    limited = [LimitedResource(PODS, ("cpu",))]

    with pytest.raises(QuotaRefused, match=r"insufficient quota to consume: cpu,requests\.cpu"):
        check(pod(), limited=limited)
    with pytest.raises(QuotaRefused, match=r"insufficient quota to consume: requests\.cpu"):
        check(pod(), quota({"cpu": "9"}, {"cpu": "0"}), limited=limited)
    assert check(pod("0"), limited=limited) == []


def test_an_object_in_a_limited_scope_needs_a_quota_of_that_scope() -> None:
    limited = [LimitedResource(PODS, (), (ScopeRequirement("PriorityClass", "In", ("high",)),))]

    with pytest.raises(UncoveredScopes, match=r"these scopes: \[\{PriorityClass In \[high\]\}\]"):
        check(pod(priorityClassName="high"), limited=limited)
    assert check(pod(priorityClassName="low"), limited=limited) == []
    covering = quota({"pods": "1"}, {"pods": "0"}, "q", "PriorityClass")
    assert check(pod(priorityClassName="high"), covering, limited=limited) == [{"pods": "1"}]


def test_a_senseless_scope_is_named_with_its_quota_and_limits_nothing() -> None:
    near = ScopeRequirement("PriorityClass", "Near", ("high",))

    text = (
        r"error matching scopes of quota q, err: error on matching scope \{PriorityClass Near \[high\]\}: "
        '"Near" is not a valid scope selector operator'
    )
    with pytest.raises(ScopeError, match=text):
        check(pod(), Quota("ns", "q", (near,), load({"pods": "1"}), load({"pods": "0"})))
    full = quota({"pods": "0"}, {"pods": "0"})
    assert check(pod(), full, limited=[LimitedResource(PODS, (), (near,))]) == [{"pods": "0"}]


def test_what_a_status_tells_is_charged_even_beyond_the_limit() -> None:
    def claim(allocated: str) -> Any:
        spec = {"resources": {"requests": {"storage": "1Gi"}}}
        status = {"allocatedResources": {"storage": allocated}}
        return {"metadata": {"name": "c", "resourceVersion": "5"}, "spec": spec, "status": status}

    limit = quota({"requests.storage": "1Gi"}, {"requests.storage": "1Gi"})

    assert check(claim("3Gi"), limit, old=claim("1Gi"), resource=CLAIMS, sub="status") == [{"requests.storage": "3Gi"}]


def test_a_quota_is_read_alike_from_json_and_from_a_model() -> None:
    data = {
        "metadata": {"name": "q", "namespace": "ns"},
        "spec": {
            "hard": {"pods": "5"},
            "scopes": ["BestEffort"],
            "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["a"]}]},
        },
        "status": {"hard": {"pods": "4"}, "used": {"pods": "1"}},
    }
    for one in (data, from_dict(V1ResourceQuota, data)):
        read = quota_of(one)
        assert (dump(read.hard), dump(read.used)) == ({"pods": "4"}, {"pods": "1"})
        assert read.scopes == (ScopeRequirement("BestEffort"), ScopeRequirement("PriorityClass", "In", ("a",)))
    assert quota_of({"metadata": {"name": "new"}}).used == {}
    assert quota_of(V1ResourceQuota(metadata=from_dict(V1ResourceQuota, data).metadata)).hard == {}


def test_a_limit_that_is_no_quantity_is_named() -> None:
    with pytest.raises(QuantityError, match="'many' is not a quantity"):
        quota_of({"metadata": {"name": "q"}, "status": {"hard": {"pods": "many"}}})
