"""What users of kubespawner reported, with its own reflector and with ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes_asyncio.client import ApiException, Configuration

from kinformer.backoff import Backoff
from kinformer.cache import InformerOptions
from kinformer.client import ApiError, Client
from kinformer.envtest import ApiServer, eventually
from kinformer.models import V1Pod, from_dict

pytest.importorskip("kubespawner", reason="jupyterhub-kubespawner is not installed")

from kubespawner import clients, reflector
from kubespawner.spawner import PodReflector
from kubespawner_reflector import InformerKubeSpawner, InformerReflector


class OurPods(InformerReflector, PodReflector):  # type: ignore[misc]  # kubespawner has no types
    informer_options = InformerOptions(backoff=Backoff(initial=0.01, maximum=0.01))


def pod(name: str, namespace: str = "default", **labels: str) -> V1Pod:
    return from_dict(
        V1Pod,
        {
            "metadata": {"name": name, "namespace": namespace, "labels": labels or {"component": "singleuser-server"}},
            "spec": {"containers": [{"name": "notebook", "image": "notebook"}]},
        },
    )


@pytest.fixture(autouse=True)
async def configured(kinformer_api_server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    kinformer_api_server.write_kubeconfig(tmp_path / "kubeconfig")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    theirs = Configuration(host=kinformer_api_server.url)
    theirs.api_key = {"BearerToken": f"Bearer {kinformer_api_server.token}"}
    Configuration.set_default(theirs)
    yield
    Configuration.set_default(None)
    for client in list(clients._client_cache.values()):
        await client.api_client.close()
    clients._client_cache.clear()


Make = Callable[..., Any]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    made = []

    async def start(class_: type, **options: Any) -> Any:
        made.append(class_(labels={"component": "singleuser-server"}, namespace="default", **options))
        await made[-1].start()
        return made[-1]

    yield start
    for each in made:
        await each.stop()


def lists_of(server: ApiServer) -> list[Any]:
    """Every request for all pods from now on. No request is refused, because `note` never matches."""
    seen: list[Any] = []

    def note(call: Any) -> bool:
        if call.verb == "list" or call.query.get("sendInitialEvents") == "true":
            seen.append(call)
        return False

    server.faults.refuse(500, matching=note)
    return seen


BOTH = pytest.mark.parametrize("class_", [PodReflector, OurPods], ids=["theirs", "ours"])


@BOTH
async def test_pods_come_change_and_go(class_: type, make: Make, kinformer_client: Client) -> None:
    pods = kinformer_client.resource(V1Pod)
    await pods.create(pod("a"))
    await pods.create(pod("other", component="hub"))
    found = await make(class_)
    assert list(found.pods) == ["default/a"]
    assert found.pods["default/a"]["spec"]["containers"][0]["image"] == "notebook"
    await pods.create(pod("b"))
    await eventually(lambda: sorted(found.pods) == ["default/a", "default/b"])
    await pods.delete("a", "default")
    await eventually(lambda: found.pods.get("default/a") is None)


@BOTH
async def test_a_list_that_is_refused_is_an_error_of_start(
    class_: type, make: Make, kinformer_api_server: ApiServer
) -> None:
    kinformer_api_server.faults.refuse(403, times=9, matching=lambda call: call.verb in ("list", "watch"))
    with pytest.raises((ApiError, ApiException), match=r"403|injected fault"):
        await make(class_)


async def _outage(found: Any, server: ApiServer, client: Client) -> None:
    """Nine refused requests in a row, and then a new pod."""
    server.faults.refuse(500, times=9, matching=lambda call: call.verb in ("list", "watch"))
    server.faults.close_watches()
    await eventually(lambda: server.faults.is_quiet)
    await client.resource(V1Pod).create(pod("after"))


async def test_theirs_ends_after_nine_failures_and_keeps_its_pods(
    make: Make, kinformer_api_server: ApiServer, kinformer_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kubespawner#938 and #209: `on_failure` is not set by default, and the hub reads old pods for ever."""
    found = await make(PodReflector)

    async def no_wait(_: float) -> None: ...

    monkeypatch.setattr(reflector, "asyncio", SimpleNamespace(sleep=no_wait, CancelledError=asyncio.CancelledError))
    await _outage(found, kinformer_api_server, kinformer_client)
    await found.watch_task
    monkeypatch.undo()
    assert dict(found.pods) == {}
    assert found.on_failure is None


async def test_ours_goes_on_after_nine_failures(
    make: Make, kinformer_api_server: ApiServer, kinformer_client: Client
) -> None:
    found = await make(OurPods)
    await _outage(found, kinformer_api_server, kinformer_client)
    await eventually(lambda: list(found.pods) == ["default/after"])


@pytest.mark.parametrize(("class_", "lists_again"), [(PodReflector, True), (OurPods, False)], ids=["theirs", "ours"])
async def test_a_watch_that_ends_costs_them_a_list_of_everything(
    class_: type, lists_again: bool, make: Make, kinformer_api_server: ApiServer, kinformer_client: Client
) -> None:
    """kubespawner#753. By default, their watch ends every ten seconds."""
    found = await make(class_)
    await eventually(lambda: len(kinformer_api_server.faults.watches.open) > 0)
    await kinformer_client.resource(V1Pod).create(pod("before"))
    await eventually(lambda: len(found.pods) == 1)
    seen = lists_of(kinformer_api_server)
    kinformer_api_server.faults.close_watches()
    await kinformer_client.resource(V1Pod).create(pod("after"))
    await eventually(lambda: len(found.pods) == 2)
    assert bool(seen) == lists_again


async def test_the_spawner_reads_its_pods_and_events_from_informers(
    kinformer_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubespawner.spawner.load_config", lambda **_: None)
    await kinformer_client.resource(V1Pod).create(pod("a", component="singleuser-server"))
    spawner = InformerKubeSpawner(_mock=True, namespace="default", events_enabled=True)
    try:
        await spawner._start_watching_pods()
        await spawner._start_watching_events()
        assert isinstance(spawner.pod_reflector, InformerReflector)
        assert list(spawner.pod_reflector.pods) == ["default/a"]
        assert spawner.event_reflector.events == []
    finally:
        await InformerKubeSpawner._stop_all_reflectors()
