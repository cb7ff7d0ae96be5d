"""The webhook at work, against the embedded server behind a stand-in for kube-apiserver's calls to it."""

from __future__ import annotations

import base64
import io
import ssl
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest
import yaml

from kinformer.client import ApiError, Forbidden, connect
from kinformer.envtest.certificates import Authority
from kinformer.models import V1Namespace, V1Pod
from kinformer.operator.webhooks import CertificateFiles
from kinformer_controllers.groupquota import record
from kinformer_controllers.groupquota.group_quota import GROUP_QUOTAS
from kinformer_controllers.groupquota.server import BODY_LIMIT, WebhookServer
from kinformer_controllers.groupquota.webhook import MARGIN, QuotaWebhook
from tests.controllers.groupquota.setting import CRD, Setting, group_quota, setting, through
from tests.controllers.groupquota.webhook_proxy import review
from tests.controllers.objects import FakeInformers
from tests.controllers.shared.quota.serving import make_pod


async def test_a_team_has_so_much_in_all_its_namespaces_together() -> None:
    async with setting() as place, place.serving(), through(place) as pods:
        await place.quotas.create(group_quota({"pods": "2", "requests.cpu": "5"}))
        await place.eventually(lambda: place.used() == {"pods": "0", "requests.cpu": "0"})
        await pods.create(make_pod("a", "shop-1"))
        await pods.create(make_pod("b", "shop-2", cpu="2"))
        assert place.used() == {"pods": "2", "requests.cpu": "3"}
        with pytest.raises(Forbidden, match=r"exceeded quota: g, requested: pods=1, used: pods=2, limited: pods=2"):
            await pods.create(make_pod("c", "shop-1"))
        await pods.create(make_pod("c", "other"))
        await place.client.resource(V1Pod).delete("a", "shop-1")
        await place.eventually(lambda: place.used() == {"pods": "1", "requests.cpu": "2"})
        await pods.create(make_pod("d", "shop-1"))


async def test_an_application_has_so_much_wherever_it_is() -> None:
    def pod(name: str, namespace: str, app: str) -> dict[str, Any]:
        made = make_pod(name, namespace)
        made["metadata"]["labels"] = {"app.kubernetes.io/part-of": app}
        return made

    async with setting() as place, place.serving(), through(place) as pods:
        await place.quotas.create(group_quota({"pods": "1"}, application={"name": "till"}))
        await place.eventually(lambda: place.used() == {"pods": "0"})
        await pods.create(pod("a", "shop-1", "till"))
        await pods.create(pod("b", "other", "stock"))
        with pytest.raises(Forbidden, match="exceeded quota: g"):
            await pods.create(pod("c", "other", "till"))


async def test_a_namespace_that_was_made_just_now_is_known() -> None:
    async with setting() as place, place.serving() as webhook, through(place) as pods:
        await place.quotas.create(group_quota({"pods": "0"}))
        await place.eventually(lambda: place.used() == {"pods": "0"})
        silent: Any = FakeInformers().informer_for(V1Namespace)
        webhook.namespaces._informer = silent
        await place.client.resource(V1Namespace).create(
            V1Namespace(metadata={"name": "new", "labels": {"team": "shop"}})
        )
        with pytest.raises(Forbidden, match="exceeded quota: g"):
            await pods.create(make_pod("a", "new"))


async def test_a_recount_keeps_unstored_charges_until_their_reservations_end() -> None:
    async with setting() as place, place.serving(reservation=1.5) as webhook:
        await place.quotas.create(group_quota({"pods": "1"}))
        await place.eventually(lambda: place.used() == {"pods": "0"})
        async with aiohttp.ClientSession() as session:

            async def admitted() -> bool:
                asked = review("pods", "shop-1", make_pod("never-stored", "shop-1"))
                async with session.post(f"{place.url}/validate", json=asked) as answered:
                    return bool((await answered.json())["response"]["allowed"])

            assert await admitted()
            for _ in range(14):
                webhook.controller.recount_all()
                await place.turn(0.1)
                assert place.used() == {"pods": "1"}
                assert not await admitted()
            await place.turn(0.2)
            assert place.used() == {"pods": "0"}
            assert place.reserved() == 0
            assert await admitted()


