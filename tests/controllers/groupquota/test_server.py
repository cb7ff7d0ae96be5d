"""The webhook's server: who may ask, with which certificates, for how long; and what it says to nonsense."""

from __future__ import annotations

import gzip
import json
import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest
import yaml
from click.testing import CliRunner

from kinformer.cli.election import ElectionFlags
from kinformer.clock import Clock, FakeClock
from kinformer.envtest.certificates import Authority, KeyPair
from kinformer.manager import OptionError
from kinformer.manager.serving.tls import ServerTls
from kinformer.operator.webhooks import CertificateError, CertificateFiles
from kinformer.operator.webhooks.reviews import read_timeout
from kinformer_controllers.groupquota.command import _run, quota_webhook
from kinformer_controllers.groupquota.group_quota import GROUP_QUOTAS
from kinformer_controllers.groupquota.server import WebhookServer, names_of
from kinformer_controllers.groupquota.webhook import QuotaWebhook
from tests.controllers.groupquota.setting import CRD, Setting, group_quota, setting
from tests.controllers.groupquota.webhook_proxy import review
from tests.controllers.shared.quota.serving import make_pod
from tests.turning import quiet


class Site:
    """The files of a webhook that asks for certificates, and clients for it."""

    def __init__(self, folder: Path) -> None:
        self.servers, self.clients = Authority(), Authority()
        self.certificate, self.key, self.authority = (folder / name for name in ("tls.crt", "tls.key", "ca.crt"))
        self.folder = folder
        self.renew()
        self.trust(self.clients)

    def renew(self, authority: Authority | None = None) -> None:
        """Another certificate of the server's."""
        self.servers = authority or self.servers
        pair = self.servers.issue("webhook", hosts=("localhost",))
        self.certificate.write_bytes(pair.certificate)
        self.key.write_bytes(pair.key)

    def trust(self, authority: Authority) -> None:
        """Let in only clients of this authority."""
        self.authority.write_bytes(authority.certificate)

    def files(self, clock: Clock | None = None) -> CertificateFiles:
        return CertificateFiles(self.certificate, self.key, tls=ServerTls(self.authority), clock=clock)

    def context(self, pair: KeyPair | None) -> ssl.SSLContext:
        """What a client with this certificate, or none, connects with."""
        context = ssl.create_default_context(cadata=self.servers.certificate.decode())
        if pair is not None:
            file = self.folder / "client.pem"
            file.write_bytes(pair.certificate + pair.key)
            context.load_cert_chain(file)
        return context


@asynccontextmanager
async def serving(place: Setting, site: Site) -> AsyncIterator[tuple[QuotaWebhook, str]]:
    webhook = QuotaWebhook(place.client, clock=place.clock)
    server = WebhookServer(webhook, site.files(place.clock), port=0, clients=["kube-apiserver"], clock=place.clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(webhook.run)
        tasks.start_soon(server.run)
        await server.listening.wait()
        await place.eventually(lambda: webhook.controller.has_synced)
        yield webhook, f"https://localhost:{server.port}"
        tasks.cancel_scope.cancel()


async def ask(url: str, context: ssl.SSLContext, body: Any = None, **options: Any) -> tuple[int, dict[str, Any]]:
    """What is answered over a new connection."""
    body = review("pods", "shop-1", make_pod("a", "shop-1")) if body is None else body
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session,
        session.post(f"{url}/validate", json=body, ssl=context, **options) as answered,
    ):
        return answered.status, await answered.json()


async def limited(place: Setting, **hard: str) -> None:
    await place.quotas.create(group_quota(hard))
    await place.eventually(lambda: place.used() == dict.fromkeys(hard, "0"))


