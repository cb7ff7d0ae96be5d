"""Webhooks that controllers declare, served by their manager."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from prometheus_client import REGISTRY

from kinformer.client import Client, Forbidden, NotFound
from kinformer.clock import FakeClock
from kinformer.envtest import eventually, running
from kinformer.envtest.certificates import Authority
from kinformer.informers import SharedInformerFactory
from kinformer.leaderelection import ElectionOptions
from kinformer.manager import ControllerContext, ControllerSpec, LeaderElection, Manager
from kinformer.models import V1CustomResourceDefinition, V1ObjectMeta, V1ValidatingWebhookConfiguration
from kinformer.operator import Reconciler, install
from kinformer.operator.webhooks import AdmissionRequest, Denied, Webhooks, WebhookServing
from kinformer.options import OptionError
from kinformer.permissions import permissions_of
from tests.operator.web_apps import OldWebApp, WebApp, WebAppSpec, convert_web_apps, web_app

HERE = WebhookServing(host="127.0.0.1", port=0)
SERVICE = WebhookServing(service=("shops", "hooks"))

webhooks = Webhooks("shops.example.com")
convert_web_apps(webhooks)


@webhooks.validating(WebApp)
def check(request: AdmissionRequest[WebApp]) -> None:
    if request.object.spec.replicas > 10:
        raise Denied("spec.replicas: at most 10")


class WebApps(Reconciler[WebApp]):
    name = "web-apps"
    webhooks = webhooks

    async def reconcile(self, obj: WebApp) -> None: ...


def context_of(client: Client, clock: FakeClock | None = None) -> ControllerContext:
    return ControllerContext(client, SharedInformerFactory(client), clock=clock or FakeClock())


def manager_of(client: Client, identity: str) -> Manager:
    return Manager(
        client,
        known={"web-apps": WebApps},
        leader_election=LeaderElection(namespace="default", identity=identity, options=ElectionOptions(4.0, 3.0, 0.1)),
        webhooks=HERE,
        endpoint=("127.0.0.1", 0),
    )


@asynccontextmanager
async def serving(
    client: Client, settings: WebhookServing = HERE, clock: FakeClock | None = None
) -> AsyncIterator[Any]:
    """Served and registered without a manager, on a clock that tests turn."""
    served = settings.serve([webhooks], context_of(client, clock), client)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(served.run)
        tasks.start_soon(served.register, client)
        yield served
        tasks.cancel_scope.cancel()


async def configuration(client: Client) -> V1ValidatingWebhookConfiguration:
    return await client.resource(V1ValidatingWebhookConfiguration).get("shops.example.com")


def states(manager: Manager) -> dict[str, str]:
    return {view.path: view.state for view in manager.inspector.snapshot().webhooks}


async def test_all_replicas_serve_and_the_leader_registers(client: Client) -> None:
    await install(client, WebApp, OldWebApp)
    async with running(manager_of(client, "one")) as leader:
        await eventually(lambda: states(leader).get("/convert") == "registered")
        async with running(manager_of(client, "two")) as follower:
            await eventually(lambda: states(follower).get("/convert") == "serving")

            old = OldWebApp(
                metadata=V1ObjectMeta(name="old", namespace="default"), spec=WebAppSpec(image="i", replicas=3)
            )
            await client.resource(OldWebApp).create(old)
            with pytest.raises(Forbidden, match="at most 10"):
                await client.resource(WebApp).create(web_app(replicas=11))

            views = {view.path: view for view in leader.inspector.snapshot().webhooks}
            hook, conversion = views["/validate-example-com-v1-webapp"], views["/convert"]
            assert (hook.kind, hook.resource, hook.refused, hook.failed) == ("validating", "webapps.example.com", 1, 0)
            assert (conversion.kind, conversion.resource) == ("conversion", "webapps.example.com")
            assert conversion.requests > 0
            assert {view.requests for view in follower.inspector.snapshot().webhooks} == {0}
            labels = {"webhook": hook.path, "code": "200"}
            assert (REGISTRY.get_sample_value("controller_runtime_webhook_requests_total", labels) or 0) >= 2

            assert leader.webhooks is not None
            before = await configuration(client)
            await leader.stop(0)
            await eventually(lambda: states(follower).get("/convert") == "registered")
            after = await configuration(client)
            assert before.webhooks is not None
            assert after.webhooks is not None
            assert before.webhooks[0].client_config.url != after.webhooks[0].client_config.url
            assert before.webhooks[0].client_config.ca_bundle == after.webhooks[0].client_config.ca_bundle


async def test_a_manager_is_ready_once_the_server_asks_its_webhooks(client: Client) -> None:
    await install(client, WebApp, OldWebApp)
    manager = Manager(client, known={"web-apps": WebApps}, webhooks=HERE)
    async with running(manager):
        assert manager.unready()["webhooks"] == "the webhooks are not served yet"
        await eventually(lambda: not manager.unready())

        assert set(states(manager).values()) == {"registered"}
        with pytest.raises(Forbidden, match="at most 10"):
            await client.resource(WebApp).create(web_app(replicas=11))


async def test_an_old_versions_write_is_asked_about_in_the_new_one(client: Client) -> None:
    await install(client, WebApp, OldWebApp)
    hooks, seen = Webhooks("versions.example.com"), []

    @hooks.mutating(WebApp)
    def halve(request: AdmissionRequest[WebApp]) -> WebApp:
        request.object.spec.replicas //= 2
        return request.object

    @hooks.validating(WebApp, path="/see", match_conditions={"many": "object.spec.replicas > 4"})
    def see(request: AdmissionRequest[WebApp]) -> None:
        seen.append((request.object.spec.replicas, request.old and request.old.spec.replicas))

    served = HERE.serve([webhooks, hooks], context_of(client), client)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(served.run)
        tasks.start_soon(served.register, client)
        await eventually(lambda: not served.unready() and served.views()[0].state == "registered")
        old = OldWebApp(metadata=V1ObjectMeta(name="old", namespace="default"), spec=WebAppSpec(image="i", replicas=8))
        # What 8 are in the old version are 16 in the new one. The webhook leaves 8, which are 4 in the old one.
        assert (await client.resource(OldWebApp).create(old)).spec.replicas == 4
        await client.resource(OldWebApp).patch("old", {"spec": {"replicas": 6}}, "default")
        await client.resource(OldWebApp).patch("old", {"spec": {"replicas": 4}}, "default")
        tasks.cancel_scope.cancel()

    assert seen == [(8, None), (6, 8)]


async def test_what_somebody_deletes_is_registered_again(client: Client) -> None:
    await install(client, WebApp, OldWebApp)
    clock = FakeClock()
    async with serving(client, clock=clock):
        await eventually(lambda: configuration(client))
        for _ in range(2):  # the first time, the certificate makes its authority known as well
            await client.resource(V1ValidatingWebhookConfiguration).delete("shops.example.com")

            await eventually(lambda: configuration(client), clock=clock, seconds=400)


async def test_a_registration_that_fails_is_not_ready_and_tried_again(client: Client) -> None:
    clock = FakeClock()
    await client.resource(V1CustomResourceDefinition).delete("webapps.example.com")
    async with serving(client, clock=clock) as served:
        assert served.unready() == "the webhooks are not served yet"
        await eventually(lambda: "not registered: " in served.unready())
        assert '"webapps.example.com" not found' in served.unready()
        assert {view.state for view in served.views()} == {"not registered"}

        await install(client, WebApp, OldWebApp)
        await eventually(lambda: not served.unready(), clock=clock, seconds=60)


@pytest.mark.parametrize("injected", [False, True], ids=["files", "cert-manager"])
async def test_a_certificate_in_files_is_registered_with_its_authority(
    client: Client, tmp_path: Path, injected: bool
) -> None:
    await install(client, WebApp, OldWebApp)
    authority = Authority()
    pair = authority.issue("hooks", hosts=("127.0.0.1",))
    for name, content in (("crt", pair.certificate), ("key", pair.key)):
        (tmp_path / f"tls.{name}").write_bytes(content)
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    certificate = "shops/hooks" if injected else ""
    settings = WebhookServing(host="127.0.0.1", port=0, cert_dir=tmp_path, inject_ca_from=certificate)

    async with serving(client, settings) as served:
        await eventually(lambda: {view.state for view in served.views()} == {"registered"})

    applied = await configuration(client)
    definition = await client.resource(V1CustomResourceDefinition).get("webapps.example.com")
    bundle = None if injected else base64.b64encode(authority.certificate).decode()
    assert applied.webhooks is not None
    assert applied.webhooks[0].client_config.ca_bundle == bundle
    conversion = definition.spec.conversion
    assert conversion is not None
    assert conversion.webhook is not None
    assert conversion.webhook.client_config is not None
    assert conversion.webhook.client_config.ca_bundle == bundle
    for metadata in (applied.metadata, definition.metadata):
        assert ((metadata.annotations or {}).get("cert-manager.io/inject-ca-from", "")) == certificate


async def test_webhooks_that_others_register_are_only_served(client: Client) -> None:
    settings = WebhookServing(host="127.0.0.1", port=0, registers=False)
    async with serving(client, settings) as served:
        await served.server.listening.wait()
        await served.register(client)

        with pytest.raises(NotFound):
            await configuration(client)
        assert not served.unready()


def test_what_is_needed_are_the_secret_the_configurations_and_the_conversion() -> None:
    needed = {str(one) for one in permissions_of(SERVICE.rules([webhooks]))}

    assert needed == {
        "get secrets 'hooks-certificate' in namespace shops",
        "update secrets 'hooks-certificate' in namespace shops",
        "create secrets in namespace shops",
        "get validatingwebhookconfigurations.admissionregistration.k8s.io 'shops.example.com'",
        "patch validatingwebhookconfigurations.admissionregistration.k8s.io 'shops.example.com'",
        "create validatingwebhookconfigurations.admissionregistration.k8s.io",
        "get customresourcedefinitions.apiextensions.k8s.io 'webapps.example.com'",
        "patch customresourcedefinitions.apiextensions.k8s.io 'webapps.example.com'",
    }
    assert WebhookServing(cert_dir=Path("/certs"), registers=False).rules([webhooks]) == ()
    other = WebhookServing(service=("shops", "hooks"), secret=("vault", "pair"), registers=False)
    assert {str(one) for one in permissions_of(other.rules([webhooks]))} == {
        "get secrets 'pair' in namespace vault",
        "update secrets 'pair' in namespace vault",
        "create secrets in namespace vault",
    }


@pytest.mark.parametrize(
    ("settings", "declared", "said"),
    [
        (WebhookServing(), [webhooks], "API servers do not know where the webhooks are: want --webhook-service"),
        (WebhookServing(url="http://a"), [webhooks], "http://a is not an address of webhooks"),
        (WebhookServing(url="https://a", service=("a", "b")), [webhooks], "want one of the two"),
        (SERVICE, [webhooks, webhooks], "two webhooks have the path /validate-example-com-v1-webapp"),
        (SERVICE, [print], "declares <built-in function print> as its webhooks: want a Webhooks object"),
    ],
    ids=["no address", "plain", "two addresses", "one path twice", "something else"],
)
async def test_what_cannot_be_served_is_an_error_at_once(
    client: Client, settings: WebhookServing, declared: list[Any], said: str
) -> None:
    with pytest.raises(OptionError, match=said):
        settings.serve(declared, context_of(client), client)


async def test_a_spec_names_its_webhooks(client: Client) -> None:
    spec = ControllerSpec(
        name="web-apps", factory=f"{__name__}:WebApps.make_controller", webhooks=f"{__name__}:webhooks"
    )

    manager = Manager(client, known={"web-apps": spec}, webhooks=HERE)

    assert set(states(manager)) == {"/validate-example-com-v1-webapp", "/convert"}
    assert set(states(Manager(client, known={"web-apps": lambda it: WebApps(it).controller()}, webhooks=HERE))) == set(
        states(manager)
    )


async def test_a_spec_that_forgets_its_webhooks_is_refused(client: Client) -> None:
    spec = ControllerSpec(name="web-apps", factory=f"{__name__}:WebApps.make_controller")

    with pytest.raises(OptionError, match=rf'not name the webhooks of WebApps: want webhooks="{__name__}:WebApps.webh'):
        Manager(client, known={"web-apps": spec})
