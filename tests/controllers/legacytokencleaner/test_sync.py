"""Tokens that were made automatically, and that nobody has used for a year, are marked; a year later they go."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kinformer.clock import FakeClock
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1Pod, V1Secret, V1ServiceAccount, from_dict
from kinformer_controllers.legacytokencleaner.controller import PERIOD, LegacyTokenCleaner
from kinformer_controllers.legacytokencleaner.verdict import secrets_of
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeContext, conflict, forbidden

NOW = FakeClock().now()
YEAR = timedelta(days=365)
LAST_USED = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"


def day(ago: timedelta) -> str:
    return (NOW - ago).strftime("%Y-%m-%d")


class World(Cluster):
    """
    :param since: on which day the server began to note what is used; None: it does not say
    """

    def __init__(self, since: str | None = day(YEAR + timedelta(days=2))) -> None:
        super().__init__()
        options = {"legacy_service_account_token_clean_up_period": YEAR.total_seconds()}
        self.cleaner = LegacyTokenCleaner(FakeContext(self.client, self.informers, clock=self.clock, **options))
        meta = V1ObjectMeta(name="kube-apiserver-legacy-service-account-token-tracking", namespace="kube-system")
        self.put(V1ConfigMap(metadata=meta, data={} if since is None else {"since": since}))

    def account(self, *secrets: str, uid: str = "uid-bot") -> None:
        metadata = {"name": "bot", "namespace": "ns", "uid": uid}
        self.put(from_dict(V1ServiceAccount, {"metadata": metadata, "secrets": [{"name": name} for name in secrets]}))

    def token(
        self,
        *,
        type_: str = "kubernetes.io/service-account-token",
        age: timedelta = 2 * YEAR,
        account: str = "bot",
        uid: str = "uid-bot",
        deleting: bool = False,
        **labels: str,
    ) -> V1Secret:
        by_word = {"used": LAST_USED, "invalid": INVALID_SINCE}
        annotations = {"kubernetes.io/service-account.name": account, "kubernetes.io/service-account.uid": uid}
        meta = V1ObjectMeta(
            name="t",
            namespace="ns",
            annotations={key: value for key, value in annotations.items() if value},
            labels={by_word[key]: value for key, value in labels.items()} or None,
            creation_timestamp=NOW - age,
            deletion_timestamp=NOW if deleting else None,
        )
        secret = V1Secret(metadata=meta, type=type_)
        self.put(secret)
        return secret

    def pod(self, secret: str, namespace: str = "ns") -> None:
        volume = {"name": "v", "secret": {"secretName": secret}}
        metadata = {"name": "p", "namespace": namespace}
        self.put(from_dict(V1Pod, {"metadata": metadata, "spec": {"containers": [], "volumes": [volume]}}))

    async def sync(self) -> list[str]:
        """What was written."""
        assert await self.cleaner.sync("secrets") == PERIOD
        return [request.partition(" ")[0] for request in self.requests if not request.startswith(("get", "list"))]


async def test_a_token_of_an_uncached_pod_stays() -> None:
    world = World()
    world.account("t")
    world.token()
    world.pod("t")
    world.uncache(world.on_server(V1Pod, "ns/p"))
    assert await world.sync() == []

    world.forget(V1Pod, "ns/p")
    world.errors["list Pod"] = [forbidden("no")]
    assert await world.sync() == []
    assert await world.sync() == ["patch"]


async def test_a_token_that_was_never_used_is_marked_as_invalid_first() -> None:
    world = World()
    world.account("t")
    secret = world.token()

    assert await world.sync() == ["patch"]

    assert world.sent[-1] == {"metadata": {"uid": secret.metadata.uid, "labels": {INVALID_SINCE: day(timedelta())}}}


async def test_a_token_unused_for_a_year_or_unreadably_marked_stays() -> None:
    for labels in ({"used": day(YEAR + timedelta(days=1))}, {"invalid": "yesterday"}, {"invalid": "2024-1-1"}):
        world = World()
        world.account("t")
        world.token(**labels)

        assert await world.sync() == ["patch"]


async def test_a_token_marked_for_a_year_goes_only_as_it_was_seen() -> None:
    world = World()
    world.account("t")
    secret = world.token(invalid=day(YEAR + timedelta(days=1)))

    assert await world.sync() == ["delete"]

    assert world.sent[-1].preconditions.uid == secret.metadata.uid
    assert world.sent[-1].preconditions.resource_version == secret.metadata.resource_version


@pytest.mark.parametrize(
    "kept",
    [
        pytest.param({"type_": "Opaque"}, id="another type"),
        pytest.param({"age": YEAR - timedelta(hours=1)}, id="made lately"),
        pytest.param({"deleting": True}, id="being deleted"),
        pytest.param({"used": day(YEAR - timedelta(days=1))}, id="used lately"),
        pytest.param({"used": day(YEAR)}, id="used a year ago to the day"),
        pytest.param({"used": "once"}, id="used on a day that cannot be read"),
        pytest.param({"account": "nobody"}, id="an account that is not there"),
        pytest.param({"uid": "another"}, id="an account that was made anew"),
        pytest.param({"account": ""}, id="no account"),
        pytest.param({"invalid": day(YEAR - timedelta(days=1))}, id="marked lately"),
        pytest.param({"invalid": day(YEAR)}, id="marked a year ago to the day"),
    ],
)
async def test_other_secrets_stay(kept: dict[str, Any]) -> None:
    world = World()
    world.account("t")
    world.token(**kept)

    assert await world.sync() == []


async def test_a_token_not_listed_by_its_account_is_a_users_and_stays() -> None:
    world = World()
    world.account("another")
    world.token(invalid=day(2 * YEAR))

    assert await world.sync() == []


async def test_a_token_without_a_uid_is_the_accounts_of_its_name() -> None:
    world = World()
    world.account("t")
    world.token(uid="")

    assert await world.sync() == ["patch"]


async def test_a_mounted_token_stays_whatever_other_namespaces_pods_do() -> None:
    mounted, elsewhere = World(), World()
    for world, namespace in ((mounted, "ns"), (elsewhere, "other")):
        world.account("t")
        world.token()
        world.pod("t", namespace)

    assert await mounted.sync() == []
    assert await elsewhere.sync() == ["patch"]


@pytest.mark.parametrize("since", [None, "lately", day(YEAR), day(YEAR + timedelta(days=-3))])
async def test_nothing_happens_before_the_server_has_taken_note_for_a_year(since: str | None) -> None:
    world = World(since)
    world.account("t")
    world.token()

    assert await world.sync() == []


async def test_nothing_happens_where_the_server_does_not_say() -> None:
    world = World()
    world.account("t")
    world.token()
    world.errors["get ConfigMap"] = [forbidden()]

    assert await world.sync() == []


@pytest.mark.parametrize("error", [forbidden(), conflict()])
async def test_what_goes_wrong_with_one_is_left_for_the_next_day(error: Exception) -> None:
    world = World()
    world.account("t")
    world.token()
    world.errors["patch Secret"] = [error]

    assert await world.sync() == ["patch"]
    assert await world.sync() == ["patch", "patch"]


def test_a_pods_secrets_are_found_wherever_its_spec_names_them() -> None:
    reference = {"secretRef": {"name": "by-reference"}}
    spec = {
        "imagePullSecrets": [{"name": "pull"}, {}],
        "containers": [
            {
                "name": "c",
                "envFrom": [{"secretRef": {"name": "env-from"}}, {"configMapRef": {"name": "no"}}],
                "env": [
                    {"name": "A", "valueFrom": {"secretKeyRef": {"name": "env", "key": "k"}}},
                    {"name": "B", "value": "no"},
                    {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "no", "key": "k"}}},
                ],
            }
        ],
        "initContainers": [{"name": "i", "envFrom": [{"secretRef": {"name": "init"}}]}],
        "ephemeralContainers": [{"name": "e", "envFrom": [{"secretRef": {"name": "ephemeral"}}]}],
        "volumes": [
            {"name": "a", "secret": {"secretName": "volume"}},
            {"name": "b", "azureFile": {"secretName": "azure", "shareName": "s"}},
            {"name": "c", "projected": {"sources": [{"secret": {"name": "projected"}}, {"configMap": {"name": "no"}}]}},
            {"name": "d", "cephfs": {"monitors": ["m"], **reference}},
            {"name": "e", "flexVolume": {"driver": "d"}},
            {"name": "f", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "csi"}}},
            {"name": "g", "configMap": {"name": "no"}},
        ],
    }

    found = secrets_of(from_dict(V1Pod, {"metadata": {"name": "p", "namespace": "ns"}, "spec": spec}))

    assert found == {
        *("pull", "env-from", "env", "init", "ephemeral", "volume", "azure", "projected", "by-reference", "csi")
    }
    assert secrets_of(V1Pod(metadata=V1ObjectMeta(name="p"))) == set()
