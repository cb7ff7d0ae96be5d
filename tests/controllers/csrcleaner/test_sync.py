"""Old requests go: an hour after a decision, a day without one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kinformer.clock import FakeClock
from kinformer.models import V1CertificateSigningRequest
from kinformer_controllers.csrcleaner.controller import PERIOD, why_it_goes
from kinformer_controllers.shared.certificates.cleaning import Cleaner
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeContext, conflict, forbidden, not_found
from tests.controllers.shared.certificates.requests import condition, make_request

START = FakeClock().now()
HOUR = timedelta(hours=1)


def certificate(until: datetime) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(datetime(2020, 1, 1, tzinfo=UTC)).not_valid_after(until)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


VALID = certificate(START + 30 * HOUR)


class World(Cluster):
    def __init__(self) -> None:
        super().__init__()
        context = FakeContext(self.client, self.informers, clock=self.clock)
        self.cleaner = Cleaner(context, "csrcleaner", V1CertificateSigningRequest, why_it_goes, PERIOD)

    async def deletes(self, request: Any, after: timedelta) -> bool:
        """Whether a request that was made at the start is deleted so much later."""
        self.put(request)
        self.clock.turn(after.total_seconds())
        assert await self.cleaner.sync("requests") == PERIOD
        known = {each.metadata.resource_version for each in self.informers.informer_for(type(request)).indexer.list()}
        assert {sent.preconditions.resource_version for sent in self.sent} <= known  # what has changed since stays
        return self.requests == ["delete CertificateSigningRequest r"]


@pytest.mark.parametrize(
    ("about", "limit"),
    [
        pytest.param({}, 24 * HOUR, id="pending"),
        pytest.param({"conditions": (condition("Approved", START),)}, 24 * HOUR, id="approved, not issued"),
        pytest.param({"conditions": (condition("Approved", START),), "certificate": VALID}, HOUR, id="issued"),
        pytest.param({"conditions": (condition("Denied", START),)}, HOUR, id="denied"),
        pytest.param({"conditions": (condition("Failed", START),)}, HOUR, id="failed"),
        pytest.param(
            {"conditions": (condition("Approved"),), "certificate": certificate(START + 2 * HOUR)},
            2 * HOUR,
            id="issued, and over",
        ),
    ],
)
async def test_a_request_goes_when_its_time_is_over_and_not_before(about: dict[str, Any], limit: timedelta) -> None:
    assert not await World().deletes(make_request(**about), limit)
    assert await World().deletes(make_request(**about), limit + timedelta(seconds=1))


@pytest.mark.parametrize(
    "about",
    [
        pytest.param({"conditions": (condition("Approved"),), "certificate": VALID}, id="no time"),
        pytest.param({"conditions": (condition("Approved"),), "certificate": b"garbage"}, id="no certificate"),
    ],
)
async def test_a_request_that_does_not_say_since_when_stays(about: dict[str, Any]) -> None:
    assert not await World().deletes(make_request(**about), 25 * HOUR)


async def test_only_the_request_that_was_looked_at_goes() -> None:
    world = World()
    request = make_request(conditions=(condition("Denied", START),))

    assert await world.deletes(request, 2 * HOUR)

    assert world.sent[-1].preconditions.uid == request.metadata.uid


@pytest.mark.parametrize("error", [not_found(), conflict(), forbidden()])
async def test_one_that_cannot_be_deleted_keeps_no_other_from_going(error: Exception) -> None:
    world = World()
    world.errors["delete CertificateSigningRequest"] = [error]
    second = make_request(conditions=(condition("Denied", START),))
    second.metadata.name = "s"
    world.put(second)

    await world.deletes(make_request(conditions=(condition("Denied", START),)), 2 * HOUR)

    assert sorted(world.requests) == ["delete CertificateSigningRequest r", "delete CertificateSigningRequest s"]
