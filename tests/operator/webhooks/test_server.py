"""The webhooks of an operator, asked by an API server over HTTPS."""

from __future__ import annotations

import base64
import gzip
import io
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest

from kinformer.client import ApiError, Client, Forbidden, InternalError, connect
from kinformer.clock import Clock, FakeClock
from kinformer.envtest import ApiServer, running
from kinformer.models import (
    V1ConfigMap,
    V1CustomResourceDefinition,
    V1MutatingWebhookConfiguration,
    V1Namespace,
    V1ObjectMeta,
    V1Secret,
    V1ValidatingWebhookConfiguration,
)
from kinformer.operator import install
from kinformer.operator.webhooks import (
    Address,
    AdmissionRequest,
    CertificateError,
    CertificateFiles,
    ClusterCertificate,
    Denied,
    Registration,
    Webhooks,
    WebhookServer,
    WebhookServerError,
    configurations,
    service_hosts,
)
from tests.operator.web_apps import OldWebApp, WebApp, WebAppSpec, convert_web_apps, web_app

SECRET = ("default", "webhook-certificate")


def of_shops() -> Webhooks:
    webhooks = Webhooks("shops.example.com")

    @webhooks.validating(WebApp)
    async def check(request: AdmissionRequest[WebApp]) -> None:
        if request.object.spec.replicas > 10:
            raise Denied("spec.replicas: at most 10")
        if request.object.spec.image == "broken":
            raise RuntimeError("a bug")

    @webhooks.mutating(WebApp)
    def label(request: AdmissionRequest[WebApp]) -> WebApp:
        request.object.metadata.labels = {"checked": "yes"}
        return request.object

    convert_web_apps(webhooks)
    return webhooks


@asynccontextmanager
async def serving(client: Client, webhooks: Webhooks, clock: Clock | None = None) -> AsyncIterator[Registration]:
    """The webhooks behind a certificate that they keep in the cluster, once API servers know of them."""
    # The port has to be known before API servers are told of it.
    probe = WebhookServer(webhooks, None, host="127.0.0.1", port=0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(probe.run)
        await probe.listening.wait()
        tasks.cancel_scope.cancel()
    registration = Registration(client, webhooks, Address(url=f"https://127.0.0.1:{probe.port}"))
    certificate = ClusterCertificate(client, SECRET, ("127.0.0.1",), registration.publish, clock=clock)
    server = WebhookServer(webhooks, certificate, host="127.0.0.1", port=probe.port)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run)
        await server.listening.wait()
        yield registration
        tasks.cancel_scope.cancel()


@pytest.fixture
async def served(client: Client) -> AsyncIterator[Client]:
    await install(client, WebApp, OldWebApp)
    async with serving(client, of_shops()):
        yield client


async def test_a_server_asks_and_obeys(served: Client) -> None:
    apps = served.resource(WebApp)

    made = await apps.create(web_app(replicas=2))

    assert made.metadata.labels == {"checked": "yes"}
    with pytest.raises(Forbidden, match="at most 10"):
        await apps.patch("shop", {"spec": {"replicas": 11}}, "default")


async def test_a_function_that_fails_is_a_failure_of_the_webhook(served: Client) -> None:
    with pytest.raises(InternalError, match="failed calling webhook"):
        await served.resource(WebApp).create(web_app(image="broken"))