async def test_only_a_certificate_of_the_right_authority_and_name_is_accepted(tmp_path: Path) -> None:
    site = Site(tmp_path)
    async with setting() as place, serving(place, site) as (_, url):
        await limited(place, pods="5")
        nobody, stranger = site.context(None), site.context(site.clients.issue("kubelet"))
        for context in (nobody, stranger):
            code, said = await ask(url, context)
            assert (code, said["kind"], said["reason"]) == (403, "Status", "Forbidden")
            assert said["message"] == "only API servers may ask: want a client certificate for kube-apiserver"
        with pytest.raises(aiohttp.ClientError):
            await ask(url, site.context(Authority().issue("kube-apiserver")))
        assert place.used() == {"pods": "0"}

        code, said = await ask(url, site.context(site.clients.issue("kube-apiserver")))
        assert (code, said["response"]["allowed"]) == (200, True)
        assert place.used() == {"pods": "1"}
        async with aiohttp.ClientSession() as session, session.get(f"{url}/readyz", ssl=nobody) as ready:
            assert ready.status == 200


def test_a_name_may_be_that_of_a_host() -> None:
    assert names_of({"subject": (), "subjectAltName": (("DNS", "kube-apiserver"),)}) == {"kube-apiserver"}
    assert names_of({"subject": ((("organizationName", "kube-apiserver"),),), "subjectAltName": ()}) == set()


async def test_certificates_are_read_again_when_their_files_change(tmp_path: Path) -> None:
    site = Site(tmp_path)
    async with setting() as place, serving(place, site) as (_, url):
        client = site.clients.issue("kube-apiserver")
        assert (await ask(url, site.context(client)))[0] == 200

        # The certificate of another authority, with the key still to come: the old pair goes on.
        old, new = site.servers, Authority()
        pair = new.issue("webhook", hosts=("localhost",))
        site.certificate.write_bytes(pair.certificate)
        await place.turn(2)
        assert (await ask(url, site.context(client)))[0] == 200
        site.key.write_bytes(pair.key)
        await place.turn(2)
        with pytest.raises(aiohttp.ClientError):
            await ask(url, site.context(client))
        site.servers = new
        assert (await ask(url, site.context(client)))[0] == 200
        assert old is not new

        # Another authority of clients: who was let in is not any more.
        others = Authority()
        site.trust(others)
        await place.turn(2)
        with pytest.raises(aiohttp.ClientError):
            await ask(url, site.context(client))
        assert (await ask(url, site.context(others.issue("kube-apiserver"))))[0] == 200


async def test_a_connection_outlives_the_certificate_that_it_was_made_with(tmp_path: Path) -> None:
    site = Site(tmp_path)
    async with setting() as place, serving(place, site) as (_, url), aiohttp.ClientSession() as session:
        context = site.context(site.clients.issue("kube-apiserver"))
        for _ in range(2):
            asked = review("pods", "other", make_pod("a", "other"))
            async with session.post(f"{url}/validate", json=asked, ssl=context) as answered:
                assert answered.status == 200
            site.renew(Authority())
            await place.turn(2)


@pytest.mark.parametrize("missing", ["tls.crt", "tls.key", "ca.crt"])
async def test_a_file_that_is_no_certificate_is_named(tmp_path: Path, missing: str) -> None:
    site = Site(tmp_path)
    (tmp_path / missing).write_text("nonsense")
    with pytest.raises(CertificateError, match=missing):
        await site.files().context()


async def test_an_encrypted_key_is_refused_rather_than_asked_about(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization

    site = Site(tmp_path)
    key = serialization.load_pem_private_key(site.key.read_bytes(), None)
    format_, encryption = serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    site.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, format_, encryption))
    with pytest.raises(CertificateError, match="private key is encrypted"):
        await site.files().context()