async def test_a_reservation_is_decoded_once_however_often_its_quota_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoded: list[str] = []
    read = record._read

    def noting(entry: Any) -> Any:
        decoded.append(entry["name"])
        return read(entry)

    monkeypatch.setattr(record, "_read", noting)
    async with setting() as place, place.serving() as webhook, aiohttp.ClientSession() as session:
        await place.quotas.create(group_quota({"pods": "9"}))
        await place.eventually(lambda: place.used() == {"pods": "0"})
        for name in ("a", "b", "c"):
            pod = make_pod(name, "shop-1")
            pod["metadata"]["uid"] = name
            await place.asked(session, review("pods", "shop-1", pod))
            webhook.controller.recount_all()
            await place.turn(10)

    assert decoded == ["a", "b", "c"]


async def test_a_restarted_webhook_returns_nothing_before_old_reservations_end() -> None:
    async with setting() as place:
        async with place.serving():
            await place.quotas.create(group_quota({"pods": "1"}))
            await place.eventually(lambda: place.used() == {"pods": "0"})
            async with aiohttp.ClientSession() as session:
                await session.post(f"{place.url}/validate", json=review("pods", "shop-1", make_pod("under-way")))
            assert place.used() == {"pods": "1"}
        async with place.serving(reservation=2.0) as webhook:
            webhook.controller.recount_all()
            await place.turn(1.9)
            assert place.used() == {"pods": "1"}
            await place.turn(0.2)
            assert place.used() == {"pods": "0"}


async def test_bodies_that_are_no_reviews_get_a_status_that_says_why() -> None:
    async with setting() as place, place.serving(), aiohttp.ClientSession() as session:

        async def post(body: bytes) -> tuple[int, str]:
            async with session.post(f"{place.url}/validate", data=io.BytesIO(body)) as answered:
                status = await answered.json()
                assert status["kind"] == "Status"
                assert status["code"] == answered.status
                return answered.status, status["message"]

        assert await post(b"{") == (400, "not an AdmissionReview: Input data was truncated")
        assert (await post(b'{"request": 3}'))[1].startswith("not an AdmissionReview: Expected `object | null`")
        old = b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1"}'
        text = "AdmissionReview of admission.k8s.io/v1beta1: want an AdmissionReview of admission.k8s.io/v1"
        assert await post(old) == (400, text)
        empty = b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}'
        assert await post(empty) == (400, "the AdmissionReview has no request")
        assert (await post(b" " * (BODY_LIMIT + 1)))[0] == 413


async def test_objects_and_quotas_that_make_no_sense_are_refused_with_the_reason() -> None:
    async with setting() as place, place.serving(), aiohttp.ClientSession() as session:
        await place.quotas.create(group_quota({"pods": "9", "requests.cpu": "9"}))
        await place.eventually(lambda: place.used() != {})

        async def said(asked: Any) -> str:
            async with session.post(f"{place.url}/validate", json=asked) as answered:
                response = (await answered.json())["response"]
                return "" if response["allowed"] else response["status"]["message"]

        assert "'lots' is not a quantity" in await said(review("pods", "shop-1", make_pod("a", cpu="lots")))
        assert "quota usage is negative" in await said(review("pods", "shop-1", make_pod("a", cpu="-1")))
        assert await said(review("pods", "shop-1", make_pod("a"), dryRun=True)) == ""
        assert await said(review("pods", "shop-1", None, operation="DELETE")) == ""
        assert place.used()["pods"] == "0"

        def quota(obj: Any) -> Any:
            resource = {"group": GROUP_QUOTAS.group, "version": "v1", "resource": GROUP_QUOTAS.resource}
            asked = review("", "", obj)
            asked["request"]["resource"] = resource
            return asked

        assert await said(quota(group_quota({"pods": "1"}))) == ""
        assert "spec.hard: 'many' is not a quantity" in await said(quota(group_quota({"pods": "many"})))
        assert "spec.hard: pods is -1: want 0 or more" in await said(quota(group_quota({"pods": "-1"})))
        assert "unknown scope 'Lucky'" in await said(quota(group_quota({}, scopes=["Lucky"])))
        assert "has no name" in await said(quota(group_quota({}, application={})))
        nothing = group_quota({})
        del nothing["spec"]["namespaceSelector"]
        assert "it needs a namespaceSelector, an application, or both" in await said(quota(nothing))