async def test_versions_are_converted_one_into_the_other(served: Client) -> None:
    old = OldWebApp(metadata=V1ObjectMeta(name="shop", namespace="default"), spec=WebAppSpec(image="i", replicas=3))

    await served.resource(OldWebApp).create(old)

    assert (await served.resource(WebApp).get("shop", "default")).spec.replicas == 6
    assert (await served.resource(OldWebApp).get("shop", "default")).spec.replicas == 3


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({"object_selector": "team in (a,b),!legacy"}, ["labelled"]),
        ({"namespace_selector": "kubernetes.io/metadata.name!=default"}, ["elsewhere"]),
        ({"annotations": {"size": '10\u20ac "x"'}}, ["annotated"]),
        ({"annotations": {"size": True}}, ["annotated", "small"]),
        ({"annotations": {"size": False, "other": False}}, ["labelled", "elsewhere", "plain"]),
        ({"annotations": {"size": True}, "match_conditions": {"s": "object.metadata.name != 'small'"}}, ["annotated"]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_only_what_the_filters_match_is_asked_about(
    client: Client, options: dict[str, Any], asked: list[str]
) -> None:
    webhooks, seen = Webhooks("filters.example.com"), []
    webhooks.validating(V1ConfigMap, **options)(lambda request: seen.append(request.name))
    await client.resource(V1Namespace).create(V1Namespace(metadata=V1ObjectMeta(name="other")))
    metadata: dict[str, dict[str, Any]] = {
        "labelled": {"labels": {"team": "a"}},
        "elsewhere": {"namespace": "other", "labels": {"team": "a", "legacy": ""}},
        "annotated": {"annotations": {"size": '10\u20ac "x"'}},
        "small": {"annotations": {"size": "1"}},
        "plain": {"labels": {"team": "c"}},
    }

    async with serving(client, webhooks):
        for name, more in metadata.items():
            created = V1ConfigMap(metadata=V1ObjectMeta(name=name, **{"namespace": "default", **more}))
            await client.resource(V1ConfigMap).create(created)

    assert seen == asked


async def test_an_annotation_is_looked_for_on_what_is_deleted_too(client: Client) -> None:
    webhooks, seen = Webhooks("deletions.example.com"), []
    webhooks.validating(V1ConfigMap, operations=("DELETE",), annotations={"keep": True})(
        lambda request: seen.append(request.name)
    )
    for name, having in (("kept", {"keep": ""}), ("free", None)):
        metadata = V1ObjectMeta(name=name, namespace="default", annotations=having)
        await client.resource(V1ConfigMap).create(V1ConfigMap(metadata=metadata))

    async with serving(client, webhooks):
        for name in ("kept", "free"):
            await client.resource(V1ConfigMap).delete(name, "default")

    assert seen == ["kept"]


async def test_a_function_is_called_again_after_another_has_changed_the_object(client: Client) -> None:
    webhooks, seen = Webhooks("again.example.com"), []

    @webhooks.mutating(
        V1ConfigMap, path="/a-first", reinvocation="IfNeeded", match_policy="Exact", side_effects="NoneOnDryRun"
    )
    def first(request: AdmissionRequest[V1ConfigMap]) -> None:
        seen.append((request.dry_run, request.object.data))

    @webhooks.mutating(V1ConfigMap, path="/b-second")
    def second(request: AdmissionRequest[V1ConfigMap]) -> V1ConfigMap:
        request.object.data = {"filled": "in"}
        return request.object

    async with serving(client, webhooks):
        created = V1ConfigMap(metadata=V1ObjectMeta(name="c", namespace="default"))
        await client.resource(V1ConfigMap).create(created, dry_run=True)

    assert seen == [(True, None), (True, {"filled": "in"})]


async def test_webhooks_that_are_withdrawn_are_not_asked_any_more(client: Client) -> None:
    async with serving(client, of_shops()) as registration:
        await registration.withdraw()

        assert (await client.resource(WebApp).create(web_app(replicas=11))).spec.replicas == 11
        await registration.withdraw()


async def test_replicas_share_one_certificate(client: Client) -> None:
    published: list[bytes] = []

    async def publish(authorities: bytes) -> None:
        published.append(authorities)

    replicas = [ClusterCertificate(client, SECRET, ("a.example.com",), publish) for _ in range(3)]
    async with anyio.create_task_group() as tasks:
        for replica in replicas:
            tasks.start_soon(replica.refresh)

    secret = await client.resource(V1Secret).get(SECRET[1], SECRET[0])
    assert secret.type == "kubernetes.io/tls"
    assert len(set(published)) == 1


async def test_a_due_certificate_is_renewed_and_the_old_authority_still_trusted(client: Client) -> None:
    clock, published = FakeClock(), []

    async def publish(authorities: bytes) -> None:
        published.append(authorities)

    certificate = ClusterCertificate(client, SECRET, ("a.example.com",), publish, clock=clock)
    context = await certificate.context()
    first = await held(client)
    await certificate.refresh()
    assert await held(client) == first

    clock.turn(timedelta(days=300).total_seconds())
    await certificate.refresh()
    second = await held(client)
    assert second["tls.crt"] != first["tls.crt"]
    assert second["ca.crt"] == first["ca.crt"]

    clock.turn(timedelta(days=3000).total_seconds())
    await certificate.refresh()
    third = await held(client)
    assert third["ca.crt"] != first["ca.crt"]
    assert [found.count(b"BEGIN CERTIFICATE") for found in published] == [1, 2]
    assert await certificate.context() is context


async def test_only_the_leader_renews_and_a_follower_loads_what_it_has_renewed(client: Client) -> None:
    clock, happened = FakeClock(), []

    async def publish(authorities: bytes) -> None:
        secret = await held(client)
        happened.append(base64.b64encode(authorities).decode() == secret["ca.crt"])

    follower = ClusterCertificate(client, SECRET, ("a.example.com",), publish, leads=lambda: False, clock=clock)
    leader = ClusterCertificate(client, SECRET, ("a.example.com",), publish, clock=clock)
    await follower.context()
    first = await held(client)
    await leader.refresh()
    assert (await held(client), happened) == (first, [True])

    clock.turn(timedelta(days=3000).total_seconds())
    await follower.refresh()
    assert await held(client) == first
    await leader.refresh()
    renewed = await held(client)
    await follower.refresh()
    assert renewed["tls.crt"] != first["tls.crt"]
    assert base64.b64encode(await follower.authorities()).decode() == renewed["ca.crt"]
    # A new authority is trusted before it signs what any replica serves.
    assert happened == [True, False]

    await client.resource(V1Secret).delete(SECRET[1], SECRET[0])
    with pytest.raises(CertificateError, match="webhook-certificate holds no certificates, until the leader"):
        await follower.refresh()


async def test_other_hosts_or_a_broken_certificate_get_a_new_one(client: Client) -> None:
    async def publish(authorities: bytes) -> None:
        pass

    await ClusterCertificate(client, SECRET, ("a.example.com",), publish).refresh()
    first = await held(client)

    await ClusterCertificate(client, SECRET, service_hosts("hooks", "default"), publish).refresh()
    second = await held(client)
    assert (second["ca.crt"], second["tls.crt"] == first["tls.crt"]) == (first["ca.crt"], False)

    await client.resource(V1Secret).patch(SECRET[1], {"data": {"tls.crt": "bm8="}}, SECRET[0])
    await ClusterCertificate(client, SECRET, service_hosts("hooks", "default"), publish).refresh()
    assert (await held(client))["tls.crt"] not in ("bm8=", second["tls.crt"])


async def test_files_will_do_as_well(tmp_path: Path) -> None:
    from kinformer.envtest.certificates import Authority

    authority = Authority()
    pair = authority.issue("webhook", hosts=("127.0.0.1",))
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    server = WebhookServer(of_shops(), CertificateFiles(certificate, key), host="127.0.0.1", port=0)
    trust = ssl.create_default_context(cadata=authority.certificate.decode())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run)
        await server.listening.wait()
        async with aiohttp.ClientSession() as session:
            answers = [await fetch(session, f"https://127.0.0.1:{server.port}{path}", trust) for path in PATHS]
        tasks.cancel_scope.cancel()

    assert answers == [200, 200, 200, 405]


