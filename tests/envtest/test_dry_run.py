"""Dry runs of what is more than one write."""

from __future__ import annotations

from typing import Any

import pytest

from tests.envtest.apply.test_managed_fields import CONFIG_MAPS, CORE, DEPLOYMENTS, MERGE, STRATEGIC, deployment
from tests.envtest.conftest import Http

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


@pytest.mark.parametrize(("query", "options"), [("?dryRun=All", {}), ("", {"dryRun": ["All"]})])
async def test_a_dry_run_of_an_eviction_costs_no_disruption(http: Http, query: str, options: Any) -> None:
    labels = {"app": "a"}
    pod = {"metadata": {"name": "p", "labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await http.create(f"{CORE}/pods", pod)
    ready = {"type": "Ready", "status": "True"}
    running = await http.merge(f"{CORE}/pods/p/status", {"status": {"phase": "Running", "conditions": [ready]}})
    selector = {"matchLabels": labels}
    await http.create(BUDGETS, {"metadata": {"name": "b"}, "spec": {"maxUnavailable": 1, "selector": selector}})
    counts = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 0}
    budget = await http.merge(f"{BUDGETS}/b/status", {"status": {**counts, "expectedPods": 1}})
    body = {"metadata": {"name": "p"}, "deleteOptions": options}
    code, _ = await http("POST", f"{CORE}/pods/p/eviction{query}", body)
    assert code == 201
    assert await http.get(f"{CORE}/pods/p") == running
    assert await http.get(f"{BUDGETS}/b") == budget


async def test_repeating_dry_run_is_allowed_and_other_values_are_refused(http: Http) -> None:
    await http.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
    code, _ = await http("DELETE", f"{CONFIG_MAPS}/a", {"dryRun": ["All", "All"]})
    assert code == 200
    await http.get(f"{CONFIG_MAPS}/a")
    code, refused = await http("DELETE", f"{CONFIG_MAPS}/a", {"dryRun": ["All", "Some"]})
    assert code == 422
    (cause,) = refused["details"]["causes"]
    assert cause["message"] == 'Unsupported value: ["All","Some"]: supported values: "All"'


@pytest.mark.parametrize(
    ("type_", "why"),
    [
        (MERGE, "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32"),
        (STRATEGIC, 'Invalid value: "map[spec:map[replicas:x]]": json: cannot unmarshal string into Go'),
    ],
)
async def test_a_patch_of_a_scale_that_makes_none_is_invalid(http: Http, type_: str, why: str) -> None:
    await http.create(DEPLOYMENTS, deployment("d"))
    code, refused = await http("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": "x"}}, type_)
    assert (code, refused["reason"]) == (422, "Invalid")
    assert why in refused["message"]
