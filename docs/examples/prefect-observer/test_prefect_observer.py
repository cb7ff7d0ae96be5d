"""What users of Prefect reported, with its own observer and with ours."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from kubernetes_asyncio.config import kube_config

from kinformer.client import Client
from kinformer.envtest import ApiServer, eventually
from kinformer.models import V1Job, V1Pod, from_dict

pytest.importorskip("prefect_kubernetes", reason="prefect-kubernetes is not installed")

import kubernetes.config.kube_config
import prefect_observer
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import Abort
from prefect.states import Crashed, Running
from prefect_kubernetes import observer

RUN = uuid.uuid4()
META: dict[str, Any] = {
    "namespace": "default",
    "labels": {"prefect.io/flow-run-id": str(RUN), "prefect.io/flow-run-name": "run"},
}
CONTAINERS = [{"name": "prefect-job", "image": "flow"}]


def pod(name: str) -> V1Pod:
    return from_dict(V1Pod, {"metadata": {**META, "name": name}, "spec": {"containers": CONTAINERS}})


def job(name: str) -> V1Job:
    template = {"spec": {"containers": CONTAINERS, "restartPolicy": "Never"}}
    return from_dict(V1Job, {"metadata": {**META, "name": name}, "spec": {"template": template, "suspend": True}})


class Prefect:
    """Prefect's API, as far as the observer uses it."""

    def __init__(self) -> None:
        self.emitted: list[str] = []
        self.asked_about: list[str] = []
        self.crashed: list[str] = []
        self.names: dict[str, str] = {}

    async def __aenter__(self) -> Prefect:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def emit(self, event: Any) -> None:
        self.names[event.resource["prefect.resource.id"]] = name = event.resource["prefect.resource.name"]
        self.emitted.append(f"{name} {event.event.rpartition('.')[2]}")

    async def request(self, method: str, path: str, json: dict[str, Any]) -> Any:
        (resource,) = json["filter"]["resource"]["id"]
        self.asked_about.append(self.names.get(resource, "?"))
        return self

    def json(self) -> dict[str, Any]:
        return {"events": [] if self.asked_about[-1] == "?" else ["there is one"]}

    async def read_flow_run(self, flow_run_id: uuid.UUID) -> FlowRun:
        return FlowRun(id=flow_run_id, name="run", flow_id=uuid.uuid4(), state=Running())

    async def propose(self, client: Any, state: Any, flow_run_id: uuid.UUID) -> Any:
        self.crashed.append(state.message)
        if len(self.crashed) == 1:
            raise Abort("the run is over")
        return Crashed()


@pytest.fixture
async def prefect(kinformer_api_server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prefect:
    kinformer_api_server.write_kubeconfig(tmp_path / "kubeconfig")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    for module in (
        kube_config,
        kubernetes.config.kube_config,
    ):  # kopf uses one of them
        monkeypatch.setattr(module, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "kubeconfig"))
    monkeypatch.setenv("PREFECT_OBSERVER_VERSIONS", str(tmp_path / "versions"))
    monkeypatch.setattr(prefect_observer, "REMEMBER_EVERY", 0.05)
    prefect = Prefect()
    for name in ("get_client", "get_events_client"):
        monkeypatch.setattr(observer, name, lambda: prefect)
    monkeypatch.setattr(observer, "propose_state", prefect.propose)
    return prefect


Start = Callable[[], Awaitable[None]]


@pytest.fixture(params=["theirs", "ours"])
def whose(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "ours":
        monkeypatch.setattr(observer, "_observer_thread_entry", prefect_observer.observe)
    return str(request.param)


@pytest.fixture
async def start(whose: str, prefect: Prefect) -> AsyncIterator[Start]:
    """Starts the observer, or starts it again."""

    async def start() -> None:
        await anyio.to_thread.run_sync(observer.stop_observer)
        observer.start_observer()

    yield start
    await anyio.to_thread.run_sync(observer.stop_observer)


async def test_pods_are_told_to_prefect_and_a_deleted_job_has_crashed(
    start: Start, prefect: Prefect, kinformer_client: Client
) -> None:
    """The first proposal is refused: the handler must not end the observer (#22553)."""
    pods, jobs = kinformer_client.resource(V1Pod), kinformer_client.resource(V1Job)
    await pods.create(pod("a"))
    await jobs.create(job("first"))
    await jobs.create(job("second"))
    await start()
    await eventually(lambda: prefect.emitted == ["a pending"], seconds=15)
    await pods.patch_status("a", {"phase": "Succeeded"}, "default")
    await eventually(lambda: prefect.emitted == ["a pending", "a succeeded"])
    for name, crashed in ("first", 1), ("second", 2):
        await jobs.delete(name, "default")
        await eventually(lambda crashed=crashed: len(prefect.crashed) == crashed)  # type: ignore[misc]
    assert set(prefect.crashed) == {"Kubernetes job was deleted"}


async def test_after_a_restart_theirs_asks_about_every_pod_and_ours_about_changed_ones(
    start: Start, prefect: Prefect, kinformer_client: Client, whose: str, tmp_path: Path
) -> None:
    """#19937: with tens of thousands of pods, this kept the worker and Prefect's server busy for tens of minutes."""
    pods = kinformer_client.resource(V1Pod)
    for name in "abc":
        await pods.create(pod(name))
    await start()
    await eventually(lambda: len(prefect.emitted) == 3, seconds=15)
    if whose == "ours":
        last = (await pods.get("c", "default")).metadata.resource_version
        remembered = tmp_path / "versions"
        await eventually(lambda: remembered.exists() and f'"{last}"' in remembered.read_text())
    await anyio.to_thread.run_sync(observer.stop_observer)
    prefect.asked_about.clear()
    await pods.patch_status("b", {"phase": "Failed"}, "default")
    await pods.create(pod("d"))
    await start()
    await eventually(lambda: "d pending" in prefect.emitted, seconds=15)
    await eventually(lambda: len(prefect.asked_about) == (4 if whose == "theirs" else 2))
    assert {"?", "b"} <= set(prefect.asked_about)
    assert ("a" in prefect.asked_about) == (whose == "theirs")