@pytest.mark.parametrize(("arguments", "host"), [((), "127.0.0.1"), (("ca",), "0.0.0.0")])
async def test_without_a_client_authority_it_listens_on_loopback(
    arguments: tuple[str, ...], host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path)
    made: list[WebhookServer] = []

    class Noted(Exception):
        """The server was made."""

    async def run(self: WebhookServer) -> None:
        made.append(self)
        raise Noted

    monkeypatch.setattr(WebhookServer, "run", run)
    async with setting() as place:
        kubeconfig = tmp_path / "kubeconfig"
        place.server.write_kubeconfig(kubeconfig)
        options: dict[str, Any] = {
            "kubeconfig": kubeconfig,
            "context": None,
            "host": None,
            "port": 0,
            "tls_cert_file": site.certificate,
            "tls_private_key_file": site.key,
            "client_ca_file": site.authority if arguments else None,
            "client_names": "kube-apiserver, other",
            "insecure": False,
            "period": 0.0,
            "reservation": 90.0,
            "election": ElectionFlags(leader_elect_resource_name="kinformer-quota-webhook"),
        }
        with pytest.raises(Noted):
            await _run(**options)
        with pytest.raises(OptionError, match="--client-names"):
            await _run(**{**options, "client_names": " , "})
        with pytest.raises(OptionError, match="--insecure"):
            await _run(**{**options, "insecure": True, "client_ca_file": site.authority})
        with pytest.raises(OptionError, match="--tls-cert-file"):
            await _run(**{**options, "tls_cert_file": None})

    assert [server.host for server in made] == [host]


def test_the_help_says_who_may_ask() -> None:
    said = CliRunner().invoke(quota_webhook, ["--help"]).output
    assert "--client-ca-file" in said
    assert "127.0.0.1" in said


@pytest.mark.parametrize(
    ("text", "seconds"), [("5s", 5.0), ("", 10.0), ("soon", 10.0), ("0s", 10.0), ("1h", 30.0), ("1m0s", 30.0)]
)
def test_the_time_that_an_api_server_waits_is_read_from_its_request(text: str, seconds: float) -> None:
    assert read_timeout(text, 10.0) == seconds


@pytest.mark.parametrize(("query", "after"), [("?timeout=5s", 3.0), ("", 8.0), ("?timeout=2s", 1.0)])
async def test_it_answers_before_the_server_gives_up_and_returns_late_charges(query: str, after: float) -> None:
    async with setting() as place, place.serving() as webhook, aiohttp.ClientSession() as session:
        await limited(place, pods="1")
        update = webhook.accessor.update

        async def slow(quota: Any) -> None:
            """It is written, and the answer does not come."""
            webhook.accessor.update = update  # type: ignore[method-assign]
            await update(quota)
            await anyio.sleep_forever()

        webhook.accessor.update = slow  # type: ignore[method-assign]
        assert isinstance(place.clock, FakeClock)
        began = place.clock.monotonic()
        asked = review("pods", "shop-1", make_pod("a", "shop-1"))
        response = await place.asked(session, asked, query)
        assert (response["allowed"], response["status"]["code"]) == (False, 504)
        assert after <= place.clock.monotonic() - began < after + 0.1

        await place.turn(1)
        assert place.used() == {"pods": "0"}
        assert (await place.asked(session, asked))["allowed"]


async def test_a_correction_that_hangs_holds_charges_up_for_seconds_only() -> None:
    async with setting() as place, place.serving() as webhook, aiohttp.ClientSession() as session:
        await limited(place, pods="2")
        write = webhook.accessor.write

        async def hanging(quota: Any, client: Any = None) -> None:
            webhook.accessor.write = write  # type: ignore[method-assign]
            await anyio.sleep_forever()

        webhook.accessor.write = hanging  # type: ignore[method-assign]
        await place.client.resource(dict, ("", "v1", "pods")).create(make_pod("uncharged", "shop-1"))
        await place.turn(12)
        assert (await place.asked(session, review("pods", "shop-1", make_pod("a", "shop-1"))))["allowed"]
        assert place.used() == {"pods": "2"}