PATHS = ("/healthz", "/readyz", "/livez", "/validate-example-com-v1-webapp")


async def test_files_that_are_not_there_are_an_error_that_names_them(tmp_path: Path) -> None:
    server = WebhookServer(of_shops(), CertificateFiles(tmp_path / "no.crt", tmp_path / "no.key"), port=0)

    with pytest.raises(CertificateError, match=r"no\.crt"):
        await server.run()


async def test_a_port_that_is_taken_is_an_error_that_names_it() -> None:
    first = WebhookServer(of_shops(), None, host="127.0.0.1", port=0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first.run)
        await first.listening.wait()
        with pytest.raises(WebhookServerError, match=f"127.0.0.1:{first.port}: the port is in use"):
            await WebhookServer(of_shops(), None, host="127.0.0.1", port=first.port).run()
        tasks.cancel_scope.cancel()


async def test_a_review_that_is_compressed_is_refused_and_not_unpacked() -> None:
    async with running(WebhookServer(of_shops(), None, host="127.0.0.1", port=0)) as server:
        await server.listening.wait()
        url = f"http://127.0.0.1:{server.port}/validate-example-com-v1-webapp"
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, data=gzip.compress(b"{}"), headers={"Content-Encoding": "gzip"}) as answer,
        ):
            said = await answer.json()
    assert (answer.status, said["message"]) == (415, "the body is encoded ('gzip'): want it without encoding")


@pytest.mark.parametrize(
    ("path", "body", "code", "said"),
    [
        ("/validate-example-com-v1-webapp", b"nonsense", 400, "not an AdmissionReview"),
        ("/convert", b"{}", 400, "want a ConversionReview"),
        ("/validate-example-com-v1-webapp", b" " * (8 * 1024 * 1024), 413, "larger than"),
    ],
    ids=["no review", "no conversion", "too large"],
)
async def test_a_body_that_cannot_be_answered_gets_a_status(path: str, body: bytes, code: int, said: str) -> None:
    server = WebhookServer(of_shops(), None, host="127.0.0.1", port=0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run)
        await server.listening.wait()
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"http://127.0.0.1:{server.port}{path}", data=io.BytesIO(body)) as answer,
        ):
            status: dict[str, Any] = await answer.json()
        tasks.cancel_scope.cancel()

    assert (answer.status, status["kind"]) == (code, "Status")
    assert said in status["message"]


