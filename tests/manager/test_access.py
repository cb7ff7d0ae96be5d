"""Who may read what of the endpoint: the API server's word, kept for a while."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import anyio
import pytest

from kinformer.client import Client, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Controller, LeaderElection, Manager, SecureServing
from kinformer.manager.election import DEFAULT_LEASE
from kinformer.manager.endpoint import Endpoint
from kinformer.manager.serving.access import Access, Refusal, user_of_certificate
from kinformer.manager.serving.certificates import ServingCertificate
from kinformer.models import V1Lease, V1LeaseSpec, V1ObjectMeta

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ME = "system:serviceaccount:default:prometheus"


class Cluster:
    """An API server, and how often it was asked for a review."""

    def __init__(self, server: ApiServer, client: Client) -> None:
        self.server = server
        self.client = client
        self.asked: list[str] = []
        resource = client.resource

        def counted(kind: Any, *args: Any, **options: Any) -> Any:
            self.asked.append(kind.__name__)
            return resource(kind, *args, **options)

        client.resource = counted  # type: ignore[method-assign,assignment]

    async def create(self, path: str, body: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.server.token}"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.post(f"{self.server.url}{path}", json=body) as answer,
        ):
            assert answer.status == 201, await answer.text()
            return await answer.json()

    async def token_of_prometheus(self) -> str:
        await self.create(ACCOUNTS, {"metadata": {"name": "prometheus"}})
        asked = {"spec": {"expirationSeconds": 600}}
        return str((await self.create(f"{ACCOUNTS}/prometheus/token", asked))["status"]["token"])

    async def let_prometheus(self, *paths: str) -> None:
        rules = [{"verbs": ["get"], "nonResourceURLs": list(paths)}]
        await self.create(f"{RBAC}/clusterroles", {"metadata": {"name": "scraper"}, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "scraper"}
        subject = {"kind": "ServiceAccount", "namespace": "default", "name": "prometheus"}
        binding = {"metadata": {"name": "scraper"}, "roleRef": role, "subjects": [subject]}
        await self.create(f"{RBAC}/clusterrolebindings", binding)


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        yield Cluster(server, client)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


async def test_a_permitted_accounts_token_is_served_and_nothing_else(cluster: Cluster, clock: FakeClock) -> None:
    access = Access(cluster.client, clock=clock)
    bearer = f"Bearer {await cluster.token_of_prometheus()}"
    await cluster.let_prometheus("/metrics")

    assert await access.refusal("get", "/metrics", bearer) is None
    assert await access.refusal("get", "/configz", bearer) == Refusal(
        403, "Forbidden", f'forbidden: User "{ME}" cannot get path "/configz"'
    )
    assert await access.refusal("post", "/metrics", bearer) == Refusal(
        403, "Forbidden", f'forbidden: User "{ME}" cannot post path "/metrics"'
    )


async def test_an_administrator_may_read_everything(cluster: Cluster, clock: FakeClock) -> None:
    access = Access(cluster.client, clock=clock)

    assert await access.refusal("get", "/configz", f"bearer {cluster.server.token}") is None


async def test_a_certificate_names_the_user_and_comes_before_a_token(cluster: Cluster, clock: FakeClock) -> None:
    subject = ((("organizationName", "system:masters"),), (("commonName", "admin"),))
    admin = user_of_certificate({"subject": subject})
    nobody = user_of_certificate({"subject": ((("commonName", "nobody"),),)})
    access = Access(cluster.client, clock=clock)

    assert await access.refusal("get", "/metrics", "Bearer x.y.z", admin) is None
    assert await access.refusal("get", "/metrics", f"bearer {cluster.server.token}", nobody) == Refusal(
        403, "Forbidden", 'forbidden: User "nobody" cannot get path "/metrics"'
    )
    assert "V1TokenReview" not in cluster.asked
    assert user_of_certificate({}) is user_of_certificate({"subject": subject[:1]}) is None


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic eDp5"])
async def test_who_shows_no_token_is_anonymous(cluster: Cluster, clock: FakeClock, header: str) -> None:
    access = Access(cluster.client, clock=clock)

    assert await access.refusal("get", "/metrics", header) == Refusal(
        403, "Forbidden", 'forbidden: User "system:anonymous" cannot get path "/metrics"'
    )
    assert "V1TokenReview" not in cluster.asked


async def test_a_token_that_is_none_is_refused(cluster: Cluster, clock: FakeClock) -> None:
    access = Access(cluster.client, clock=clock)

    assert await access.refusal("get", "/metrics", "Bearer x.y.z") == Refusal(401, "Unauthorized", "Unauthorized")
    assert await access.refusal("get", "/metrics", "Bearer " + "x" * 20000) == Refusal(
        401, "Unauthorized", "Unauthorized"
    )
    assert cluster.asked == ["V1TokenReview"]


async def test_probes_need_no_permission_but_the_paths_below_them_do(cluster: Cluster, clock: FakeClock) -> None:
    access = Access(cluster.client, clock=clock)
    for path in ("/healthz", "/readyz", "/livez"):
        assert await access.refusal("get", path, "Bearer whatever") is None
    assert cluster.asked == []
    refused = await access.refusal("get", "/readyz/queues", "")
    assert refused is not None
    assert refused.code == 403


async def test_paths_that_are_open_may_end_with_a_star(cluster: Cluster, clock: FakeClock) -> None:
    access = Access(cluster.client, ("/readyz", "/metrics/*"), clock)

    assert await access.refusal("get", "/metrics/slis", "") is None
    assert await access.refusal("get", "/metrics", "") is not None
    assert await access.refusal("get", "/livez", "") is not None


async def test_answers_are_kept_for_ten_seconds(cluster: Cluster, clock: FakeClock) -> None:
    access = Access(cluster.client, clock=clock)
    bearer = f"Bearer {await cluster.token_of_prometheus()}"
    for _ in range(3):
        assert await access.refusal("get", "/metrics", bearer) is not None
    assert cluster.asked == ["V1TokenReview", "V1SubjectAccessReview"]

    await cluster.let_prometheus("/metrics")
    assert await access.refusal("get", "/metrics", bearer) is not None
    clock.turn(11)
    assert await access.refusal("get", "/metrics", bearer) is None
    assert cluster.asked == ["V1TokenReview", "V1SubjectAccessReview"] * 2


async def test_several_who_ask_the_same_at_once_cost_one_review(cluster: Cluster, clock: FakeClock) -> None:
    access = Access(cluster.client, clock=clock)
    bearer = f"Bearer {cluster.server.token}"
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(access.refusal, "get", "/metrics", bearer)

    assert cluster.asked == ["V1TokenReview", "V1SubjectAccessReview"]


async def test_a_review_whose_asker_is_gone_is_asked_for_by_the_next(cluster: Cluster, clock: FakeClock) -> None:
    access = Access(cluster.client, clock=clock)
    bearer = f"Bearer {cluster.server.token}"
    with anyio.CancelScope() as gone:
        gone.cancel()
        await access.refusal("get", "/metrics", bearer)

    assert await access.refusal("get", "/metrics", bearer) is None


async def test_nobody_is_let_in_while_the_server_cannot_be_asked(clock: FakeClock) -> None:
    async with connect(url="http://127.0.0.1:1", token="x") as client:
        access = Access(client, clock=clock)

        assert await access.refusal("get", "/metrics", "Bearer x") == Refusal(401, "Unauthorized", "Unauthorized")
        refused = await access.refusal("get", "/metrics", "")
        assert refused is not None
        assert (refused.code, refused.reason) == (500, "InternalError")
        assert await access.refusal("get", "/livez", "") is None


# --- on the wire


@asynccontextmanager
async def serving(
    endpoint: Endpoint, run: Callable[[], Awaitable[None]] | None = None
) -> AsyncIterator[aiohttp.ClientSession]:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run or endpoint.run)
        with anyio.fail_after(60):
            await endpoint.listening.wait()
            connector = aiohttp.TCPConnector(ssl=context)
            async with aiohttp.ClientSession(f"https://127.0.0.1:{endpoint.port}", connector=connector) as session:
                yield session
        tasks.cancel_scope.cancel()


async def test_the_endpoint_answers_over_tls_whom_the_server_lets_in(cluster: Cluster) -> None:
    endpoint = Endpoint(certificate=ServingCertificate(host="127.0.0.1"), access=Access(cluster.client))
    async with serving(endpoint) as session:
        async with session.get("/readyz") as answer:
            assert (answer.status, await answer.text()) == (200, "ok")
        async with session.get("/metrics") as answer:
            assert answer.status == 403
            assert await answer.json() == {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": 'forbidden: User "system:anonymous" cannot get path "/metrics"',
                "reason": "Forbidden",
                "code": 403,
            }
        async with session.get("/there/is/no/such/page") as answer:
            assert answer.status == 403
        headers = {"Authorization": f"Bearer {cluster.server.token}"}
        async with session.get("/metrics", headers=headers) as answer:
            assert answer.status == 200
        async with aiohttp.ClientSession() as plain:
            with pytest.raises(aiohttp.ClientError):
                await plain.get(f"http://127.0.0.1:{endpoint.port}/readyz")


async def test_a_follower_answers_too(cluster: Cluster) -> None:
    async def sync(key: str) -> None: ...

    now = cluster.client.clock.now()
    spec = V1LeaseSpec(holder_identity="another", renew_time=now, acquire_time=now, lease_duration_seconds=3600)
    meta = V1ObjectMeta(name=DEFAULT_LEASE, namespace="kube-system")
    await cluster.client.resource(V1Lease).create(V1Lease(metadata=meta, spec=spec))
    manager = Manager(
        cluster.client,
        known={"idle": lambda _: Controller("idle", sync)},
        endpoint=("127.0.0.1", 0),
        secure=SecureServing(),
        leader_election=LeaderElection(),
    )
    endpoint = manager.endpoint
    assert endpoint is not None
    async with serving(endpoint, manager.run) as session:
        headers = {"Authorization": f"Bearer {cluster.server.token}"}
        async with session.get("/metrics", headers=headers) as answer:
            assert answer.status == 200
        async with session.get("/readyz?verbose") as answer:
            assert "[+]idle ok" in await answer.text()
        async with session.get("/livez?verbose") as answer:
            assert "[+]leaderElection ok" in await answer.text()
    assert manager.election is not None
    assert not manager.election.leads
