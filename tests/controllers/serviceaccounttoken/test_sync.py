"""Secrets of type service-account-token are filled while their account is there, and go with it."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.cache import DeletedFinalStateUnknown
from kinformer.manager import ControllerContext, ControllerDisabled, EnqueueKeys
from kinformer.models import V1ObjectMeta, V1ObjectReference, V1Secret, V1ServiceAccount
from kinformer.sharding import text_of_key
from kinformer_controllers.serviceaccounttoken.controller import (
    AccountKey,
    SecretKey,
    TokenController,
    keys_of_secret,
    make_controller,
)
from kinformer_controllers.serviceaccounttoken.tokens import TokenFiller
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeContext, conflict, forbidden, not_found

TYPE = "kubernetes.io/service-account-token"
NAME, UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"
COMPLETE = {"token": "QUJD", "ca.crt": "Q0EgRGF0YQ==", "namespace": "bnM="}


class Signer:
    def token(self, account: V1ServiceAccount, secret_name: str) -> str:
        return "ABC"


class World(Cluster):
    def __init__(self) -> None:
        super().__init__()
        filler = TokenFiller(Signer(), b"CA Data")  # type: ignore[arg-type]
        self.tokens = TokenController(FakeContext(self.client, self.informers, clock=self.clock), filler)

    async def account_changed(self, account: V1ServiceAccount) -> None:
        await self.tokens.sync_account(str(AccountKey.of(account)))

    async def secret_changed(self, secret: V1Secret) -> None:
        await self.tokens.sync_secret(str(SecretKey.of(secret)))

    @property
    def secret(self) -> Any:
        return self.on_server(V1Secret, "ns/t")


def account(*secrets: str, uid: str = "uid-bot") -> V1ServiceAccount:
    references = [V1ObjectReference(name=name) for name in secrets]
    meta = V1ObjectMeta(name="bot", namespace="ns", uid=uid)
    return V1ServiceAccount(metadata=meta, secrets=references or None)


def token(data: dict[str, str] | None = None, *, uid: str = "uid-bot", type_: str = TYPE, **more: str) -> V1Secret:
    annotations = {NAME: "bot"} | ({UID: uid} if uid else {})
    meta = V1ObjectMeta(name="t", namespace="ns", uid="uid-t", annotations=annotations)
    return V1Secret(metadata=meta, type=type_, data=COMPLETE | more if data is None else data)


def without(*keys: str) -> dict[str, str]:
    return {key: value for key, value in COMPLETE.items() if key not in keys}


def test_both_queues_are_counted_under_kubernetes_name() -> None:
    tokens = World().tokens

    assert {it.queue.name for it in (tokens.accounts, tokens.secrets)} == {"serviceaccount_tokens_service"}


@pytest.mark.parametrize("secrets", [(), ("missing",), ("t",)])
async def test_an_account_that_is_there_is_left_alone(secrets: tuple[str, ...]) -> None:
    world = World()
    world.put(token())

    await world.account_changed(world.put(account(*secrets)))

    assert not world.requests


async def test_the_tokens_of_an_account_go_with_it_and_nothing_else_does() -> None:
    world = World()
    world.put(token())
    for name, secret in (("opaque", token(type_="Opaque")), ("next", token(uid="uid-of-the-next-bot"))):
        secret.metadata.name, secret.metadata.uid = name, f"uid-{name}"
        world.put(secret)

    await world.account_changed(account("t", "opaque"))

    assert world.requests == ["get ServiceAccount ns/bot", "delete Secret ns/t"]
    assert world.sent[1].preconditions.uid == "uid-t"


async def test_the_tokens_of_an_account_stay_if_only_the_cache_lacks_it() -> None:
    world = World()
    world.put(token())
    there = account("t")
    world.put_on_server(there)

    await world.account_changed(there)

    assert world.requests == ["get ServiceAccount ns/bot"]


async def test_an_accounts_tokens_go_though_its_name_is_taken_again() -> None:
    world = World()
    world.put(token())
    world.put(account(uid="uid-of-the-next-bot"))

    await world.account_changed(account())

    assert world.requests == ["get ServiceAccount ns/bot", "delete Secret ns/t"]


async def test_a_secret_whose_account_the_server_does_not_know_goes() -> None:
    world = World()
    secret = world.put(token())

    await world.secret_changed(secret)

    assert world.requests == ["get ServiceAccount ns/bot", "delete Secret ns/t"]


async def test_a_secret_stays_if_only_the_cache_does_not_know_its_account() -> None:
    world = World()
    world.put_on_server(account())
    secret = world.put(token())

    await world.secret_changed(secret)

    assert world.requests == ["get ServiceAccount ns/bot"]


async def test_a_secret_for_an_account_that_was_made_anew_since_goes() -> None:
    world = World()
    world.put(account(uid="uid-of-the-next-bot"))
    secret = world.put(token())

    await world.secret_changed(secret)

    assert world.requests == ["get ServiceAccount ns/bot", "delete Secret ns/t"]


@pytest.mark.parametrize(
    "data", [COMPLETE, COMPLETE | {"namespace": "Y3VzdG9t"}], ids=["all", "a namespace of one's own"]
)
async def test_a_secret_that_has_all_it_needs_is_left_alone(data: dict[str, str]) -> None:
    world = World()
    world.put(account())
    secret = world.put(token(data))

    await world.secret_changed(secret)

    assert not world.requests


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(without("token"), id="token"),
        pytest.param(without("ca.crt"), id="ca"),
        pytest.param(COMPLETE | {"ca.crt": "bWlzbWF0Y2hlZA=="}, id="another ca"),
        pytest.param(without("namespace"), id="namespace"),
        pytest.param({}, id="everything"),
    ],
)
async def test_a_secret_gets_what_it_lacks(data: dict[str, str]) -> None:
    world = World()
    world.put(account())
    cached = world.put(token(dict(data), uid=""))

    await world.secret_changed(cached)

    assert world.requests == ["get Secret ns/t", "update Secret ns/t"]
    assert world.secret.data == COMPLETE
    assert world.secret.metadata.annotations == {NAME: "bot", UID: "uid-bot"}
    assert cached.data == data
    assert cached.metadata.annotations == {NAME: "bot"}


async def test_a_token_that_is_there_is_never_replaced() -> None:
    world = World()
    world.put(account())
    secret = world.put(token(without("ca.crt") | {"token": "aW4gdXNl"}))

    await world.secret_changed(secret)

    assert world.secret.data["token"] == "aW4gdXNl"


async def test_a_secret_with_an_old_cached_state_waits_for_the_cache() -> None:
    world = World()
    world.put(account())
    old = token({})
    old.metadata.resource_version = "0"
    world.cache(old)
    world.put_on_server(token())

    await world.secret_changed(old)

    assert world.requests == ["get Secret ns/t"]


@pytest.mark.parametrize(("verb", "error"), [("get", not_found()), ("update", not_found()), ("update", conflict())])
async def test_a_secret_that_is_gone_or_was_changed_meanwhile_is_no_error(verb: str, error: Exception) -> None:
    world = World()
    world.put(account())
    secret = world.put(token({}))
    world.errors[f"{verb} Secret"] = [error]

    await world.secret_changed(secret)

    assert world.secret.data == {}


@pytest.mark.parametrize("verb", ["get Secret", "update Secret", "delete Secret"])
async def test_what_the_server_refuses_is_tried_again(verb: str) -> None:
    world = World()
    if "delete" not in verb:
        world.put(account())
    secret = world.put(token({}))
    world.errors[verb] = [forbidden()]

    with pytest.raises(type(forbidden())):
        await world.secret_changed(secret)


async def test_an_account_forgets_a_secret_that_is_gone() -> None:
    world = World()
    world.put(account("t", "other"))

    await world.secret_changed(token())

    assert world.requests == ["get ServiceAccount ns/bot", "update ServiceAccount ns/bot"]
    assert [it.name for it in world.on_server(V1ServiceAccount, "ns/bot").secrets] == ["other"]


async def test_an_account_without_the_secret_or_gone_is_left_alone() -> None:
    naming_none, gone, other = World(), World(), World()
    naming_none.put(account())
    other.put(account("t", uid="uid-of-the-next-bot"))

    for world in (naming_none, gone, other):
        await world.secret_changed(token())

    assert naming_none.requests == ["get ServiceAccount ns/bot"]
    assert not gone.requests
    assert not other.requests


async def test_an_account_that_was_written_meanwhile_is_tried_again() -> None:
    world = World()
    world.put(account("t"))
    world.errors["update ServiceAccount"] = [conflict()]

    with pytest.raises(type(conflict())):
        await world.secret_changed(token())


def test_a_key_says_what_was_gone_whatever_annotations_hold() -> None:
    secret = token()
    secret.metadata.annotations = {NAME: "a/b?%c", UID: "../x"}

    assert SecretKey.parse(str(SecretKey.of(secret))) == SecretKey("ns", "t", "uid-t", "a/b?%c", "../x")
    assert AccountKey.parse(str(AccountKey.of(account()))) == AccountKey("ns", "bot", "uid-bot")


def test_other_secrets_are_not_checked_but_tombstones_are() -> None:
    nameless = token()
    nameless.metadata.annotations = None
    queued: list[str] = []
    handler: Any = EnqueueKeys(queued.append, keys_of_secret)

    for secret in (token(type_="Opaque"), nameless):
        handler.on_add(secret, False)
        handler.on_update(secret, secret)
        handler.on_delete(secret)
    handler.on_delete(DeletedFinalStateUnknown("ns/t", None))
    assert not queued
    handler.on_delete(DeletedFinalStateUnknown("ns/t", token()))
    assert queued == [str(SecretKey.of(token()))]


def test_without_a_key_file_it_does_not_run() -> None:
    world = World()

    with pytest.raises(ControllerDisabled, match="--service-account-private-key-file is not given"):
        make_controller(ControllerContext(world.client, world.informers))


def test_both_keys_belong_to_the_shard_of_the_namespace() -> None:
    keys = (str(AccountKey.of(account())), str(SecretKey.of(token())))

    assert {text_of_key(key) for key in keys} == {"ns"}
