"""Protobuf bodies are read as the same objects in JSON are. ``protobuf.yaml`` has such pairs."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
import yaml

from kinformer.envtest.handlers.protobuf import BadProtobuf, read_protobuf
from tests.envtest.conftest import Http
from tests.envtest.test_server import CONFIG_MAPS

PROTOBUF = "application/vnd.kubernetes.protobuf"
PAIRS = yaml.safe_load(Path(__file__).with_name("protobuf.yaml").read_text())
BODIES = {kind: base64.b64decode(pair["body"]) for kind, pair in PAIRS.items()}


@pytest.mark.parametrize("kind", PAIRS)
async def test_a_create_in_protobuf_is_that_of_the_same_json(http: Http, kind: str) -> None:
    path = f"{PAIRS[kind]['path']}?dryRun=All&fieldValidation=Strict"

    answers = []
    for sent, type_ in ((BODIES[kind], PROTOBUF), (json.loads(PAIRS[kind]["object"]), "application/json")):
        code, stored = await http("POST", path, sent, type_)
        assert code == 201, stored
        stored["metadata"].pop("uid", None)
        answers.append(stored)

    assert answers[0] == answers[1]


def test_times_and_maps_of_lists_are_read() -> None:
    deployment = read_protobuf(BODIES["Deployment"], {})
    assert deployment["metadata"]["deletionTimestamp"] == "2026-01-02T03:04:05Z"

    review = read_protobuf(BODIES["TokenReview"], {})
    assert review["status"]["user"]["extra"] == {"e": ["1", "2"]}


@pytest.mark.parametrize("cut", [0, 3, 4, 20, -1])
async def test_a_body_in_protobuf_that_is_cut_off_is_refused(http: Http, cut: int) -> None:
    code, refused = await http("POST", PAIRS["Secret"]["path"], BODIES["Secret"][:cut], PROTOBUF)

    assert (code, refused["reason"]) == (400, "BadRequest")


async def test_a_body_in_protobuf_of_another_kind_is_refused(http: Http) -> None:
    code, refused = await http("POST", CONFIG_MAPS, BODIES["Secret"], PROTOBUF)

    assert code == 400
    assert 'Secret in version "v1" cannot be handled as a ConfigMap' in refused["message"]


async def test_a_kind_without_protobuf_is_an_unsupported_media_type(http: Http) -> None:
    widget = b"k8s\x00\n\x18\n\x0eexample.com/v1\x12\x06Widget"

    code, refused = await http("POST", CONFIG_MAPS, widget, PROTOBUF)

    assert (code, refused["reason"]) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize(
    "raw",
    [b"\xff", b"\x0b", b"\x0a\xff\x01", b"\x08\x01", b"\x12\x02\x08\x01", b"\xff" * 11],
    ids=["cut number", "group", "too long", "number for a message", "number for a map", "number of 70 bits"],
)
def test_bytes_that_are_no_message_are_an_error(raw: bytes) -> None:
    unknown = b"k8s\x00\x0a\x0c\x0a\x02v1\x12\x06Secret\x12" + bytes((len(raw),)) + raw
    with pytest.raises(BadProtobuf):
        read_protobuf(unknown, {})


def test_a_field_that_holds_no_json_is_an_error() -> None:
    head = b"\x0a\x07apps/v1\x12\x12ControllerRevision"
    data = b"\x12\x03\x0a\x01{"
    with pytest.raises(BadProtobuf, match="unexpected end of JSON input"):
        read_protobuf(b"k8s\x00\x0a" + bytes((len(head),)) + head + b"\x12" + bytes((len(data),)) + data, {})
