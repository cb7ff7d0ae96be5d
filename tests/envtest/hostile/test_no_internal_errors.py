"""Requests that were once answered with an internal error, and a traceback in the log."""

from __future__ import annotations

from typing import Any

import pytest

from tests.definitions import DEFINITIONS, definition
from tests.envtest.conftest import Http

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
LONG = "9" * 4_400


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", f"{CONFIG_MAPS}?resourceVersion={LONG}", 400),
        ("GET", f"{CONFIG_MAPS}?limit={LONG}", 400),
        ("GET", f"{CONFIG_MAPS}?timeoutSeconds={LONG}", 400),
        ("GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1&resourceVersion={LONG}", 500),
        ("GET", f"{CONFIG_MAPS}?labelSelector=a>{LONG}", 400),
        ("DELETE", f"{CONFIG_MAPS}/x?gracePeriodSeconds={LONG}", 400),
        ("GET", f"{CONFIG_MAPS}/kept?resourceVersion={LONG}", 500),
    ],
)
async def test_numbers_of_thousands_of_digits_are_out_of_range(http: Http, method: str, path: str, code: int) -> None:
    await http.create(CONFIG_MAPS, {"metadata": {"name": "kept"}})
    got, refused = await http(method, path)
    assert (got, refused["message"] != "Internal error occurred") == (code, True)


async def test_fields_that_are_called_by_thousands_of_digits_are_told_of(http: Http) -> None:
    body = {"metadata": {"name": "a"}, LONG: 1, LONG + "1": 2}
    code, created = await http("PATCH", f"{CONFIG_MAPS}/a", body, "application/merge-patch+json")
    assert (code, created["reason"]) == (404, "NotFound")
    await http.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
    code, refused = await http("PATCH", f"{CONFIG_MAPS}/a?fieldValidation=Strict", body, "application/merge-patch+json")
    assert (code, "unknown field" in refused["message"]) == (422, True)


def of_field(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": schema}}


@pytest.mark.parametrize(
    ("schema", "code", "why"),
    [
        (of_field({"type": "array", "items": "x"}), 422, "items: Required value: must be specified"),
        (of_field({"type": "array", "items": {"type": "object", "properties": ["x"]}}), 400, "cannot unmarshal array"),
        (of_field({"type": "array", "items": {"type": 5}}), 400, "cannot unmarshal number"),
        (of_field({"type": "array", "items": {"not": 1.5}}), 400, "cannot unmarshal number"),
        (of_field({"type": "object", "additionalProperties": "x"}), 400, "boolean or JSON schema expected"),
        (of_field({"type": "object", "additionalProperties": {"properties": {"a": "x"}}}), 400, "cannot unmarshal"),
        (of_field({"type": "object", "properties": {"a": []}}), 400, "cannot unmarshal array"),
    ],
)
async def test_schemas_within_a_schema_are_objects(http: Http, schema: Any, code: int, why: str) -> None:
    got, refused = await http("POST", DEFINITIONS, definition("ws", "W", "x.io", schema=schema))
    assert (got, why in refused["message"]) == (code, True), refused


async def test_percentages_of_thousands_of_digits_are_more_than_a_hundred(http: Http) -> None:
    labels = {"a": "b"}
    body = {
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
            "strategy": {"rollingUpdate": {"maxUnavailable": f"{LONG}%"}},
        },
    }
    code, refused = await http("POST", "/apis/apps/v1/namespaces/default/deployments", body)
    assert (code, "must not be greater than 100%" in refused["message"]) == (422, True)


async def test_a_generation_that_is_no_number_begins_anew(http: Http) -> None:
    labels = {"a": "b"}
    generation = "deprecated.daemonset.template.generation"

    def daemon(image: str) -> dict[str, Any]:
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}}
        metadata = {"name": "d", "annotations": {generation: "x"}}
        return {"metadata": metadata, "spec": {"selector": {"matchLabels": labels}, "template": template}}

    url = "/apis/apps/v1/namespaces/default/daemonsets"
    await http.create(url, daemon("i"))
    updated = await http.merge(f"{url}/d", {"spec": daemon("other")["spec"]})
    assert updated["metadata"]["annotations"][generation] == "1"


@pytest.mark.parametrize(
    "amount", ["1e999999999", "9" * 400, "9" * 400 + "Ei", "1e-999999999", "-" + "9" * 4_400], ids=len
)
async def test_huge_limit_ranges_are_stored_or_refused_and_apply_to_pods(http: Http, amount: str) -> None:
    item = {"type": "Container", "default": {"cpu": amount}, "defaultRequest": {"cpu": "1"}, "max": {"cpu": amount}}
    limits = {"metadata": {"name": "l"}, "spec": {"limits": [item]}}

    code, _ = await http("POST", "/api/v1/namespaces/default/limitranges", limits)
    assert code in (201, 400, 422)

    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": amount}, "limits": {"cpu": "2"}}}
    code, _ = await http(
        "POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    )
    assert code in (201, 400, 403, 422)
