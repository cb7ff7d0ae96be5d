from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kinformer.client.errors import NotFound, Status, StatusCause, StatusDetails, error_from_status
from kinformer.controllerutil.pod_control import PodControl, PodControlError, pod_from_template
from kinformer.models import V1ObjectMeta, V1OwnerReference, V1Pod, V1PodSpec, V1PodTemplateSpec, encode
from tests.controllers.objects import FakeRecorder, forbidden, make_rc, not_found

TEMPLATE = V1PodTemplateSpec(
    metadata=V1ObjectMeta(labels={"app": "web"}, annotations={"a": "b"}, finalizers=["f"]),
    spec=V1PodSpec(containers=[]),
)
REFERENCE = V1OwnerReference(
    api_version="v1", kind="ReplicationController", name="web", uid="u1", controller=True, block_owner_deletion=True
)


class FakePodsOfServer:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: list[Any] = []

    def resource(self, type_: type[Any]) -> Any:
        return self

    async def create(self, pod: bytes, namespace: str) -> V1Pod:
        self._ask((pod, namespace))
        return V1Pod(metadata=V1ObjectMeta(name="web-abcde"))

    async def delete(self, name: str, namespace: str) -> None:
        self._ask((name, namespace))

    def _ask(self, what: Any) -> None:
        self.asked.append(what)
        if self.error is not None:
            raise self.error


def control(error: Exception | None = None) -> tuple[PodControl, FakePodsOfServer, FakeRecorder]:
    server, recorder = FakePodsOfServer(error), FakeRecorder()
    return PodControl(server, recorder), server, recorder  # type: ignore[arg-type]  # all of a client that is asked for


def test_a_pod_follows_its_template_and_is_named_after_its_owner() -> None:
    pod = pod_from_template(TEMPLATE, "ns", "web", REFERENCE)

    meta = pod.metadata
    assert (meta.namespace, meta.generate_name, meta.name) == ("ns", "web-", None)
    assert (meta.labels, meta.annotations, meta.finalizers) == ({"app": "web"}, {"a": "b"}, ["f"])
    (owner,) = meta.owner_references
    assert (owner.kind, owner.name, owner.uid) == ("ReplicationController", "web", "u1")
    assert owner.controller
    assert owner.block_owner_deletion
    assert pod.spec == TEMPLATE.spec


def test_a_name_without_room_for_a_dash_is_the_prefix_itself() -> None:
    long = "x" * 254

    assert pod_from_template(TEMPLATE, "ns", long, REFERENCE).metadata.generate_name == long
    assert pod_from_template(TEMPLATE, "ns", "web", REFERENCE, "other-").metadata.generate_name == "other-"


def test_a_template_without_labels_makes_no_pods() -> None:
    with pytest.raises(PodControlError, match="unable to create pods, no labels"):
        pod_from_template(V1PodTemplateSpec(spec=V1PodSpec(containers=[])), "ns", "web", REFERENCE)


@pytest.mark.parametrize("reference", [replace(REFERENCE, controller=False), replace(REFERENCE, uid="")])
def test_a_reference_that_makes_nobody_a_controller_is_refused(reference: V1OwnerReference) -> None:
    with pytest.raises(PodControlError, match="owner reference"):
        pod_from_template(TEMPLATE, "ns", "web", reference)


async def test_each_write_is_told_by_an_event_about_the_owner() -> None:
    pods, server, recorder = control()
    pod = pod_from_template(TEMPLATE, "ns", "web", REFERENCE)

    await pods.create(pod, make_rc())
    await pods.delete("ns", "web-abcde", make_rc())

    assert server.asked == [(encode(pod), "ns"), ("web-abcde", "ns")]
    assert recorder.events == [
        "Normal SuccessfulCreate web: Created pod: web-abcde",
        "Normal SuccessfulDelete web: Deleted pod: web-abcde",
    ]


async def test_a_pod_that_is_created_again_is_encoded_once() -> None:
    pods, server, _ = control()
    one, other = (pod_from_template(TEMPLATE, "ns", name, REFERENCE) for name in ("web", "db"))

    for pod in (one, one, other):
        await pods.create(pod, make_rc())

    first, second, third = (body for body, _ in server.asked)
    assert second is first
    assert third == encode(other) != first


async def test_a_refused_write_is_told_by_a_warning_in_the_servers_words() -> None:
    pods, _, recorder = control(forbidden("exceeded quota: q"))

    with pytest.raises(Exception, match="exceeded quota: q"):
        await pods.create(pod_from_template(TEMPLATE, "ns", "web", REFERENCE), make_rc())
    with pytest.raises(PodControlError, match="unable to delete pods: exceeded quota: q"):
        await pods.delete("ns", "a", make_rc())

    assert recorder.events == [
        "Warning FailedCreate web: Error creating: exceeded quota: q",
        "Warning FailedDelete web: Error deleting: exceeded quota: q",
    ]


async def test_a_pod_that_is_gone_already_is_no_event() -> None:
    pods, _, recorder = control(not_found())

    with pytest.raises(NotFound):
        await pods.delete("ns", "a", make_rc())

    assert recorder.events == []


async def test_a_namespace_that_is_going_is_no_event() -> None:
    details = StatusDetails(causes=(StatusCause(reason="NamespaceTerminating"),))
    pods, _, recorder = control(error_from_status(Status(code=403, reason="Forbidden", details=details)))

    with pytest.raises(Exception, match="403"):
        await pods.create(pod_from_template(TEMPLATE, "ns", "web", REFERENCE), make_rc())

    assert recorder.events == []


def test_a_prefix_can_be_given() -> None:
    pod = pod_from_template(TEMPLATE, "ns", "web", REFERENCE, "given-")

    assert pod.metadata.generate_name == "given-"
