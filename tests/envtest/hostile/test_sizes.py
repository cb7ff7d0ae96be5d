"""Short requests whose result is very long."""

from __future__ import annotations

from typing import Any

import pytest

from tests.envtest.conftest import Http
from tests.envtest.custom.test_rules import WIDGETS, define, of_spec, widget

TOO_LARGE = (500, "etcdserver: request is too large")


async def post(http: Http, path: str, body: Any) -> tuple[int, str]:
    code, answer = await http("POST", path, body)
    return code, answer.get("message", "")


@pytest.mark.parametrize("default", ["x" * 20_000, {"k": [{"a": 1}] * 3_000}])
async def test_defaults_of_items_do_not_make_an_object_larger_than_etcd_takes(http: Http, default: Any) -> None:
    one = {"type": "object", "x-kubernetes-preserve-unknown-fields": True} if isinstance(default, dict) else {}
    item = {"type": "object", "properties": {"d": {"type": "string", **one, "default": default}}}
    await define(http, of_spec(items={"type": "array", "items": item}))
    few = await http.create(WIDGETS, widget(items=[{}] * 40))
    assert few["spec"]["items"] == [{"d": default}] * 40
    await http("DELETE", f"{WIDGETS}/{few['metadata']['name']}")
    assert await post(http, WIDGETS, widget(items=[{}] * 20_000)) == TOO_LARGE


async def test_a_too_large_object_is_refused_and_the_stored_one_kept(http: Http) -> None:
    await define(http, of_spec(text={"type": "string"}))
    await http.create(WIDGETS, widget(text="x" * 1_500_000))
    name = widget()["metadata"]["name"]
    code, refused = await http(
        "PATCH", f"{WIDGETS}/{name}", {"spec": {"text": "x" * 1_600_000}}, "application/merge-patch+json"
    )
    assert (code, refused["message"]) == TOO_LARGE
    assert len((await http.get(f"{WIDGETS}/{name}"))["spec"]["text"]) == 1_500_000
