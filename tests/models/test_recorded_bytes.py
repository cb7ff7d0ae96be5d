"""A real server's list and watch, into every form that objects can have here, and back."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from kinformer.models import V1Pod, V1PodList, decode, decoder_for, detacher_for, encode
from tests.recorded import pod_list, watch_lines, watched_pods


class Metadata(msgspec.Struct, rename="camel"):
    name: str
    namespace: str
    resource_version: str


class NodeOf(msgspec.Struct, rename="camel"):
    node_name: str | None = None


class PodOnNode(msgspec.Struct):
    metadata: Metadata
    spec: NodeOf


class Event(msgspec.Struct):
    type: str
    object: V1Pod


def without_nulls(value: Any) -> Any:
    """The server writes null where a time is zero; a model does not write what it does not have."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def test_a_list_decodes_into_models() -> None:
    pods = decode(V1PodList, pod_list())

    assert len(pods.items) == 200
    assert all(pod.spec.containers[0].name for pod in pods.items)
    assert pods.metadata.resource_version


def test_a_watch_decodes_into_models_dicts_and_a_projection_alike() -> None:
    for data, plain in watched_pods():
        pod = decode(V1Pod, data)
        row = decode(PodOnNode, data)
        assert decode(dict[str, Any], data) == plain
        assert pod.metadata.name == row.metadata.name == plain["metadata"]["name"]
        assert pod.spec.node_name == row.spec.node_name == plain["spec"].get("nodeName")


def test_a_watch_decodes_with_its_envelope() -> None:
    events = [decode(Event, line) for line in watch_lines()]

    assert {event.type for event in events} == {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"}


@pytest.mark.parametrize("read", [False, True], ids=["not read", "read"])
def test_a_pod_is_encoded_to_what_the_server_sent_field_for_field(read: bool) -> None:
    for data, plain in watched_pods():
        pod = decoder_for(V1Pod).decode(data)
        if read:
            assert all((pod.spec, pod.status, pod.metadata.managed_fields))
        assert without_nulls(json.loads(encode(pod))) == without_nulls(plain)


def test_a_detached_pod_is_what_the_server_sent_but_for_managed_fields() -> None:
    detach = detacher_for(V1Pod)
    for data, plain in watched_pods():
        pod = decoder_for(V1Pod).decode(data)
        detach(pod)
        plain["metadata"].pop("managedFields")
        assert without_nulls(json.loads(encode(pod))) == without_nulls(plain)
