"""The client without async: in scripts, in threads, and where an event loop runs already."""

from __future__ import annotations

import gc
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest
from anyio.abc import ByteStream

import kinformer.sync
from kinformer.client import AlreadyExists, ClientError, CommandFailed, ConnectionLost, NotFound
from kinformer.envtest.containers import FakeProcess
from kinformer.meta import GroupVersionKind
from kinformer.models import V1ConfigMap, V1Pod, from_dict
from kinformer.sync import Client
from tests.client.pods import running_pod
from tests.sync.servers import Server, eventually


def config_map(name: str, **data: str) -> V1ConfigMap:
    return from_dict(V1ConfigMap, {"metadata": {"name": name, "namespace": "default"}, "data": data})


def test_a_script_creates_reads_changes_and_deletes(client: Client) -> None:
    maps = client.resource(V1ConfigMap)
    created = maps.create(config_map("a", k="v"))
    assert created.metadata.uid
    assert maps.get("a", "default").data == {"k": "v"}
    assert maps.patch("a", {"data": {"k": "w"}}, "default").data == {"k": "w"}
    assert [found.metadata.name for found in maps.list("default").items] == ["a"]
    maps.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "default"}},
        field_manager="me",
    )
    assert len(maps.list("default", field_selector="metadata.name=b").items) == 1
    maps.delete("a", "default")
    maps.delete_collection("default")
    assert maps.list("default").items == []


def test_errors_are_those_of_the_client(client: Client) -> None:
    maps = client.resource(V1ConfigMap)
    with pytest.raises(NotFound):
        maps.get("gone", "default")
    maps.create(config_map("a"))
    with pytest.raises(AlreadyExists):
        maps.create(config_map("a"))


def test_a_status_is_patched_where_no_field_is_misspelt(client: Client) -> None:
    _run_pod(client)
    pods = client.resource(V1Pod)
    assert pods.patch_status("web", {"phase": "Succeeded"}, "default").status.phase == "Succeeded"
    with pytest.raises(TypeError, match=r"V1Pod has no field status\.fase"):
        pods.patch_status("web", {"fase": "Running"}, "default")


def test_pages_are_an_iterator(client: Client) -> None:
    maps = client.resource(V1ConfigMap)
    for name in "abc":
        maps.create(config_map(name))
    assert [len(page.items) for page in maps.pages("default", limit=2)] == [2, 1]


def test_a_watch_is_an_iterator_of_events(client: Client) -> None:
    maps = client.resource(V1ConfigMap)
    version = maps.list("default").resource_version
    events = maps.watch("default", resource_version=version, timeout_seconds=30)
    maps.create(config_map("a"))
    maps.patch("a", {"data": {"k": "v"}}, "default")
    assert [next(events).type, next(events).type] == ["ADDED", "MODIFIED"]
    events.close()


def test_breaking_out_of_a_watch_closes_its_connection(client: Client, server: Server) -> None:
    maps = client.resource(V1ConfigMap)
    maps.create(config_map("a"))
    for change in maps.follow("default"):
        assert change.object.metadata.name == "a"
        break
    del change
    gc.collect()
    eventually(lambda: not server.api.watches.open)


def test_a_watch_that_breaks_is_an_error(client: Client, server: Server) -> None:
    log = server.run(lambda: server.api.containers.log("web", ["one"]))
    _run_pod(client)
    lines = client.resource(V1Pod).logs("web", "default", follow=True)
    assert next(lines) == "one"
    server.run(server.api.faults.cut_streams)
    with pytest.raises(ConnectionLost):
        next(lines)
    assert log is not None


def test_one_waits_for_an_object(client: Client) -> None:
    maps = client.resource(V1ConfigMap)
    with ThreadPoolExecutor(1) as pool:
        later = pool.submit(maps.until, "a", lambda found: found is not None, "default")
        maps.create(config_map("a"))
        found = later.result(60)
    assert found is not None
    assert found.metadata.name == "a"
    with pytest.raises(TimeoutError):
        maps.until("never", lambda found: found is not None, "default", timeout=0.01)


