"""Objects with one wrong field: refused with the causes that kube-apiserver gave."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

from tests.envtest.conftest import Http

RECORDED = Path(__file__).with_name("refusals.yaml")


def replaced(obj: Any, pointer: str, value: Any) -> Any:
    obj = copy.deepcopy(obj)
    *parents, last = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    inner = obj
    for part in parents:
        inner = inner[int(part) if isinstance(inner, list) else part]
    inner[int(last) if isinstance(inner, list) else last] = value
    return obj


async def test_one_wrong_field_is_refused_as_kubernetes_does(http: Http) -> None:
    differences = []
    for recorded in yaml.load(RECORDED.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader):
        for pointer, value, code, causes in recorded["rows"]:
            body = replaced(recorded["object"], pointer, value)
            got, answer = await http("POST", f"{recorded['path']}?dryRun=All", body)
            told = {(cause["reason"], cause["field"]) for cause in answer.get("details", {}).get("causes", ())}
            if got != code or (code == 422 and told != set(map(tuple, causes))):
                differences.append((recorded["path"], pointer, value, got, sorted(told)))
    assert differences == []
