from __future__ import annotations

import pytest
from prometheus_client import REGISTRY, generate_latest

from kinformer.cache import Indexer
from kinformer.models import ResourceV1ResourceClaim, V1ResourceClaimTemplate, from_dict
from kinformer_controllers.resourceclaim.decision import FINALIZER, new_claim, released, use_of
from kinformer_controllers.resourceclaim.metrics import counted_claims
from kinformer_controllers.shared.devices import Claimant, Entry

POD = Claimant("Pod", "default", "p", "1")


@pytest.mark.parametrize(
    ("pod", "entry", "prefix"),
    [
        ("p", "e", "p-e-"),
        ("p" * 30, "e" * 25, f"{'p' * 30}-{'e' * 25}-"),
        ("p" * 30, "e" * 26, f"{'p' * 29}-{'e' * 25}"),
        ("p" * 50, "e" * 40, f"{'p' * 30}-{'e' * 24}"),
    ],
)
def test_a_name_that_is_too_long_is_shortened_in_both_parts(pod: str, entry: str, prefix: str) -> None:
    template = from_dict(V1ResourceClaimTemplate, {"metadata": {"name": "t"}, "spec": {"spec": {}}})

    assert new_claim(POD._replace(name=pod), Entry(entry), template).metadata.generate_name == prefix


@pytest.mark.parametrize(
    ("cached", "want"),
    [
        (None, "unknown"),
        (POD._replace(uid="2"), "unknown"),
        (POD, "used"),
        (POD._replace(phase="Running", node="n", is_deleted=True), "used"),
        (POD._replace(is_deleted=True), "ended"),
        (POD._replace(phase="Failed", node="n"), "ended"),
    ],
)
def test_only_a_pod_that_the_cache_shows_has_ended_for_certain(cached: Claimant | None, want: str) -> None:
    assert use_of("1", cached).value == want


def test_devices_that_another_allocator_gave_are_kept() -> None:
    status = {"allocation": {}, "reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}]}
    claim = from_dict(ResourceV1ResourceClaim, {"metadata": {"name": "c"}, "spec": {}, "status": status})

    assert released(claim, []).status.allocation is not None
    claim.metadata.finalizers = [FINALIZER]
    assert released(claim, []).status.allocation is None


def test_claims_are_counted_by_devices_access_and_source() -> None:
    cache: Indexer[ResourceV1ResourceClaim] = Indexer()
    admin = {"name": "r", "exactly": {"deviceClassName": "c", "adminAccess": True}}
    either = {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "c"}]}
    claims: list[tuple[dict[str, str], object, dict[str, object]]] = [
        ({}, either, {}),
        ({"resource.kubernetes.io/pod-claim-name": "e"}, admin, {}),
        ({"resource.kubernetes.io/pod-claim-name": "e"}, admin, {}),
        ({"resource.kubernetes.io/extended-resource-claim": "true"}, either, {"allocation": {}}),
    ]
    for number, (notes, request, status) in enumerate(claims):
        meta = {"name": f"c{number}", "namespace": "default", "annotations": notes}
        claim = {"metadata": meta, "spec": {"devices": {"requests": [request]}}, "status": status}
        cache.add(from_dict(ResourceV1ResourceClaim, claim))

    with counted_claims(cache):
        shown = generate_latest(REGISTRY).decode()
    name = "resourceclaim_controller_resource_claims"
    assert f'{name}{{admin_access="false",allocated="false",source=""}} 1.0' in shown
    assert f'{name}{{admin_access="true",allocated="false",source="resource_claim_template"}} 2.0' in shown
    assert f'{name}{{admin_access="false",allocated="true",source="extended_resource"}} 1.0' in shown
    assert f"{name}{{" not in generate_latest(REGISTRY).decode()
