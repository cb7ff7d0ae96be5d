"""Secrets: whatever goes wrong with a request, no error and no line of the log holds object bytes or credentials."""

from __future__ import annotations

import json
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from kinformer.client import Client, ClientError, ClientOptions, connect
from kinformer.clock import FakeClock
from kinformer.models import V1Secret
from tests.hostile.server import CANARY, Ask, hostile, whole

TOKEN = "t0k3n"

SECRET = {"metadata": {"name": "s", "namespace": "default"}, "data": {"password": CANARY}}

CALLS: dict[str, Callable[[Client], Awaitable[Any]]] = {
    "get": lambda client: client.resource(V1Secret).get("s", "default"),
    "list": lambda client: client.resource(V1Secret).list("default"),
    "list as it comes": lambda client: client.resource(V1Secret).list("default", accept=lambda _: True),
    "create": lambda client: client.resource(V1Secret).create(SECRET),
    "update": lambda client: client.resource(V1Secret).update(SECRET),
    "patch": lambda client: client.resource(V1Secret).patch("s", {"data": SECRET["data"]}, "default"),
    "apply": lambda client: client.resource(V1Secret).apply(SECRET, field_manager="me"),
    "delete": lambda client: client.resource(V1Secret).delete("s", "default"),
    "discovery": lambda client: client.server_resources(),
    "version": lambda client: client.server_version(),
    "anything": lambda client: client.request("GET", "/x", type_=dict),
}

#: What is answered; the first two hold an object that does not fit, the rest is none.
ANSWERS = {
    "an object that does not fit": json.dumps({**SECRET, "metadata": {"name": 5, "x": CANARY}}).encode(),
    "a list that does not fit": json.dumps({"items": [{**SECRET, "metadata": CANARY}], "metadata": []}).encode(),
    "an object that is cut off": json.dumps(SECRET).encode()[:-3],
    "a login page": b"<html>" + CANARY.encode() + b"</html>",
    "text": json.dumps(CANARY).encode(),
    "bytes that are no text": b'{"data":{"a":"\xff' + CANARY.encode() + b'"}}',
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("call", CALLS)
async def test_no_error_of_a_request_shows_an_object_or_a_token(call: str, answer: str) -> None:
    async def attack(ask: Ask) -> None:
        await ask.send(whole(200, ANSWERS[answer]))

    async with (
        hostile(attack, "list version watch stream") as (_, url),
        connect(url=url, token=TOKEN, options=ClientOptions(headers={"X-Mine": TOKEN}), clock=FakeClock()) as client,
    ):
        shown = ""
        with capture_logs() as logs:
            try:
                # An answer that fits after all is none of this test's business, nor what the caller makes of it.
                await CALLS[call](client)
            except ClientError as error:
                shown = "".join(traceback.format_exception(error)) + repr(error)

    for text in (shown, repr(logs), repr(client), repr(client._transport.endpoint)):
        assert CANARY not in text
        assert TOKEN not in text
