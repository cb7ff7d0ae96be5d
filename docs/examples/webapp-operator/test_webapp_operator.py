from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import yaml
from webapp_operator import FINALIZER, Dns, FileDns, WebApp, WebAppSpec, make_controller

from kinformer.client import Client
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer, eventually, running
from kinformer.manager import Controller, ControllerContext, Manager
from kinformer.models import CoreV1Event, V1ConfigMap, V1Deployment, V1Ingress, V1ObjectMeta, V1Service, to_dict
from kinformer.operator import definition_of, is_condition_true
from kinformer.simulation import World
from kinformer.simulation.schema import Subject, try_fields


class FakeDns:
    def __init__(self) -> None:
        self.records: dict[str, str] = {}
        self.broken = False

    async def set(self, host: str, target: str) -> None:
        self.records[host] = target

    async def remove(self, host: str) -> None:
        if self.broken:
            raise OSError("the zone is read-only")
        self.records.pop(host, None)


def ready_deployments(context: ControllerContext) -> Controller:
    """What a cluster would do, with all pods ready at once."""
    deployments = context.informers.informer_for(V1Deployment)

    async def sync(key: str) -> None:
        found = deployments.indexer.get_by_key(key)
        if found is None or found.spec is None or found.metadata.deletion_timestamp:
            return
        want = found.spec.replicas or 0
        if found.status is None or found.status.ready_replicas != want:
            await context.client.resource(V1Deployment).patch_status(
                found.metadata.name, {"replicas": want, "readyReplicas": want}, found.metadata.namespace
            )

    return Controller("ready-deployments", sync).watch(deployments)


def manager_of(client: Client, dns: Dns, clock: FakeClock | None = None) -> Manager:
    return Manager(client, known={"webapp-operator": lambda context: make_controller(context, dns)}, clock=clock)


@pytest.fixture
def dns() -> FakeDns:
    return FakeDns()


@pytest.fixture
async def manager(kinformer_client: Client, operator_client: Client, dns: FakeDns) -> AsyncIterator[Manager]:
    cluster = Manager(kinformer_client, known={"ready-deployments": ready_deployments})
    async with running(cluster), running(manager_of(operator_client, dns)) as manager:
        yield manager


def shop(replicas: int = 2) -> WebApp:
    spec = WebAppSpec(image="shop:1", host="shop.example.com", replicas=replicas)
    return WebApp(metadata=V1ObjectMeta(name="shop", namespace="default"), spec=spec)


async def until_ready(client: Client, replicas: int = 2, seconds: float = 10) -> WebApp:
    async def is_ready() -> WebApp:
        app = await client.resource(WebApp).get("shop", "default")
        assert app.status is not None
        assert (app.status.phase, app.status.ready_replicas) == ("Ready", replicas)
        return app

    return await eventually(is_ready, seconds=seconds)


async def test_comes_up(kinformer_client: Client, manager: Manager, dns: FakeDns) -> None:
    await kinformer_client.resource(WebApp).create(shop())

    app = await until_ready(kinformer_client)

    assert app.metadata.finalizers == [FINALIZER]
    assert app.status is not None
    assert app.status.conditions[0].observed_generation == app.metadata.generation == 1
    assert is_condition_true(app.status.conditions, "Ready")
    deployment = await kinformer_client.resource(V1Deployment).get("shop", "default")
    (owner,) = deployment.metadata.owner_references or []
    assert (owner.uid, owner.controller) == (app.metadata.uid, True)
    service = await kinformer_client.resource(V1Service).get("shop", "default")
    assert service.spec is not None
    assert service.spec.selector == {"app": "shop"}
    assert (await kinformer_client.resource(V1ConfigMap).get("shop", "default")).data == {"host": "shop.example.com"}
    ingress = await kinformer_client.resource(V1Ingress).get("shop", "default")
    assert ingress.spec is not None
    assert [rule.host for rule in ingress.spec.rules or ()] == ["shop.example.com"]
    assert dns.records == {"shop.example.com": "shop.default.svc"}


