from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kinformer.models import ResourceV1ResourceClaim, V1beta2DeviceTaintRule, from_dict
from kinformer_controllers.devicetainteviction.taints import claim_eviction, selects

ADDED = datetime(2026, 1, 1, tzinfo=UTC)
HERE = {"driver": "d", "pool": "p", "device": "dev"}


def rule(name: str = "r", added: str = "2026-01-01T00:00:00Z", **spec: Any) -> V1beta2DeviceTaintRule:
    taint = {"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": added}
    return from_dict(V1beta2DeviceTaintRule, {"metadata": {"name": name}, "spec": {"taint": taint, **spec}})


def claim(*tolerations: dict[str, Any]) -> ResourceV1ResourceClaim:
    results = [{"request": "r", **HERE, "tolerations": [*tolerations]}]
    status = {"allocation": {"devices": {"results": results}}}
    return from_dict(ResourceV1ResourceClaim, {"metadata": {"name": "c"}, "spec": {}, "status": status})


def for_(seconds: int | None, effect: str | None = "NoExecute", **given: Any) -> dict[str, Any]:
    return {"operator": "Exists", "effect": effect, "tolerationSeconds": seconds, **given}


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([], 0),
        ([for_(None)], None),
        ([for_(30)], 30),
        ([for_(30), for_(20), for_(40)], 20),
        ([for_(30), for_(None)], None),
        ([for_(-5)], 0),
        ([for_(2**63 - 1)], 10**10),
        ([for_(30, effect=None)], 0),
        ([for_(30, effect="NoSchedule")], 0),
        ([for_(30, key="k")], 30),
        ([for_(30, key="other")], 0),
        ([for_(30, key="k", operator="Equal", value="v")], 30),
        ([for_(30, key="k", operator=None, value="v")], 30),
        ([for_(30, key="k", operator="Equal", value="w")], 0),
        ([for_(30, key="k", operator="Unknown", value="v")], 0),
    ],
)
def test_the_shortest_of_the_tolerations_that_match_counts(tolerations: list[Any], seconds: int | None) -> None:
    found = claim_eviction(claim(*tolerations), {}, [rule(deviceSelector={})])

    assert (found and found.due) == (None if seconds is None else ADDED + timedelta(seconds=seconds))


def test_the_first_taint_counts_and_all_are_named() -> None:
    rules = [rule("b", "2026-01-02T00:00:00Z", deviceSelector={}), rule("a", deviceSelector={})]
    found = claim_eviction(claim(), {}, rules)

    assert found is not None
    assert found.due == ADDED
    assert [it.source for it in found.reasons] == ["a", "b"]


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        (None, False),
        ({}, True),
        (HERE, True),
        *[({**HERE, name: "other"}, False) for name in HERE],
        ({"pool": "p"}, True),
    ],
)
def test_a_rule_selects_devices_by_all_that_its_selector_names(selector: Any, want: bool) -> None:
    given = {} if selector is None else {"deviceSelector": selector}

    assert selects(rule(**given), "d", "p", "dev") is want