def test_logs_commands_and_ports_of_pods(client: Client, server: Server) -> None:
    async def echo(process: FakeProcess) -> int:
        await process.write(await process.read_all())
        return 1

    async def shout(stream: ByteStream) -> None:
        await stream.send((await stream.receive()).upper())

    containers = server.api.containers
    server.run(lambda: containers.log("web", ["one", "two"]))
    containers.command("web", echo)
    containers.port("web", 80, shout)
    _run_pod(client)
    pods = client.resource(V1Pod)

    assert pods.read_logs("web", "default", tail_lines=1) == "two\n"
    assert list(pods.logs("web", "default")) == ["one", "two"]
    assert pods.run("web", ["echo"], "default", input=b"x").stdout == b"x"
    with pytest.raises(CommandFailed):
        pods.run("web", ["echo"], "default", check=True)
    with pods.local_port("web", 80, "default") as port:
        assert client.call(_ask, port) == b"HI"


async def _ask(port: int) -> bytes:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(b"hi")
        return await stream.receive()


def test_whatever_has_no_method_is_called_in_the_clients_thread(client: Client) -> None:
    async def name_of_thread() -> str:
        return threading.current_thread().name

    assert client.call(name_of_thread).startswith("kinformer.sync")


def test_what_the_server_serves_can_be_asked(client: Client) -> None:
    assert client.server_version().git_version.startswith("v1.")
    assert any(found.kind == "ConfigMap" for found in client.server_resources())
    assert client.resource_for_kind(GroupVersionKind("", "v1", "ConfigMap"), dict).list("default").items == []
    assert client.resource_for_object({"apiVersion": "v1", "kind": "Node"}).list().items == []
    assert client.request("GET", "/healthz") == b"ok"
    assert "blocking" in repr(client)


def test_several_threads_use_one_client(client: Client) -> None:
    maps = client.resource(V1ConfigMap)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: maps.create(config_map(f"m{n}")), range(64)))
    assert len(maps.list("default").items) == 64


async def test_it_works_where_an_event_loop_runs(server: Server) -> None:
    # As in a notebook. The server is in another thread: this one waits for the answers.
    with kinformer.sync.connect(url=server.api.url, token=server.api.token) as client:
        assert client.resource(V1ConfigMap).list("default").items == []


def test_a_client_that_is_closed_says_so(server: Server) -> None:
    with kinformer.sync.connect(url=server.api.url, token=server.api.token) as client:
        events = client.resource(V1ConfigMap).follow("default")
    with pytest.raises(ClientError, match="is closed"):
        client.resource(V1ConfigMap).list("default")
    with pytest.raises(ClientError, match="is closed"):
        next(events)


def test_a_forked_process_is_told_that_the_client_is_not_its_own(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    maps = client.resource(V1ConfigMap)
    said = f"the client of {client.server} was made before this process was forked: make one in this process"
    with maps.informer("default") as informer, monkeypatch.context() as forked:
        informer.wait_synced(timeout=60)
        forked.setattr("os.getpid", lambda: -1)
        with pytest.raises(ClientError, match=said):
            maps.list("default")
        with pytest.raises(ClientError, match=said):
            _ = informer.objects


def test_leaving_the_block_ends_the_calls_of_other_threads(server: Server) -> None:
    with ThreadPoolExecutor(1) as pool:
        with kinformer.sync.connect(url=server.api.url, token=server.api.token) as client:
            maps = client.resource(V1ConfigMap)
            waiting = pool.submit(maps.until, "never", lambda found: found is not None, "default")
            eventually(lambda: server.api.watches.open)
        with pytest.raises(ClientError, match="is closed"):
            waiting.result(60)


def test_ctrl_c_cancels_the_call_that_waits(client: Client) -> None:
    ended = threading.Event()
    here = threading.get_ident()

    async def endless() -> None:
        try:
            signal.pthread_kill(here, signal.SIGINT)
            await anyio.sleep_forever()
        finally:
            ended.set()

    # A shell starts what runs in the background with this signal ignored, and so may whoever runs the tests.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            client.call(endless)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.wait(60)
    assert client.resource(V1ConfigMap).list("default").items == []  # and the client goes on


def _run_pod(client: Client) -> None:
    client.call(running_pod, client.aio)
