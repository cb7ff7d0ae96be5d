from __future__ import annotations

from typing import Any

import msgspec
import pytest
import structlog.testing

from kinformer.clock import FakeClock
from kinformer.models import CoreV1Event, V1ObjectMeta, V1ReplicationController
from kinformer.record import NORMAL, WARNING, Recorder, reference_to
from kinformer.record.recorder import event_name

RC = V1ReplicationController(metadata=V1ObjectMeta(name="web", namespace="ns", uid="u1", resource_version="5"))


@pytest.fixture
def sent() -> list[CoreV1Event]:
    return []


@pytest.fixture
def recorder(sent: list[CoreV1Event]) -> Recorder:
    return Recorder(sent.append, "replication-controller", "", FakeClock())


def test_an_event_says_what_happened_to_whom_and_who_says_so(recorder: Recorder, sent: list[CoreV1Event]) -> None:
    recorder.event(RC, NORMAL, "SuccessfulCreate", "Created pod: web-abc", {"why": "asked"})

    (event,) = sent
    assert event.metadata.name.startswith("web.")
    assert (event.metadata.namespace, event.metadata.annotations) == ("ns", {"why": "asked"})
    assert (event.type, event.reason, event.message) == (NORMAL, "SuccessfulCreate", "Created pod: web-abc")
    assert (event.source.component, event.reporting_component) == ("replication-controller", "replication-controller")
    assert (event.count, event.first_timestamp, event.last_timestamp) == (1, FakeClock().now(), FakeClock().now())
    involved = event.involved_object
    assert (involved.api_version, involved.kind, involved.name) == ("v1", "ReplicationController", "web")
    assert (involved.uid, involved.resource_version) == ("u1", "5")


def test_two_events_of_one_moment_have_two_names(recorder: Recorder, sent: list[CoreV1Event]) -> None:
    recorder.event(RC, NORMAL, "Seen", "once")
    recorder.event(RC, NORMAL, "Seen", "twice")

    assert len({event.metadata.name for event in sent}) == 2


def test_events_about_what_has_no_namespace_go_to_the_default_one(recorder: Recorder, sent: list[CoreV1Event]) -> None:
    recorder.event({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}, WARNING, "Gone", "It left")

    assert sent[0].metadata.namespace == "default"
    assert sent[0].involved_object.namespace is None


def test_a_name_that_no_event_may_have_is_replaced() -> None:
    assert event_name("web", 255) == "web.ff"
    assert len(event_name("Not A Name", 255)) == 36
    assert len(event_name("x" * 252, 255)) == 36


def test_an_event_of_an_unknown_type_or_object_is_logged_and_dropped(
    recorder: Recorder, sent: list[CoreV1Event]
) -> None:
    with structlog.testing.capture_logs() as logs:
        recorder.event(RC, "Strange", "Seen", "hello")
        recorder.event({"metadata": {"name": "x"}}, NORMAL, "Seen", "hello")
        recorder.event(object(), NORMAL, "Seen", "hello")

    assert sent == []
    assert [line["event"] for line in logs] == ["event_type_unknown", "event_object_unknown", "event_object_unknown"]


def test_a_struct_that_says_its_kind_can_be_referred_to() -> None:
    class Meta(msgspec.Struct):
        name: str
        namespace: str

    class Widget(msgspec.Struct, rename="camel"):
        api_version: str
        kind: str
        metadata: Meta

    reference: Any = reference_to(Widget("example.com/v1", "Widget", Meta("w", "ns")))
    assert (reference.api_version, reference.kind, reference.name) == ("example.com/v1", "Widget", "w")
    assert reference_to(reference) is reference
