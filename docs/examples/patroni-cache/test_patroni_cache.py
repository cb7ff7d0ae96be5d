"""What happens to Patroni's view of its cluster, with its own cache and with ours."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

import kinformer.sync
from kinformer.envtest import ApiServer
from kinformer.models import V1ConfigMap, V1ObjectMeta
from kinformer.sync import Client

pytest.importorskip("patroni", reason="patroni is not installed")

from patroni.dcs import kubernetes
from patroni.postgresql.mpp import get_mpp
from patroni_cache import InformerCache

# The threads of Patroni's caches have no end, so a test ends them by an exception.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")

LABELS = {"app": "patroni", "cluster-name": "demo"}
SETTINGS = {"ttl": 30, "scope": "demo", "loop_wait": 10, "retry_timeout": 10, "labels": {"app": "patroni"}}


def config_map(name: str, **annotations: str) -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default", labels=LABELS, annotations=annotations))


class Cluster:
    """A server in a thread, the ConfigMaps of a Patroni cluster, and the Patronis of one test."""

    def __init__(self, server: ApiServer, client: Client, run: Callable[..., Any]):
        self.faults = server.faults
        self.maps = client.resource(V1ConfigMap)
        self.run = run
        self._started: list[Any] = []

    def patroni(self, whose: str) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            if whose == "ours":
                patch.setattr(kubernetes, "ObjectCache", InformerCache)
            patroni = kubernetes.Kubernetes({**SETTINGS, "name": f"{whose}-0", "context": None}, get_mpp({}))
        self._started.append(patroni)
        assert patroni.get_cluster().leader.name == "first-0"
        return patroni

    def elect(self, name: str) -> None:
        self.maps.patch("demo-leader", {"metadata": {"annotations": {"leader": name}}}, "default")

    def end(self) -> None:
        def stop(*_: Any) -> None:
            raise SystemExit

        for cache in [cache for patroni in self._started for cache in (patroni._pods, patroni._kinds)]:
            cache._follow = cache._build_cache = stop
            cache.kill_stream()
        self.run(self.faults.close_watches)
        for patroni in self._started:
            patroni._pods.join(10)
            patroni._kinds.join(10)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(ApiServer(plugins=False, controllers=False)) as server,
        kinformer.sync.connect(url=server.url, token=server.token) as client,
    ):
        server.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        monkeypatch.setattr(kubernetes, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "kubeconfig"))  # read at import
        cluster = Cluster(server, client, portal.call)
        cluster.maps.create(config_map("demo-leader", leader="first-0"))
        cluster.maps.create(config_map("demo-config", config="{}"))
        yield cluster
        cluster.end()


def until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < ends


def leader(patroni: Any) -> str:
    return str(patroni.get_cluster().leader.name)


def failed(patroni: Any) -> bool:
    try:
        patroni.get_cluster()
    except kubernetes.KubernetesError:
        return True
    return False


BOTH = pytest.mark.parametrize("whose", ["theirs", "ours"])


@BOTH
def test_a_new_leader_wakes_the_loop_and_is_in_the_view(whose: str, cluster: Cluster) -> None:
    patroni = cluster.patroni(whose)
    patroni.event.clear()
    cluster.elect("second-0")
    assert patroni.event.wait(10)
    assert leader(patroni) == "second-0"
    patroni.event.clear()
    cluster.maps.delete("demo-leader", "default")
    assert patroni.event.wait(10)
    assert patroni.get_cluster().leader is None


def test_theirs_stays_behind_an_open_and_silent_connection_and_ours_does_not(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """patroni#1387, #2283: a replica follows the old leader. A keepalive is answered, so it does not help."""
    monkeypatch.setattr(InformerCache, "idle_timeout", 0.1)
    theirs, ours = cluster.patroni("theirs"), cluster.patroni("ours")
    cluster.run(partial(cluster.faults.stall_watches, later=False))
    ours.event.clear()
    cluster.elect("second-0")
    assert ours.event.wait(10)
    assert (leader(ours), leader(theirs)) == ("second-0", "first-0")


@BOTH
def test_a_killed_stream_is_listed_again(whose: str, cluster: Cluster) -> None:
    """Patroni calls `kill_stream` when a write shows that the cache is behind."""
    patroni = cluster.patroni(whose)
    cluster.run(partial(cluster.faults.stall_watches, later=False))
    cluster.elect("second-0")
    cluster.maps.delete("demo-config", "default")
    patroni._kinds.kill_stream()
    until(lambda: leader(patroni) == "second-0" and patroni.get_cluster().config is None)


@BOTH
def test_a_server_that_refuses_watches_makes_the_view_unavailable(whose: str, cluster: Cluster) -> None:
    """The leader then demotes itself, so it must not act on an old view."""
    patroni = cluster.patroni(whose)
    patroni.set_retry_timeout(0.1)
    cluster.faults.refuse(500, times=10**6, matching=lambda call: call.verb in ("list", "watch"))
    cluster.run(cluster.faults.cut_watches)
    until(lambda: failed(patroni))
    cluster.faults.end_all()
    patroni.set_retry_timeout(10)
    assert leader(patroni) == "first-0"
