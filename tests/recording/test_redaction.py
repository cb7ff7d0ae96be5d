"""What never reaches the disk: data of Secrets, tokens, and annotations that were asked for."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kinformer.recording.redaction import REDACTED, Redactor

PASSWORD = "hunter2-of-the-shop"
ENCODED = base64.b64encode(PASSWORD.encode()).decode()
SECRETS = "/api/v1/namespaces/default/secrets"
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
COPY = json.dumps({"data": {"password": ENCODED}})
SECRET: dict[str, Any] = {
    "kind": "Secret",
    "metadata": {
        "name": "shop",
        "annotations": {APPLIED: COPY, "kopf.zalando.org/last-handled-configuration": f"\n{COPY}\n", "owner": "us"},
    },
    "data": {"password": ENCODED},
    "stringData": {"password": PASSWORD},
}


def cleaned(body: Any, path: str = SECRETS, method: str = "POST", redact: tuple[str, ...] = ()) -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Redactor(redact).cleaned(data, method, path)


@pytest.mark.parametrize(
    "body",
    [
        SECRET,
        {"kind": "SecretList", "items": [SECRET]},
        {"kind": "Table", "rows": [{"cells": ["shop"], "object": SECRET}]},
        {"type": "MODIFIED", "object": SECRET},
        {"data": {"password": ENCODED}},
        [{"op": "replace", "path": "/data/password", "value": ENCODED}],
        {"kind": "Status", "status": "Failure", "message": f"{PASSWORD} and {ENCODED} are too short"},
        f"data: {{password: {ENCODED}}} # {PASSWORD}".encode(),
        json.dumps(ENCODED).encode(),
    ],
    ids=["object", "list", "table", "event", "merge patch", "JSON patch", "refusal", "YAML", "text"],
)
def test_no_body_of_a_secret_has_its_data(body: Any) -> None:
    found = cleaned(body)

    assert PASSWORD.encode() not in found
    assert ENCODED.encode() not in found


def test_a_secret_keeps_its_names_and_other_annotations() -> None:
    found = json.loads(cleaned(SECRET))

    assert found["data"] == {"password": REDACTED}
    assert found["metadata"]["name"] == "shop"
    assert found["metadata"]["annotations"]["owner"] == "us"
    assert list(found["metadata"]["annotations"]) == list(SECRET["metadata"]["annotations"])


def test_the_removal_of_an_annotation_stays_one() -> None:
    patch = {"metadata": {"annotations": {"copy": None}}}

    assert json.loads(cleaned(patch)) == patch


@pytest.mark.parametrize(
    "path",
    ["/api/v1/namespaces/default/serviceaccounts/web/token", "/apis/authentication.k8s.io/v1/tokenreviews"],
)
def test_requests_with_tokens_are_recorded_without_bodies(path: str) -> None:
    assert cleaned({"status": {"token": PASSWORD}}, path) == b"{}"


@pytest.mark.parametrize("name", ["licence", "shop.example/licence"])
@pytest.mark.parametrize("escape", [False, True], ids=["plain", "escaped"])
def test_annotations_that_are_asked_for_are_left_out_everywhere(name: str, escape: bool) -> None:
    template = {"metadata": {"annotations": {name: PASSWORD, "other": "x"}}}
    annotations = {APPLIED: json.dumps({"spec": {"template": template}}), name: PASSWORD}
    text = json.dumps({"metadata": {"annotations": annotations}, "spec": {"template": template}})
    if escape:
        text = text.replace("/licence", "\\/licence").replace('"licence', '"\\u006cicence')

    found = cleaned(text.encode(), "/apis/apps/v1/namespaces/default/deployments", redact=(name,))

    assert PASSWORD.encode() not in found
    assert json.loads(found)["spec"]["template"]["metadata"]["annotations"] == {name: REDACTED, "other": "x"}


def test_other_objects_are_the_bytes_that_came() -> None:
    body = b'{"metadata": {"annotations": {"other": "x"}}, "data": {"password": "p"}}'

    assert cleaned(body, "/api/v1/namespaces/default/configmaps", redact=("licence",)) is body
