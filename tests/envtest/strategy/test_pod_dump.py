"""What is told of a change of a pod that is refused."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes_asyncio import client as models

from kinformer.envtest.strategy.pod_dump import _fields, _types, spec_difference

CONTAINER = {"name": "c", "image": "i", "resources": {}}
#: Fields of the API that the dump has elsewhere, or not at all.
ELSEWHERE = {"serviceaccount", "hostnetwork", "hostpid", "hostipc", "shareprocessnamespace", "hostusers"}


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    lines = spec_difference({"containers": [CONTAINER], **old}, {"containers": [CONTAINER], **new}).splitlines()
    return [line.replace(" ", "") for line in lines if line[0] in "+-"]


def test_what_changed_is_told_under_the_names_that_kubernetes_has_for_it() -> None:
    assert changes({}, {"hostPID": True}) == ['-"HostPID":false,', '+"HostPID":true,']
    assert changes({}, {"nodeSelector": {"b": "<", "a": ""}}) == [
        '-"NodeSelector":null,',
        *('+"NodeSelector":{', '+"a":"",', '+"b":"\\u003c"', "+},"),
    ]
    probe = {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 10}
    lines = changes({}, {"containers": [{**CONTAINER, "livenessProbe": probe}]})
    assert '+"Port":"http",' in lines
    assert '+"InitialDelaySeconds":0,' in lines
    assert '+"Exec":null,' in lines


def test_a_volume_tells_all_the_sources_that_it_does_not_have() -> None:
    old = {"volumes": [{"name": "v", "emptyDir": {}}]}
    new = {"volumes": [{"name": "v", "configMap": {"name": "m"}}]}
    assert changes(old, new) == [
        *('-"EmptyDir":{', '-"Medium":"",', '-"SizeLimit":null', "-},", '+"EmptyDir":null,'),
        *('-"ConfigMap":null,', '+"ConfigMap":{', '+"Name":"m",', '+"Items":null,'),
        *('+"DefaultMode":null,', '+"Optional":null', "+},"),
    ]


def test_a_difference_that_nobody_would_read_is_not_told() -> None:
    many = [{"name": f"V{number}", "value": "x"} for number in range(3000)]
    told = spec_difference({"containers": [CONTAINER]}, {"containers": [{**CONTAINER, "env": many}]})
    assert told == "(the difference is too long to be shown)\n"


@pytest.mark.parametrize("type_", sorted(_types()))
def test_every_field_of_the_api_is_in_the_dump(type_: str) -> None:
    model = getattr(models, f"V1{type_}", None) or getattr(models, f"CoreV1{type_}", None)
    if model is None:
        assert type_ in ("ProbeHandler", "VolumeSource")
        return
    known = {name.lower() for name, _, _ in _fields(type_)}
    assert {name.lower() for name in model.attribute_map.values()} <= known | ELSEWHERE