async def test_scales(kinformer_client: Client, manager: Manager) -> None:
    await kinformer_client.resource(WebApp).create(shop())
    await until_ready(kinformer_client)

    await kinformer_client.resource(WebApp).apply(shop(replicas=5), field_manager="me", force=True)

    await until_ready(kinformer_client, 5)


async def test_repairs(kinformer_client: Client, manager: Manager) -> None:
    await kinformer_client.resource(WebApp).create(shop())
    await until_ready(kinformer_client)

    await kinformer_client.resource(V1Service).delete("shop", "default")

    await eventually(lambda: kinformer_client.resource(V1Service).get("shop", "default"))


async def test_finalizer(kinformer_client: Client, manager: Manager, dns: FakeDns) -> None:
    await kinformer_client.resource(WebApp).create(shop())
    await until_ready(kinformer_client)
    dns.broken = True
    await kinformer_client.resource(WebApp).delete("shop", "default")

    async def is_warned() -> bool:
        events = await kinformer_client.resource(CoreV1Event).list("default")
        return any(event.reason == "CleanupFailed" for event in events.items)

    await eventually(is_warned)
    assert (await kinformer_client.resource(WebApp).get("shop", "default")).metadata.deletion_timestamp
    dns.broken = False

    async def is_gone() -> bool:
        return not (await kinformer_client.resource(V1Deployment).list("default")).items

    await eventually(is_gone)
    assert dns.records == {}


async def test_survives_faults(kinformer_client: Client, manager: Manager, kinformer_api_server: ApiServer) -> None:
    faults = kinformer_api_server.faults
    faults.refuse(500, times=3, matching=lambda call: call.verb == "patch")
    faults.refuse(409, times=2, matching=lambda call: call.verb == "update")
    await kinformer_client.resource(WebApp).create(shop())
    await until_ready(kinformer_client)

    faults.cut_watches()
    await kinformer_client.resource(WebApp).patch("shop", {"spec": {"replicas": 4}}, "default")

    await until_ready(kinformer_client, 4)


async def test_restart(kinformer_client: Client, manager: Manager, kinformer_api_server: ApiServer) -> None:
    await kinformer_client.resource(WebApp).create(shop())
    await until_ready(kinformer_client)

    await kinformer_api_server.restart()
    await kinformer_client.resource(WebApp).patch("shop", {"spec": {"replicas": 4}}, "default")

    await until_ready(kinformer_client, 4, seconds=30)


async def test_requeues(kinformer_client: Client, operator_client: Client, dns: FakeDns) -> None:
    clock = FakeClock()
    async with running(manager_of(operator_client, dns, clock)):
        await kinformer_client.resource(WebApp).create(shop())
        await eventually(lambda: dns.records, clock=clock)
        dns.records.clear()

        await eventually(lambda: dns.records, clock=clock, seconds=31)


def test_every_field_may_be_changed_and_changed_back() -> None:
    def begin(world: World) -> Callable[[], dict[str, str]]:
        dns = FakeDns()
        world.manager({"webapp-operator": lambda context: make_controller(context, dns)})
        world.manager({"ready-deployments": ready_deployments}, "cluster")
        return lambda: dict(dns.records)

    report = try_fields(Subject(begin, [definition_of(WebApp), shop()]))

    assert report.is_clean, report
    assert list(report.tried) == ["spec.image", "spec.host", "spec.replicas"]


async def test_the_manifest_has_the_definition_of_the_class() -> None:
    manifests = yaml.safe_load_all((Path(__file__).parent / "manifest.yaml").read_text())
    found = [manifest for manifest in manifests if manifest["kind"] == "CustomResourceDefinition"]

    assert found == [to_dict(definition_of(WebApp))], "make it anew: kinformer crd webapp_operator"


async def test_a_zone_in_a_file(tmp_path: Path) -> None:
    zone = FileDns(tmp_path / "dns.json")

    await zone.set("a", "x")
    await zone.set("b", "y")
    await zone.remove("a")
    await zone.remove("nobody")

    assert yaml.safe_load((tmp_path / "dns.json").read_text()) == {"b": "y"}
