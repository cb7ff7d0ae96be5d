"""Kubelets' requests for client certificates are approved, if the asker may have that."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.manager import SyncError
from kinformer.models import V1CertificateSigningRequest, V1SubjectAccessReviewStatus
from kinformer_controllers.csrapproving.controller import ApprovingController, is_node_client, is_self_node_client
from kinformer_controllers.shared.certificates.requests import read_request
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeContext, conflict, forbidden
from tests.controllers.shared.certificates.requests import condition, make_request, pem_of_request


class World(Cluster):
    """
    :param allowed: the subresources that the asker may create
    """

    def __init__(self, *allowed: str) -> None:
        super().__init__()
        self.allowed = allowed
        self.reviewed: list[Any] = []
        self.approving = ApprovingController(FakeContext(self.client, self.informers, clock=self.clock))

    def ask(self, verb: str, type_: type[Any], key: str, sent: Any = None) -> Any:
        if verb == "create" and type_.__name__ == "V1SubjectAccessReview":
            self.reviewed.append(sent.spec)
            allowed = sent.spec.resource_attributes.subresource in self.allowed
            sent.status = V1SubjectAccessReviewStatus(allowed=allowed)
            return sent
        return super().ask(verb, type_, key, sent)

    def put_on_server(self, obj: Any) -> None:
        if obj.metadata is not None:
            super().put_on_server(obj)

    @property
    def conditions(self) -> list[Any]:
        return list(self.on_server(V1CertificateSigningRequest, "r").status.conditions or ())


async def test_a_kubelets_request_is_approved_if_the_asker_may_ask_for_nodes() -> None:
    world = World("nodeclient")
    request = world.put(make_request(username="bootstrap", uid="u", groups=["g"], extra={"k": ["v"]}))

    await world.approving.handle(request)

    (review,) = world.reviewed
    assert (review.user, review.uid, review.groups, review.extra) == ("bootstrap", "u", ["g"], {"k": ["v"]})
    attributes = review.resource_attributes
    assert (attributes.group, attributes.resource, attributes.subresource, attributes.verb, attributes.version) == (
        *("certificates.k8s.io", "certificatesigningrequests", "nodeclient", "create"),
        "*",
    )
    assert world.requests == ["update_approval CertificateSigningRequest r"]
    (approval,) = world.conditions
    assert (approval.type, approval.status, approval.reason) == ("Approved", "True", "AutoApproved")
    assert approval.message == "Auto approving kubelet client certificate after SubjectAccessReview."
    assert not request.status.conditions


async def test_a_kubelet_that_asks_for_itself_needs_the_narrower_permission_only() -> None:
    world = World("selfnodeclient")

    await world.approving.handle(world.put(make_request(username="system:node:n")))

    assert [it.resource_attributes.subresource for it in world.reviewed] == ["selfnodeclient"]
    assert world.conditions[0].message == "Auto approving self kubelet client certificate after SubjectAccessReview."


async def test_who_may_not_is_asked_for_again_later() -> None:
    world = World()
    request = world.put(make_request(username="system:node:n"))

    with pytest.raises(SyncError, match=r"recognized csr 'r' as \['selfnodeclient', 'nodeclient'\] but subject"):
        await world.approving.handle(request)

    assert not world.requests


@pytest.mark.parametrize(
    "request_",
    [
        make_request(pem_of_request("alice", ())),
        make_request(signer="kubernetes.io/kube-apiserver-client"),
        make_request(usages=("server auth",)),
        make_request(b"hello"),
        make_request(conditions=(condition("Approved"),)),
        make_request(conditions=(condition("Denied"),)),
    ],
    ids=["another subject", "another signer", "other usages", "unreadable", "approved", "denied"],
)
async def test_other_requests_and_those_that_are_decided_are_left_alone(request_: Any) -> None:
    world = World("nodeclient", "selfnodeclient")

    await world.approving.handle(world.put(request_))

    assert not world.reviewed
    assert not world.requests


@pytest.mark.parametrize("error", [forbidden(), conflict()])
async def test_an_approval_that_the_server_does_not_take_is_tried_again(error: Exception) -> None:
    world = World("nodeclient")
    world.errors["update_approval CertificateSigningRequest"] = [error]

    with pytest.raises(type(error)):
        await world.approving.handle(world.put(make_request()))


@pytest.mark.parametrize(
    ("pem", "spec", "node", "self_node"),
    [
        ({}, {"username": "system:node:n"}, True, True),
        ({}, {"username": "system:node:other"}, True, False),
        ({}, {"usages": ("digital signature", "key encipherment", "client auth")}, True, False),
        ({"organizations": ("system:masters",)}, {}, False, False),
        ({"organizations": ("system:nodes", "system:masters")}, {}, False, False),
        ({"name": "alice"}, {"username": "alice"}, False, False),
        ({"dns": ("x.example",)}, {}, False, False),
        ({"emails": ("a@b.example",)}, {}, False, False),
        ({"ips": ("10.0.0.1",)}, {}, False, False),
        ({"uris": ("spiffe://x",)}, {}, False, False),
        ({}, {"usages": ("digital signature", "client auth", "server auth")}, False, False),
        ({}, {"usages": ("client auth",)}, False, False),
        ({}, {"usages": ()}, False, False),
        ({}, {"signer": "kubernetes.io/kubelet-serving"}, False, False),
    ],
)
def test_a_kubelets_request_is_known_by_subject_usages_and_signer(
    pem: dict[str, Any], spec: dict[str, Any], node: bool, self_node: bool
) -> None:
    request = make_request(pem_of_request(**pem), **spec)
    parsed = read_request(request)

    assert is_node_client(request, parsed) == node
    assert is_self_node_client(request, parsed) == self_node