async def test_what_an_invalid_quota_is_about_is_refused_and_nothing_else() -> None:
    async with setting() as place, place.serving() as webhook, through(place) as pods:
        await place.quotas.create(group_quota({"pods": "many"}))
        await place.eventually(lambda: webhook.accessor.invalid())
        with pytest.raises(Forbidden, match=r"GroupQuota g is invalid: spec\.hard: 'many' is not a quantity"):
            await pods.create(make_pod("a", "shop-1"))
        await pods.create(make_pod("a", "other"))


async def test_without_the_server_charges_are_refused_and_health_says_so() -> None:
    places: list[Setting] = []
    ready, goes = anyio.Event(), anyio.Event()

    async def serve() -> None:
        async with setting() as place:
            await place.quotas.create(group_quota({"pods": "9"}))
            places.append(place)
            ready.set()
            await goes.wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        await ready.wait()
        [place] = places
        async with (
            connect(url=place.server.url, token=place.server.token, clock=place.clock) as place.client,
            place.serving(),
            aiohttp.ClientSession() as session,
        ):
            await place.eventually(lambda: place.used() != {})
            async with session.get(f"{place.url}/healthz") as health:
                assert (health.status, await health.text()) == (200, "ok")
            goes.set()

            async def is_ill() -> bool:
                async with session.get(f"{place.url}/healthz") as health:
                    return (await health.text()).startswith("the API server does not answer: ")

            await place.eventually(is_ill)
            response = await place.asked(session, review("pods", "shop-1", make_pod("a")))
            assert not response["allowed"]
            assert response["status"]["message"].startswith("quota cannot be checked: ")
            assert (await place.asked(session, review("pods", "other", make_pod("a"))))["allowed"]


async def test_it_serves_https_with_the_certificate_it_is_given(tmp_path: Path) -> None:
    authority = Authority()
    pair = authority.issue("localhost", hosts=("localhost",))
    certificate_file, key_file = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate_file.write_bytes(pair.certificate)
    key_file.write_bytes(pair.key)

    async with setting() as place, anyio.create_task_group() as tasks:
        server = WebhookServer(QuotaWebhook(place.client), CertificateFiles(certificate_file, key_file), "127.0.0.1", 0)
        tasks.start_soon(server.run)
        await server.listening.wait()
        trusted = ssl.create_default_context(cadata=authority.certificate.decode())
        async with aiohttp.ClientSession() as session:
            async with session.get(f"https://localhost:{server.port}/livez", ssl=trusted) as alive:
                assert alive.status == 200
            asked = review("pods", "shop-1", make_pod("a"))
            url = f"https://localhost:{server.port}/validate?timeout=1s"
            tasks.start_soon(place.turn, 1)
            async with session.post(url, json=asked, ssl=trusted) as answered:
                status = (await answered.json())["response"]["status"]
                assert status["message"] == "GroupQuotas are not known yet; try again later"
                assert status["details"] == {"retryAfterSeconds": 1}
        tasks.cancel_scope.cancel()