async def test_a_function_that_takes_too_long_is_cut_and_trouble_is_told() -> None:
    webhooks, clock, cut = Webhooks("slow.example.com"), FakeClock(), anyio.Event()

    @webhooks.validating(WebApp)
    async def check(request: AdmissionRequest[WebApp]) -> None:
        clock.turn(3)
        try:
            await anyio.sleep_forever()
        finally:
            cut.set()

    async def trouble() -> str:
        return "the cache is behind"

    server = WebhookServer(webhooks, None, host="127.0.0.1", port=0, clock=clock, trouble=trouble)
    request = {"uid": "r", "operation": "CREATE", "object": {"metadata": {}, "spec": {"image": "i"}}}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run)
        await server.listening.wait()
        async with aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as session:
            async with session.post("/validate-example-com-v1-webapp?timeout=2s", json=review) as answer:
                status = await answer.json()
            async with session.get("/readyz") as ready:
                assert (ready.status, await ready.text()) == (503, "the cache is behind")
        tasks.cancel_scope.cancel()

    assert (answer.status, status["message"]) == (
        504,
        "/validate-example-com-v1-webapp did not answer within 2 s",
    )
    assert cut.is_set()


async def fetch(session: aiohttp.ClientSession, url: str, trust: ssl.SSLContext) -> int:
    async with session.get(url, ssl=trust) as answer:
        return answer.status


async def held(client: Client) -> dict[str, str]:
    return (await client.resource(V1Secret).get(SECRET[1], SECRET[0])).data or {}


# -- configurations


def test_a_configuration_says_what_each_function_is_asked_about() -> None:
    webhooks = Webhooks("shops")
    options: dict[str, Any] = {
        "operations": ("CREATE", "DELETE"),
        "subresources": ("", "status"),
        "failure_policy": "Ignore",
        "timeout": 3,
        "match_conditions": {"not-ours": "request.userInfo.username != 'system:serviceaccount:ops:shops'"},
    }
    webhooks.validating(WebApp, **options)(lambda request: None)
    webhooks.mutating(WebApp)(lambda request: None)

    mutating, validating = configurations(webhooks, Address(service=("ops", "shops"), authorities=b"pem"))

    assert isinstance(mutating, V1MutatingWebhookConfiguration)
    assert isinstance(validating, V1ValidatingWebhookConfiguration)
    (webhook,) = validating.webhooks or ()
    assert webhook.name == "validate-example-com-v1-webapp.shops.kinformer"
    assert webhook.rules is not None
    assert webhook.rules[0].resources == ["webapps", "webapps/status"]
    assert (webhook.failure_policy, webhook.timeout_seconds) == ("Ignore", 3)
    config = webhook.client_config
    assert config is not None
    assert config.service is not None
    assert (config.service.namespace, config.service.name, config.service.path) == (
        "ops",
        "shops",
        "/validate-example-com-v1-webapp",
    )
    assert config.ca_bundle == "cGVt"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ({}, "want one of the two"),
        ({"service": ("a", "b"), "url": "https://c"}, "want one of the two"),
        ({"url": "http://c"}, "http://c is not an address of webhooks: want a URL that begins with https"),
    ],
    ids=["none", "both", "plain"],
)
def test_an_address_that_is_none_is_an_error(address: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Address(**address)


async def test_what_a_server_refuses_comes_out(api_server: ApiServer) -> None:
    webhooks = Webhooks("shops")
    webhooks.name = "Not A Name"  # the server refuses it, too
    webhooks.validating(WebApp)(lambda request: None)
    async with connect(url=api_server.url, token=api_server.token) as client:
        with pytest.raises(ApiError):
            await Registration(client, webhooks, Address(url="https://127.0.0.1:1")).apply()


def test_cert_manager_alone_writes_the_authority_that_it_injects() -> None:
    address = Address(service=("ops", "shops"), authorities=b"pem", inject_ca_from="ops/shops")

    assert "caBundle" not in address.client_config("/convert")


async def test_a_conversion_moves_from_a_url_to_a_service(client: Client) -> None:
    await install(client, WebApp, OldWebApp)
    for address in (Address(url="https://127.0.0.1:1"), Address(service=("ops", "shops"))):
        await Registration(client, of_shops(), address).apply()

    definition = await client.resource(V1CustomResourceDefinition).get("webapps.example.com")
    webhook: Any = definition.spec.conversion and definition.spec.conversion.webhook
    assert webhook.client_config.url is None
    assert webhook.client_config.service.name == "shops"
