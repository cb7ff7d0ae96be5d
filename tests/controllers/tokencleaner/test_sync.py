"""The controller with a manager, against the embedded server: which tokens go, and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kinformer.client import DeleteOptions
from kinformer.manager import ControllerContext
from kinformer.models import V1Secret
from kinformer_controllers.shared.identity import remaining_seconds
from kinformer_controllers.tokencleaner.controller import TokenCleaner
from tests.controllers.bootstrapsigner.test_sync import token
from tests.controllers.cluster import Cluster as FakeCluster
from tests.controllers.nodes import Cluster, cluster
from tests.controllers.objects import conflict

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-01-01T12:00:10Z", 10),
        ("2026-01-01T12:00:10.5Z", 10.5),
        ("2026-01-01T12:00:10,25Z", 10.25),
        ("2026-01-01T14:00:10+02:00", 10),
        ("2026-01-01T09:30:10-02:30", 10),
        ("2026-01-02T9:00:00Z", 21 * 3600),
        ("2026-01-02T12:00:00+24:00", 0),
        ("2026-01-01T12:00:00Z", 0),
        ("2026-01-01T11:59:59Z", 0),
        ("0000-02-29T00:00:00Z", 0),
        ("", float("inf")),
    ],
)
def test_a_time_is_read_as_go_reads_it(text: str, seconds: float) -> None:
    assert remaining_seconds(token(expiration=text), NOW) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "2999-01-01",
        "2999-01-01T00:00:00",
        "2999-01-01 00:00:00Z",
        "2999-01-01t00:00:00z",
        "2999-1-01T00:00:00Z",
        "2999-02-29T00:00:00Z",
        "2999-01-01T24:00:00Z",
        "2999-01-01T00:00:60Z",
        "2999-01-01T00:00:00+25:00",
        "2999-01-01T00:00:00Z\n",
        "\uff12999-01-01T00:00:00Z",
        "never",
    ],
)
def test_a_time_that_go_cannot_read_has_passed(text: str) -> None:
    assert remaining_seconds(token(expiration=text), NOW) == 0


async def names(world: Cluster) -> set[str]:
    secrets = (await world.client.resource(V1Secret).list()).items
    return {secret.metadata.name.removeprefix("bootstrap-token-") for secret in secrets}


async def test_a_token_goes_when_it_expires_and_other_secrets_stay() -> None:
    async with cluster({"tokencleaner": TokenCleaner}) as world:
        secrets = world.client.resource(V1Secret)

        def after(seconds: int) -> str:
            return (world.clock.now() + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")

        for secret in (
            token("over00", expiration=after(-1)),
            token("minute", expiration=after(60)),
            token("longer", expiration=after(60)),
            token("always"),
            token("opaque", expiration=after(-1), type_="Opaque"),
            token("others", expiration=after(-1), namespace="default"),
            token("centur", expiration="9999-12-31T23:59:59Z"),
        ):
            await secrets.create(secret)
        await world.turn(50)
        staying = {"always", "opaque", "others", "centur"}
        assert await names(world) == {"minute", "longer", *staying}

        body = {"stringData": {"expiration": after(3600)}}
        await secrets.patch("bootstrap-token-longer", body, "kube-system")
        await world.turn(20)
        assert await names(world) == {"longer", *staying}


async def test_a_token_that_was_prolonged_unseen_stays() -> None:
    world = FakeCluster()
    cleaner = TokenCleaner(ControllerContext(world.client, world.informers, clock=world.clock))
    old = world.put(token(expiration="2000-01-01T00:00:00Z"))
    world.errors["delete Secret"] = [conflict()]

    await cleaner.sync("kube-system/bootstrap-token-abc123")

    sent = world.sent[-1]
    assert isinstance(sent, DeleteOptions)
    assert sent.preconditions is not None
    assert sent.preconditions.uid == old.metadata.uid
    assert sent.preconditions.resource_version == old.metadata.resource_version