async def test_health_checks_ask_the_server_once_a_second_and_not_forever() -> None:
    async with setting() as place, place.serving() as webhook:
        asked = 0
        version, hangs = place.client.server_version, False

        async def counting() -> Any:
            nonlocal asked
            asked += 1
            return await (anyio.sleep_forever() if hangs else version())

        place.client.server_version = counting  # type: ignore[method-assign]
        async with anyio.create_task_group() as tasks:
            for _ in range(100):
                tasks.start_soon(webhook.trouble)
        assert (asked, await webhook.trouble()) == (1, "")
        await place.turn(1)
        hangs = True
        said: list[str] = []

        async def ask() -> None:
            said.append(await webhook.trouble())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await place.eventually(lambda: said)
        assert (asked, said) == (2, ["the API server does not answer: nothing has come for 2 s"])


async def test_a_caller_that_goes_away_is_charged_nothing() -> None:
    async with setting() as place, place.serving() as webhook:
        await limited(place, pods="1")
        update, reached, go_on = webhook.accessor.update, anyio.Event(), anyio.Event()

        async def slow(quota: Any) -> None:
            reached.set()
            await go_on.wait()
            await update(quota)

        webhook.accessor.update = slow  # type: ignore[method-assign]
        async with aiohttp.ClientSession() as session, anyio.create_task_group() as tasks:
            tasks.start_soon(place.asked, session, review("pods", "shop-1", make_pod("a", "shop-1")))
            await reached.wait()
            tasks.cancel_scope.cancel()
        await quiet()
        go_on.set()
        await place.turn(1)

        assert (place.used(), place.reserved()) == ({"pods": "0"}, 0)


@pytest.mark.parametrize(
    "status", [{"used": {"pods": "many"}}, {"hard": {"pods": "?"}, "used": {}}], ids=["usage", "limits"]
)
async def test_a_malformed_status_is_written_anew_and_nothing_is_admitted_before_that(status: dict[str, Any]) -> None:
    async with setting() as place, place.serving() as webhook, aiohttp.ClientSession() as session:
        await limited(place, pods="1")
        recount, go_on = webhook.controller._recounter.recount, anyio.Event()

        async def later(*asked: Any) -> Any:
            await go_on.wait()
            return await recount(*asked)

        webhook.controller._recounter.recount = later  # type: ignore[method-assign]
        quota = await place.quotas.get("g")
        await place.quotas.update_status({**quota, "status": status})
        await place.eventually(lambda: webhook.accessor.invalid())
        asked = review("pods", "shop-1", make_pod("a", "shop-1"))
        refused = await place.asked(session, asked)
        assert (refused["status"]["code"], refused["allowed"]) == (403, False)
        assert "GroupQuota g is invalid: status." in refused["status"]["message"]
        go_on.set()
        await place.turn(1)

        assert place.used() == {"pods": "0"}
        assert (await place.asked(session, asked))["allowed"]


def nonsense(rng: random.Random, number: int) -> tuple[bytes, dict[str, str]]:
    """A body that is no review of a pod that could be charged, and its headers."""
    pod: Any = make_pod(f"n{number}", "shop-1")
    wrong: Any = rng.choice([5, "x", ["x"], {"a": {"b": []}}, True, 1e300])
    not_an_object = 5 if isinstance(wrong, dict) else wrong
    asked = review("pods", "shop-1", pod)
    kind = rng.randrange(12)
    if kind == 0:
        pod["spec"] = not_an_object
    elif kind == 1:
        pod["spec"]["containers"] = not_an_object if not isinstance(wrong, list) else [5]
    elif kind == 2:
        pod["spec"]["containers"][0]["resources"] = not_an_object
    elif kind == 3:
        pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": rng.choice(["lots", "-1", "1e9999", ""])}}
    elif kind == 4:
        pod["metadata"] = not_an_object
    elif kind == 5:
        pod["metadata"][rng.choice(["name", "uid", "namespace", "labels"])] = rng.choice([5, ["x"], True])
    elif kind == 6:
        asked["request"][rng.choice(["uid", "resource", "namespace", "operation"])] = rng.choice([5, ["x"], True])
    elif kind == 7:
        asked[rng.choice(["kind", "apiVersion"])] = wrong
    elif kind == 8:
        deep = rng.choice([2_000, 20_000])
        body = json.dumps(asked).replace('"image": "i"', '"image": ' + "[" * deep + "]" * deep)
        return body.encode(), {}
    elif kind == 9:
        return json.dumps(asked).encode()[: rng.randrange(200)], {}
    elif kind == 10:
        return rng.choice([b"nope", gzip.compress(json.dumps(asked).encode())]), {"Content-Encoding": "gzip"}
    else:
        body = json.dumps(asked).encode()
        at = rng.randrange(len(body))
        return body[:at] + b"\xff\xfe" + body[at:], {}
    return json.dumps(asked).encode(), {}


