from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from kinformer.client import Client, Conflict, NotFound
from kinformer.models import V1ConfigMap, V1ObjectMeta
from kinformer.operator import Finalizer, add_finalizer, has_finalizer, remove_finalizer
from kinformer.record import WARNING
from tests.controllerutil.counted import Counted
from tests.operator.web_apps import WebApp, web_app

DNS = "example.com/dns"


class Events:
    """A recorder that collects."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str]] = []

    def event(self, obj: Any, type_: str, reason: str, message: str, annotations: Any = None) -> None:
        self.told.append((type_, reason, message))


class Cleanup:
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.error: Exception | None = None

    async def __call__(self, app: WebApp) -> None:
        self.calls.append(app.metadata.name or "")
        if self.error is not None:
            raise self.error


async def created(client: Client) -> WebApp:
    return await client.resource(WebApp).create(web_app())


async def current(client: Client) -> WebApp:
    return await client.resource(WebApp).get("shop", "default")


async def test_a_finalizer_is_put_on_once_beside_those_of_others(client: Client) -> None:
    app = await add_finalizer(client, await created(client), "other.io/x")

    app = await add_finalizer(client, app, DNS)

    assert app.metadata.finalizers == ["other.io/x", DNS]
    assert await add_finalizer(client, app, DNS) is app


async def test_it_is_refused_for_an_object_that_changed_since_reading(client: Client) -> None:
    stale = await created(client)
    await add_finalizer(client, stale, "other.io/x")

    with pytest.raises(Conflict):
        await add_finalizer(client, stale, DNS)
    assert (await current(client)).metadata.finalizers == ["other.io/x"]


async def test_it_is_refused_for_another_object_of_the_name(client: Client) -> None:
    old = await created(client)
    await client.resource(WebApp).delete("shop", "default")
    await created(client)

    with pytest.raises(Conflict):
        await add_finalizer(client, old, DNS)


async def test_a_name_without_a_domain_is_an_error_with_a_remedy(client: Client) -> None:
    with pytest.raises(ValueError, match=r"the finalizer 'dns' has no domain: want a name such as 'example\.com/dns'"):
        await add_finalizer(client, web_app(), "dns")


async def test_only_the_one_is_taken_off(client: Client) -> None:
    app = await add_finalizer(client, await created(client), "other.io/x")
    app = await add_finalizer(client, app, DNS)

    left = await remove_finalizer(client, app, DNS)

    assert left is not None
    assert left.metadata.finalizers == ["other.io/x"]


async def test_to_take_it_off_something_that_is_gone_is_no_error(client: Client) -> None:
    app = await add_finalizer(client, await created(client), DNS)
    await remove_finalizer(client, app, DNS)
    await client.resource(WebApp).delete("shop", "default")

    assert await remove_finalizer(client, app, DNS) is None


async def test_what_is_built_in_can_have_one_as_well(client: Client) -> None:
    made = await client.resource(V1ConfigMap).create(V1ConfigMap(metadata=V1ObjectMeta(name="m", namespace="default")))

    assert has_finalizer(await add_finalizer(client, made, DNS), DNS)


async def test_an_object_that_lives_gets_the_finalizer_and_is_not_cleaned_up(client: Client) -> None:
    cleanup = Cleanup()

    app = await Finalizer(DNS, client).ensure(await created(client), cleanup)

    assert app is not None
    assert app.metadata.finalizers == [DNS]
    assert cleanup.calls == []


async def test_an_object_that_is_being_deleted_is_cleaned_up_and_then_goes(client: Client) -> None:
    finalizer, cleanup = Finalizer(DNS, client), Cleanup()
    app = await finalizer.ensure(await created(client), cleanup)
    await client.resource(WebApp).delete("shop", "default")

    assert await finalizer.ensure(await current(client), cleanup) is None

    with pytest.raises(NotFound):
        await current(client)
    assert await finalizer.ensure(app, cleanup) is None
    assert cleanup.calls == ["shop"]


async def test_an_object_stays_while_its_clean_up_fails_with_an_event(client: Client) -> None:
    events, cleanup = Events(), Cleanup()
    finalizer = Finalizer(DNS, client, events)
    await finalizer.ensure(await created(client), cleanup)
    await client.resource(WebApp).delete("shop", "default")
    cleanup.error = OSError("the zone is read-only")

    with pytest.raises(OSError, match="read-only"):
        await finalizer.ensure(await current(client), cleanup)

    assert has_finalizer(await current(client), DNS)
    assert events.told == [(WARNING, "CleanupFailed", "the zone is read-only")]


async def test_an_object_being_deleted_without_the_finalizer_is_left_alone(client: Client) -> None:
    cleanup = Cleanup()
    await add_finalizer(client, await created(client), "other.io/x")
    await client.resource(WebApp).delete("shop", "default")

    assert await Finalizer(DNS, client).ensure(await current(client), cleanup) is None
    assert cleanup.calls == []
    assert (await current(client)).metadata.finalizers == ["other.io/x"]


@pytest.fixture
async def alive_in_the_cache(client: Client) -> WebApp:
    """An object with the finalizer, as a cache shows it that does not know yet that the object is gone."""
    app = await add_finalizer(client, await created(client), DNS)
    await client.resource(WebApp).delete("shop", "default")
    await remove_finalizer(client, await current(client), DNS)
    return app


@pytest.mark.parametrize("again", [False, True], ids=["gone", "replaced"])
async def test_what_only_an_old_cache_shows_is_neither_alive_nor_cleaned_up(
    client: Client, alive_in_the_cache: WebApp, again: bool
) -> None:
    cleanup = Cleanup()
    if again:
        await created(client)
    dying = msgspec.structs.replace(
        alive_in_the_cache,
        metadata=msgspec.structs.replace(alive_in_the_cache.metadata, deletion_timestamp=datetime.now(UTC)),
    )

    for old in alive_in_the_cache, dying:
        assert await Finalizer(DNS, client).ensure(old, cleanup) is None

    assert cleanup.calls == []


async def test_what_an_old_cache_shows_alive_is_cleaned_up_when_deleted(client: Client) -> None:
    finalizer, cleanup = Finalizer(DNS, client), Cleanup()
    app = await add_finalizer(client, await created(client), DNS)
    await client.resource(WebApp).delete("shop", "default")

    assert await finalizer.ensure(app, cleanup) is None
    assert await finalizer.ensure(app, cleanup) is None

    assert cleanup.calls == ["shop"]


async def test_an_object_is_read_once_by_a_process(client: Client) -> None:
    app = await add_finalizer(client, await created(client), DNS)
    sent: list[str] = []

    def wrap(transport: Any) -> Any:
        counted = Counted(transport)
        counted.sent = sent
        return counted

    finalizer, cleanup = Finalizer(DNS, client.through(wrap)), Cleanup()

    for _ in range(3):
        assert await finalizer.ensure(app, cleanup) is not None

    assert sent == ["GET"]
