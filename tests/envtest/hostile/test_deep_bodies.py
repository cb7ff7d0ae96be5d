"""Objects that are nested so deeply that functions which call themselves for each level cannot follow."""

from __future__ import annotations

import json

import pytest

from kinformer.envtest.jsontext import MAX_DEPTH
from tests.definitions import DEFINITIONS, FREE, definition
from tests.envtest.hostile.victim import Victim

WIDGETS = "/apis/ex.io/v1/namespaces/default/widgets"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


def widget(spec: str, name: str) -> str:
    return f'{{"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {{"name": "{name}"}}, "spec": {spec}}}'


@pytest.fixture(scope="module", autouse=True)
def _definition(attacked: Victim) -> None:
    body = definition("widgets", "Widget", "ex.io", schema={"type": "object", "properties": {"spec": FREE}})
    assert attacked("POST", DEFINITIONS, body).code == 201


def test_a_body_at_the_depth_limit_is_stored_and_shown_everywhere(attacked: Victim) -> None:
    deepest = nested(MAX_DEPTH - 1)
    assert attacked("POST", WIDGETS, widget(deepest, "deep")).code == 201
    assert attacked("PATCH", f"{WIDGETS}/deep", '{"spec":{"b":1}}', MERGE).code == 200
    assert attacked("PATCH", f"{WIDGETS}/deep", f'{{"spec":{deepest}}}', MERGE).code == 200
    assert attacked("PATCH", f"{WIDGETS}/applied?fieldManager=m", widget(deepest, "applied"), APPLY).code == 201
    add = json.dumps([{"op": "copy", "from": "/spec", "path": "/spec"}])
    assert attacked("PATCH", f"{WIDGETS}/deep", add, "application/json-patch+json").code == 200
    whole = attacked("GET", f"{WIDGETS}/deep")
    assert attacked("PUT", f"{WIDGETS}/deep", json.dumps(whole.body)).code == 200


def test_what_is_deep_is_read_as_a_table(attacked: Victim) -> None:
    attacked("POST", WIDGETS, widget(nested(MAX_DEPTH - 1), "viewed"))
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    assert attacked("GET", f"{WIDGETS}/viewed", accept=accept).code == 200


@pytest.mark.parametrize("levels", [MAX_DEPTH, 800, 5_000, 100_000])
def test_what_is_deeper_is_refused_where_it_is_read(attacked: Victim, levels: int) -> None:
    deep = widget(nested(levels), "deeper")
    answers = [
        attacked("POST", WIDGETS, deep),
        attacked("PUT", f"{WIDGETS}/deeper", deep),
        attacked("PATCH", f"{WIDGETS}/deeper?fieldManager=m", deep, APPLY),
        attacked("PATCH", f"{WIDGETS}/deep", deep, MERGE),
        attacked("PATCH", f"{WIDGETS}/deep", f"[{deep}]", "application/json-patch+json"),
        attacked("DELETE", f"{WIDGETS}/deep", deep),
    ]
    assert [answer.code for answer in answers] == [400] * len(answers)
    assert all("exceeded max depth" in answer.message for answer in answers)


def test_a_patch_cannot_nest_an_object_more_deeply_step_by_step(attacked: Victim) -> None:
    attacked("POST", WIDGETS, widget('{"a":{}}', "steps"))
    steps = [{"op": "copy", "from": "/spec", "path": "/spec" + "/a" * min(one, 50)} for one in range(1, 40)]
    for _ in range(3):
        answer = attacked("PATCH", f"{WIDGETS}/steps", steps, "application/json-patch+json")
        assert answer.code in (200, 400, 422)
    assert attacked.is_well()
    found = attacked("GET", f"{WIDGETS}/steps")
    assert json.dumps(found.body).count("{") <= MAX_DEPTH + 10


def test_schemas_that_are_nested_deeply_are_refused_as_well(attacked: Victim) -> None:
    schema = '{"type":"object","properties":{"a":' * 600 + '{"type":"object"}' + "}}" * 600
    body = (
        '{"metadata":{"name":"ts.ex.io"},"spec":{"group":"ex.io","scope":"Namespaced","names":{"plural":"ts","kind":"T"},'
        f'"versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}'
    )
    answer = attacked("POST", DEFINITIONS, body)
    assert (answer.code, "exceeded max depth" in answer.message) == (400, True)