async def test_a_restarted_replica_waits_for_its_caches_and_then_decides() -> None:
    async with setting() as place, anyio.create_task_group() as tasks, aiohttp.ClientSession() as session:
        webhook = QuotaWebhook(place.client, clock=place.clock)
        endpoint = WebhookServer(webhook, None, "127.0.0.1", 0)
        tasks.start_soon(endpoint.run)
        await endpoint.listening.wait()
        place.url = f"http://127.0.0.1:{endpoint.port}"

        late = await place.asked(session, review("pods", "shop-1", make_pod("a")), "?timeout=1s")
        assert late["status"]["message"] == "GroupQuotas are not known yet; try again later"
        charge, left = webhook._charge, list[float]()

        async def noted(request: Any, deadline: float) -> Any:
            left.append(deadline - place.clock.monotonic())
            return await charge(request, deadline)

        webhook._charge = noted  # type: ignore[method-assign]
        place.clock.call_later(0.5, lambda: tasks.start_soon(webhook.run))
        assert (await place.asked(session, review("pods", "shop-1", make_pod("a")), "?timeout=8s"))["allowed"]
        assert left[0] <= 8 - MARGIN - 0.5
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("known", ["_quotas", "_namespace_informer"])
async def test_a_replica_that_knows_only_quotas_or_only_namespaces_decides_nothing(known: str) -> None:
    async with setting() as place, anyio.create_task_group() as tasks, aiohttp.ClientSession() as session:
        webhook = QuotaWebhook(place.client, clock=place.clock)
        endpoint = WebhookServer(webhook, None, "127.0.0.1", 0)
        tasks.start_soon(getattr(webhook, known).run)
        tasks.start_soon(endpoint.run)
        await endpoint.listening.wait()
        place.url = f"http://127.0.0.1:{endpoint.port}"
        await place.eventually(lambda: getattr(webhook, known).has_synced)

        answer = await place.asked(session, review("pods", "shop-1", make_pod("a")), "?timeout=1s")
        assert answer["status"]["message"] == "GroupQuotas are not known yet; try again later"
        tasks.cancel_scope.cancel()


async def test_a_replica_that_ends_before_it_knows_anything_says_so() -> None:
    async with setting() as place, anyio.create_task_group() as tasks, aiohttp.ClientSession() as session:
        webhook = QuotaWebhook(place.client, clock=place.clock)
        endpoint = WebhookServer(webhook, None, "127.0.0.1", 0)
        tasks.start_soon(endpoint.run)
        await endpoint.listening.wait()
        place.url = f"http://127.0.0.1:{endpoint.port}"
        with anyio.CancelScope() as ended:
            ended.cancel()
            await webhook._quotas.run()

        answer = await place.asked(session, review("pods", "shop-1", make_pod("a")))
        assert answer["status"]["message"] == "GroupQuotas are not known yet; try again later"
        tasks.cancel_scope.cancel()


async def test_with_the_documented_configuration_a_server_asks_it(tmp_path: Path) -> None:
    authority = Authority()
    pair = authority.issue("127.0.0.1", hosts=("127.0.0.1",))
    certificate_file, key_file = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate_file.write_bytes(pair.certificate)
    key_file.write_bytes(pair.key)
    configuration = yaml.safe_load((CRD.parent / "webhook.yaml").read_text())

    async with setting() as place, anyio.create_task_group() as tasks:
        webhook = QuotaWebhook(place.client, clock=place.clock)
        server = WebhookServer(webhook, CertificateFiles(certificate_file, key_file), "127.0.0.1", 0)
        tasks.start_soon(webhook.run)
        tasks.start_soon(server.run)
        await server.listening.wait()
        await place.eventually(lambda: webhook.controller.has_synced)
        for hook in configuration["webhooks"]:
            ca = base64.b64encode(authority.certificate).decode()
            hook["clientConfig"] = {"url": f"https://127.0.0.1:{server.port}/validate", "caBundle": ca}
        configurations: Any = place.client.resource(
            dict, ("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"), namespaced=False
        )
        await configurations.create(configuration)
        await place.quotas.create(group_quota({"pods": "2"}))
        await place.eventually(lambda: place.used() == {"pods": "0"})
        with pytest.raises(ApiError, match=r'webhook "quota\.kinformer\.dev" denied the request: .*unknown scope'):
            await place.quotas.create(group_quota({"pods": "2"}, "bad", scopes=["Lucky"]))

        pods: Any = place.client.resource(dict, ("", "v1", "pods"))
        for name in ("a", "b"):
            await pods.create({**make_pod("", "shop-1"), "metadata": {"generateName": name, "namespace": "shop-1"}})
        with pytest.raises(Forbidden, match=r"denied the request: pods .* exceeded quota: g, requested: pods=1"):
            await pods.create(make_pod("c", "shop-2"))
        # Seen by its informer, each by the uid it was admitted with: nothing is reserved any longer.
        await place.eventually(lambda: place.reserved() == 0)
        webhook.controller.recount_all()
        await pods.delete_collection("shop-1")
        await place.eventually(lambda: place.used() == {"pods": "0"})
        tasks.cancel_scope.cancel()