async def test_forged_or_malformed_reviews_change_nothing(tmp_path: Path) -> None:
    site, rng = Site(tmp_path), random.Random(13)
    async with setting() as place, serving(place, site) as (_, url):
        await limited(place, pods="5", **{"requests.cpu": "5"})
        before = await place.quotas.get("g")
        genuine = site.context(site.clients.issue("kube-apiserver"))
        answers: dict[int, int] = {}

        async def post(context: ssl.SSLContext, bodies: list[tuple[bytes, dict[str, str]]]) -> None:
            async with aiohttp.ClientSession() as session:
                for body, headers in bodies:
                    headers = {"Content-Type": "application/json", **headers}
                    async with session.post(f"{url}/validate", data=body, headers=headers, ssl=context) as answered:
                        said = await answered.json()
                    answers[answered.status] = answers.get(answered.status, 0) + 1
                    if answered.status == 200:
                        assert not said["response"]["allowed"], body[250:]
                        assert said["response"]["status"]["message"]
                    else:
                        assert (said["kind"], said["code"]) == ("Status", answered.status)
                        assert said["message"]

        forged = [
            (json.dumps(review("pods", "shop-1", make_pod(f"f{number}", "shop-1"))).encode(), {})
            for number in range(500)
        ]
        malformed = [nonsense(rng, number) for number in range(500)]
        strangers = [site.context(None), site.context(site.clients.issue("kubelet"))]
        async with anyio.create_task_group() as tasks:
            for number, stranger in enumerate(strangers):
                tasks.start_soon(post, stranger, forged[number::2])
            for number in range(3):
                tasks.start_soon(post, genuine, malformed[number::3])

        assert sum(answers.values()) == 1_000
        assert answers[403] == 500
        assert answers.keys() <= {200, 400, 403, 415}
        await quiet()
        assert (await place.quotas.get("g"))["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
        assert place.reserved() == 0
        code, said = await ask(url, genuine)
        assert (code, said["response"]["allowed"]) == (200, True)
        assert place.stored.get(GROUP_QUOTAS.group, GROUP_QUOTAS.resource, "", "g") is not None
        assert place.used() == {"pods": "1", "requests.cpu": "1"}


def test_the_documented_deployment_asks_clients_for_certificates_and_has_them_made() -> None:
    objects = list(yaml.safe_load_all((CRD.parent / "deployment.yaml").read_text()))
    [deployment] = [one for one in objects if one["kind"] == "Deployment"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    context = quota_webhook.make_context("quota-webhook", container["args"][1:])
    assert context.params["client_ca_file"] == Path("/tls/ca.crt")
    assert context.params["host"] is None
    [client] = [one for one in objects if one["metadata"]["name"] == "quota-webhook-client"]
    assert (client["spec"]["commonName"], client["spec"]["usages"]) == (context.params["client_names"], ["client auth"])
    [user] = yaml.safe_load((CRD.parent / "api-server" / "kubeconfig.yaml").read_text())["users"]
    [server] = [one for one in objects if one["metadata"]["name"] == "quota-webhook" and one["kind"] == "Certificate"]
    assert server["spec"]["dnsNames"] == [user["name"]]
