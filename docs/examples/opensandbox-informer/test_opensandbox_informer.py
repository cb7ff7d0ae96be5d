"""What happens to readers of OpenSandbox's informer and of ours.

Version 0.2.0 has the bugs that its users reported, and other methods. Its tests are skipped beside a later version.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import opensandbox_informer
import pytest
from anyio.from_thread import start_blocking_portal

import kinformer.sync
from kinformer.envtest import ApiServer, eventually

pytest.importorskip("kubernetes", reason="OpenSandbox's client is not installed")

from kubernetes.client import ApiClient, Configuration, CustomObjectsApi

#: OpenSandbox follows BatchSandboxes. Any kind will do here, so this is one that needs no definition.
KIND: dict[str, Any] = {"group": "coordination.k8s.io", "version": "v1", "namespace": "default", "plural": "leases"}


def theirs(*, before: bool) -> Any:
    """
    The class of the package's one file. The package itself imports half of a server.

    :param before: whether 0.2.0 is wanted
    """
    found = importlib.util.find_spec("opensandbox_server")
    if found is None or found.origin is None:
        pytest.skip("opensandbox-server is not installed")
    if (version := importlib.metadata.version("opensandbox-server")).startswith("0.2.") != before:
        pytest.skip(f"it is of another version than {version}")
    path = Path(found.origin).parent / "services" / "k8s" / "informer.py"
    spec = importlib.util.spec_from_file_location("theirs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.WorkloadInformer


class Cluster:
    """A server in a thread, the client that OpenSandbox has, and the informers of one test."""

    def __init__(self, server: ApiServer, run: Callable[..., Any]):
        self.server = server
        self.run = run
        configuration = Configuration(host=server.url)
        configuration.api_key = {"authorization": f"Bearer {server.token}"}
        self.api = CustomObjectsApi(ApiClient(configuration))
        self.started: list[Any] = []

    def create(self, name: str) -> None:
        self.api.create_namespaced_custom_object(**KIND, body={"metadata": {"name": name}})

    def label(self, name: str, **labels: str) -> None:
        self.api.patch_namespaced_custom_object(**KIND, name=name, body={"metadata": {"labels": labels}})

    def until(self, holds: Callable[[], bool]) -> None:
        async def wait() -> None:
            await eventually(holds)

        self.run(wait)

    def delete(self, name: str) -> None:
        self.api.delete_namespaced_custom_object(**KIND, name=name)

    def informer(self, whose: str, **options: Any) -> Any:
        class_: Any = opensandbox_informer.WorkloadInformer
        if whose != "ours":
            class_ = theirs(before=whose == "before")
        if whose == "ours":
            options["connect"] = lambda: kinformer.sync.connect(url=self.server.url, token=self.server.token)
        informer = class_(partial(self.api.list_namespaced_custom_object, **KIND), **options)
        self.started.append(informer)
        informer.start()
        return informer


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(ApiServer(plugins=False, controllers=False)) as server,
    ):
        cluster = Cluster(server, portal.call)
        yield cluster
        for informer in cluster.started:
            informer.stop()
        cluster.run(server.faults.close_watches)
        cluster.api.api_client.close()


def state(obj: dict[str, Any] | None) -> str:
    return str(((obj or {}).get("metadata", {}).get("labels") or {}).get("state", ""))


class Told:
    """The events of a handler, as they come."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[tuple[str, str]] = SimpleQueue()

    def __call__(self, event: str, obj: dict[str, Any]) -> None:
        self.queue.put((event, obj["metadata"]["name"]))

    def until(self, event: str, name: str) -> list[tuple[str, str]]:
        """Everything up to this event."""
        seen = [self.queue.get(timeout=60)]
        while seen[-1] != (event, name):
            seen.append(self.queue.get(timeout=60))
        return seen


BOTH = pytest.mark.parametrize("whose", ["theirs", "ours"])


@BOTH
def test_handlers_and_subscribers_hear_of_changes(whose: str, cluster: Cluster) -> None:
    told, mine = Told(), Told()
    cluster.create("a")
    informer = cluster.informer(whose, event_handler=told)
    unsubscribe = informer.subscribe(["b"], mine)
    told.until("SYNC", "a")
    cluster.create("b")
    cluster.delete("a")
    told.until("DELETED", "a")
    assert informer.get_if_synced("a") is None
    assert informer.get_if_synced("b")["metadata"]["name"] == "b"
    assert mine.until("ADDED", "b") == [("ADDED", "b")]
    unsubscribe()
    if whose == "ours":
        assert informer._subscribers == {}  # each name would be kept for ever


