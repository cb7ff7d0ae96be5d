"""A client that acts as a service account: where its tokens come from, and when they are replaced."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from kinformer.client import Client, ConfigError, connect
from kinformer.client.account import account_endpoint
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.models import V1ObjectMeta, V1ServiceAccount, V1TokenReview, V1TokenReviewSpec
from tests.turning import eventually

NAMESPACE = "kube-system"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def client(clock: FakeClock) -> AsyncIterator[Client]:
    async with ApiServer(clock=clock) as server, connect(url=server.url, token=server.token, clock=clock) as client:
        yield client


async def user_of(client: Client, header: str) -> str | None:
    review = V1TokenReview(metadata=V1ObjectMeta(), spec=V1TokenReviewSpec(token=header.removeprefix("Bearer ")))
    status = (await client.resource(V1TokenReview).create(review)).status
    return status.user.username if status is not None and status.user is not None else None


async def test_an_account_is_made_and_its_token_replaced_in_time(client: Client, clock: FakeClock) -> None:
    endpoint = account_endpoint(client, NAMESPACE, "job-controller")
    async with connect(endpoint=endpoint, clock=clock) as acting:
        assert endpoint.credentials.header == ""
        await acting.request("GET", "/api")

        assert await client.resource(V1ServiceAccount).get("job-controller", NAMESPACE)
        first = endpoint.credentials.header
        assert await user_of(client, first) == "system:serviceaccount:kube-system:job-controller"

        await clock.advance(0.8 * 3600 - 1)
        await acting.request("GET", "/api")
        assert endpoint.credentials.header == first

        await clock.advance(2)
        await acting.request("GET", "/api")
        assert endpoint.credentials.header not in ("", first)


async def test_a_token_that_is_refused_is_replaced_at_once(client: Client, clock: FakeClock) -> None:
    endpoint = account_endpoint(client, NAMESPACE, "job-controller")
    async with connect(endpoint=endpoint, clock=clock) as acting:
        await acting.request("GET", "/api")
        first = endpoint.credentials.header
        # Its tokens belong to the account that was deleted.
        await client.resource(V1ServiceAccount).delete("job-controller", NAMESPACE)

        await acting.request("GET", "/api")

        assert endpoint.credentials.header != first


async def test_without_a_token_no_request_is_sent(clock: FakeClock) -> None:
    problems: list[ConfigError] = []

    async def ask(acting: Client) -> None:
        try:
            await acting.request("GET", "/api")
        except ConfigError as error:
            problems.append(error)

    async with connect(url="http://127.0.0.1:1", clock=clock) as nobody:
        endpoint = account_endpoint(nobody, NAMESPACE, "job-controller")
        async with connect(endpoint=endpoint, clock=clock) as acting, anyio.create_task_group() as tasks:
            tasks.start_soon(ask, acting)
            await eventually(lambda: problems, clock)

    assert str(problems[0]).startswith("service account kube-system/job-controller got no token: ")
    assert clock.monotonic() == pytest.approx(0.5 + 1 + 2)
