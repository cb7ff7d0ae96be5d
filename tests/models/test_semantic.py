"""Equality as Kubernetes defines it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kinformer.envtest.registry.schema import all_forms
from kinformer.models import (
    V1Container,
    V1Pod,
    V1PodSpec,
    V1ResourceQuotaSpec,
    decoder_for,
    from_dict,
    semantically_equal,
)
from kinformer.models._semantic import QUANTITIES
from kinformer.models._source import shape_of


@pytest.mark.parametrize(
    ("type_", "one", "other", "same"),
    [
        (V1PodSpec, {}, {"volumes": [], "nodeSelector": {}}, True),
        (V1PodSpec, {}, {"securityContext": {}}, False),
        (V1PodSpec, {"overhead": {"cpu": "1"}}, {"overhead": {"cpu": "1000m"}}, True),
        (V1PodSpec, {"overhead": {"cpu": "1"}}, {"overhead": {"cpu": "1", "memory": "0"}}, False),
        (V1PodSpec, {"overhead": {"cpu": "bad"}}, {"overhead": {"cpu": "1"}}, False),
        (V1PodSpec, {"nodeSelector": {"cpu": "1"}}, {"nodeSelector": {"cpu": "1000m"}}, False),
        (V1PodSpec, {"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "a"}, {"key": "a"}]}, False),
        (V1PodSpec, {"hostNetwork": False}, {}, False),
        (V1Container, {"resources": {}}, {}, True),
        (V1Container, {"resources": {"limits": {}}}, {}, True),
        (V1Container, {"resources": {"limits": {"cpu": "0"}}}, {}, False),
        (V1Container, {"livenessProbe": {}}, {}, False),
        (V1Container, {"ports": [{"containerPort": 1}]}, {"ports": [{"containerPort": 2}]}, False),
        (V1ResourceQuotaSpec, {"hard": {"x": "1Gi"}}, {"hard": {"x": "1073741824"}}, True),
        (V1ResourceQuotaSpec, {"hard": {}}, {}, True),
    ],
)
def test_what_means_the_same_to_kubernetes_is_equal(type_: Any, one: Any, other: Any, same: bool) -> None:
    fill = {"containers": []} if type_ is V1PodSpec else {"name": "c"} if type_ is V1Container else {}
    here, there = from_dict(type_, {**fill, **one}), from_dict(type_, {**fill, **other})

    assert semantically_equal(here, there) is same
    assert semantically_equal(there, here) is same
    assert semantically_equal([here], [there]) is same
    assert semantically_equal({"a": here}, {"a": there}) is same


def test_comparing_reads_bytes_without_keeping_what_it_read() -> None:
    decode = decoder_for(V1Pod).decode
    one = decode(b'{"metadata":{"name":"a"},"spec":{"containers":[],"overhead":{"cpu":"1"}}}')
    other = decode(b'{"metadata":{"name":"a"},"spec":{"containers":[],"overhead":{"cpu":"1000m"},"volumes":[]}}')

    assert semantically_equal(one, other)
    assert not semantically_equal(one, decode(b'{"metadata":{"name":"a"},"spec":{"containers":[]}}'))
    assert not semantically_equal(one, None)
    assert isinstance(type(one).__lazy_fields__["spec"].peek(one), msgspec.Raw)


def test_the_quantities_are_those_of_the_embedded_servers_forms() -> None:
    found: dict[str, set[str]] = {}
    for model, forms in all_forms().items():
        names = {json: name for name, json in shape_of(model).json_names.items()}
        quantities = {names[field] for field, form in forms.items() if "q" in form}
        if quantities:
            found[model] = quantities

    assert found == QUANTITIES