def test_one_wait_covers_all_writes_before_it(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    informer = cluster.informer("ours")
    wait, waits, all_written = informer._informer.wait_until_present, [], threading.Event()
    monkeypatch.setattr(informer._informer, "wait_until_present", lambda: waits.append(wait()))
    informer._catching_up.submit(all_written.wait, 10)
    for name in "abc":
        cluster.create(name)
        informer.invalidate()
    all_written.set()
    informer._catching_up.submit(lambda: None).result(60)
    assert len(waits) == 1
    assert len(informer.list_if_synced()) == 3


@pytest.mark.parametrize(("whose", "is_read"), [("theirs", False), ("ours", True)])
def test_after_a_write_their_cache_is_not_read_while_the_watch_lasts(
    whose: str, is_read: bool, cluster: Cluster
) -> None:
    """They read from the API server for up to a minute after each write."""
    told = Told()
    cluster.create("a")
    informer = cluster.informer(whose, event_handler=told)
    told.until("SYNC", "a")
    cluster.create("b")
    informer.invalidate()
    cluster.create("c")
    told.until("ADDED", "c")
    if whose == "ours":
        informer._catching_up.submit(lambda: None).result(60)  # after the catching up that the write has caused
    assert (informer.list_if_synced() is not None) == is_read


@pytest.mark.parametrize(("whose", "deletion"), [("theirs", []), ("ours", [("DELETED", "a")])])
def test_their_handlers_miss_a_deletion_that_no_watch_has_seen(
    whose: str, deletion: list[tuple[str, str]], cluster: Cluster
) -> None:
    """After 410, a list replaces their cache, and they tell their handlers only of what is in the list."""
    told = Told()
    cluster.create("a")
    informer = cluster.informer(whose, event_handler=told)
    told.until("SYNC", "a")
    cluster.create("b")
    told.until("ADDED", "b")
    cluster.run(cluster.server.faults.stall_watches)
    cluster.delete("a")
    cluster.run(cluster.server.faults.compact)
    cluster.run(cluster.server.faults.cut_watches)
    cluster.run(cluster.server.faults.resume_watches)
    cluster.create("c")
    seen = told.until("DELETED", "a") if whose == "ours" else told.until("SYNC", "c")
    cluster.create("d")
    seen += told.until("ADDED", "d")
    assert [each for each in seen if each[0] == "DELETED"] == deletion
    assert informer.get_if_synced("a") is None


@pytest.mark.parametrize("whose", ["before", "theirs"])
def test_behind_a_silent_connection_theirs_is_read_as_if_it_were_new(
    whose: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """#1533: every new sandbox was taken for one that does not start, and was deleted."""
    monkeypatch.setattr(opensandbox_informer, "_SILENT", 0.1)
    cluster.create("a")
    theirs, ours = cluster.informer(whose), cluster.informer("ours")
    read = theirs.get if whose == "before" else theirs.get_if_synced
    cluster.until(lambda: read("a") is not None and ours.get_if_synced("a") is not None)
    cluster.run(partial(cluster.server.faults.stall_watches, later=False))
    cluster.label("a", state="running")
    cluster.until(lambda: state(ours.get_if_synced("a")) == "running")
    assert state(read("a")) == ""


@pytest.mark.parametrize(("whose", "shown"), [("before", ""), ("ours", "running")])
def test_a_late_answer_overwrote_what_the_watch_had_brought(whose: str, shown: str, cluster: Cluster) -> None:
    """#1673, and #1322: nothing listed again, so the old state stayed."""
    cluster.create("a")
    informer = cluster.informer(whose)
    read = informer.get if whose == "before" else informer.get_if_synced
    cluster.until(lambda: read("a") is not None)
    late = cluster.api.get_namespaced_custom_object(**KIND, name="a")
    cluster.label("a", state="running")
    cluster.until(lambda: state(read("a")) == "running")
    if whose == "before":
        informer.update_cache(late)  # as its client did with every answer
    else:
        informer.invalidate()
        cluster.until(lambda: read("a") is not None)
    assert state(read("a")) == shown
