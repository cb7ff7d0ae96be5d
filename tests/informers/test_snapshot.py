from __future__ import annotations

import stat
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from structlog.testing import capture_logs

from kinformer.cache import (
    DeletedFinalStateUnknown,
    InformerOptions,
    ProcessorListener,
    SharedIndexInformer,
    catching_up,
)
from kinformer.cache.feeds import Feed
from kinformer.client import Client, connect
from kinformer.clock import Clock, RealClock
from kinformer.envtest import ApiServer, eventually, running
from kinformer.informers import SharedInformerFactory, Snapshot
from kinformer.informers.snapshot import SnapshotKeeper
from kinformer.informers.snapshot_file import SnapshotFile
from kinformer.manager import Controller
from kinformer.models import (
    PartialObjectMetadata,
    V1ConfigMap,
    V1Namespace,
    V1Secret,
    _compressed,
    _compression,
    complete,
    compression_of,
    encode,
    from_dict,
)


class Named(msgspec.Struct):
    name: str
    namespace: str = ""
    resource_version: str = msgspec.field(default="", name="resourceVersion")


class Lean(msgspec.Struct):
    metadata: Named


def config_map(name: str, colour: str = "red", namespace: str = "default") -> V1ConfigMap:
    return from_dict(V1ConfigMap, {"metadata": {"name": name, "namespace": namespace}, "data": {"colour": colour}})


def without_colour(obj: V1ConfigMap) -> V1ConfigMap:
    obj.data = None
    return obj


class Told:
    """A handler that remembers the names and colours that it was called with."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def on_add(self, obj: V1ConfigMap, is_in_initial_list: bool, /) -> None:
        self.calls.append(f"{'initial ' if is_in_initial_list else ''}add {short(obj)}")

    def on_update(self, old: V1ConfigMap, new: V1ConfigMap, /) -> None:
        self.calls.append(f"update {short(old)} to {short(new)}")

    def on_delete(self, obj: Any, /) -> None:
        gone = isinstance(obj, DeletedFinalStateUnknown)
        self.calls.append(f"delete {'?' if gone else ''}{short(obj.obj if gone else obj)}")


def short(obj: V1ConfigMap | None) -> str:
    assert obj is not None
    assert obj.metadata is not None
    return f"{obj.metadata.name} {(obj.data or {}).get('colour')}"


class Process:
    """One process with an informer, and what its handler was called with."""

    def __init__(self, factory: SharedInformerFactory, informer: SharedIndexInformer[Any], logs: list[Any]) -> None:
        self.factory = factory
        self.informer = informer
        self.logs = logs
        self.told = Told()
        self.registration: ProcessorListener[Any] = informer.add_event_handler(self.told)

    async def calls(self, client: Client) -> list[str]:
        """The handler's calls up to now, each once it has been made."""
        written = await client.resource(V1ConfigMap).create(config_map("last"))
        await self.registration.wait_for_version(written.metadata.resource_version, namespace="default")
        await client.resource(V1ConfigMap).delete("last", "default")
        return [call for call in self.told.calls if "last" not in call]

    @property
    def why_not(self) -> list[str]:
        """The lines of the log that say why the snapshot was not used."""
        return [str(line["reason"]) for line in self.logs if line["event"] == "snapshot_not_used"]


@asynccontextmanager
async def process(
    client: Client, path: Path | Snapshot, type_: type[Any] = V1ConfigMap, **options: Any
) -> AsyncIterator[Process]:
    with capture_logs() as logs:
        async with SharedInformerFactory(client, snapshot=path, **options) as informers:
            informer = (
                informers.informer_for(type_, V1ConfigMap, kind="ConfigMap")
                if type_ is not dict
                else (informers.informer_for(dict, ("", "v1", "configmaps"), kind="ConfigMap"))
            )
            running = Process(informers, informer, logs)
            informers.start()
            await informers.wait_for_cache_sync(timeout=60)
            yield running


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server:
        yield server


@pytest.fixture
async def client(server: ApiServer) -> AsyncIterator[Client]:
    async with connect(url=server.url, token=server.token) as client:
        for name in ("changes", "goes", "stays"):
            await client.resource(V1ConfigMap).create(config_map(name))
        yield client


@pytest.fixture(autouse=True)
def busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server may take longer than a second to say at the end which cluster it is of."""
    monkeypatch.setattr("kinformer.informers.snapshot._LAST_ASK", 60.0)


@pytest.fixture
async def path(client: Client, tmp_path: Path) -> Path:
    """The file that a first process has left."""
    path = tmp_path / "caches"
    async with process(client, path):
        pass
    return path


async def change(client: Client) -> None:
    """What happens while no process runs."""
    maps = client.resource(V1ConfigMap)
    await maps.patch("changes", {"data": {"colour": "blue"}}, "default")
    await maps.delete("goes", "default")
    await maps.create(config_map("comes"))


BEFORE = ["initial add changes red", "initial add goes red", "initial add stays red"]
AFTER = ["initial add changes blue", "initial add comes red", "initial add stays red"]


async def test_the_next_process_is_told_the_caches_and_then_the_changes(client: Client, path: Path) -> None:
    await change(client)

    async with process(client, path) as second:
        assert await second.calls(client) == [
            *BEFORE,
            "update changes red to changes blue",
            "delete goes red",
            "add comes red",
        ]
        assert second.informer.lists == 0
        late = Told()
        second.informer.add_event_handler(late)
        await eventually(lambda: set(AFTER) <= set(late.calls))


async def test_after_a_compaction_only_the_differences_to_the_list_are_told(
    server: ApiServer, client: Client, path: Path
) -> None:
    await change(client)
    server.faults.compact()

    async with process(client, path) as second:
        calls = await second.calls(client)
        assert calls[:3] == BEFORE
        assert sorted(calls[3:]) == ["add comes red", "delete ?goes red", "update changes red to changes blue"]
        assert second.informer.lists == 1
        assert [line["event"] for line in second.logs].count("snapshot_too_old") == 1


def flipped(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def cut(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: flipped(path, 200), "it is damaged at byte 12"),
        (lambda path: flipped(path, -100), "its index is damaged"),
        (lambda path: flipped(path, 11), "it has format 0: want 1"),
        (lambda path: flipped(path, 0), "it is no snapshot"),
        (lambda path: cut(path, -1), "it is cut off"),
        (lambda path: cut(path, 0), "it is cut off"),
    ],
)
async def test_a_damaged_file_costs_a_line_and_a_list(
    client: Client, path: Path, damage: Callable[[Path], None], reason: str
) -> None:
    await change(client)
    damage(path)

    async with process(client, path) as second:
        assert sorted(await second.calls(client)) == AFTER
        assert second.informer.lists == 1
        assert second.why_not == [reason]


async def test_a_file_of_another_cluster_is_not_used(path: Path) -> None:
    async with (
        ApiServer() as other,
        connect(url=other.url, token=other.token) as client,
        process(client, path) as second,
    ):
        assert second.informer.indexer.list() == []
        assert second.why_not == ["it is of another cluster"]


async def test_a_file_from_the_future_of_a_restored_cluster_is_not_used(
    client: Client, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinformer.informers.snapshot.is_older", lambda version, than: int(version) - 100 < int(than))

    async with process(client, path) as second:
        assert second.informer.lists == 1
        assert "is newer than the cluster's" in second.why_not[0]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"label_selector": "app=web"}, "it was made with another selection"),
        ({"namespaces": ["default", "web"]}, "it was made with another selection"),
        ({"transform": without_colour}, "it was made with another transform"),
        ({"informer_options": InformerOptions(keep_managed_fields=True)}, "it was made with another options"),
        ({"type_": Lean}, "it was made with another type"),
    ],
)
async def test_a_file_with_other_objects_is_not_used(
    client: Client, path: Path, options: dict[str, Any], reason: str
) -> None:
    async with process(client, path, **options) as second:
        assert second.why_not == [reason]


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("type_", [V1ConfigMap, Lean, dict, PartialObjectMetadata])
async def test_objects_of_every_type_are_the_same_from_a_file(
    client: Client, tmp_path: Path, type_: type[Any], eager: bool
) -> None:
    options = {"informer_options": InformerOptions(eager=eager, keep_managed_fields=True)}
    async with process(client, tmp_path / "caches", type_, **options) as first:
        listed = first.informer.indexer.objects
        complete(listed["default/goes"])  # decoded parts are kept as well as bytes

    async with process(client, tmp_path / "caches", type_, **options) as second:
        assert second.informer.lists == 0
        assert dict(second.informer.indexer.objects) == dict(listed)
        assert [encode(obj) for obj in second.informer.indexer.list()] == [encode(obj) for obj in listed.values()]
        assert len(second.informer.indexer.by_index("namespace", "default")) == len(listed)


def texts(first: int, count: int) -> list[V1ConfigMap]:
    """ConfigMaps that are alike and long enough to be compressed."""
    lines = " ".join(f"option-{number}: value-{number};" for number in range(40))
    return [
        from_dict(
            V1ConfigMap, {"metadata": {"name": f"{n}", "namespace": "default"}, "data": {"colour": f"{n} {lines}"}}
        )
        for n in range(first, first + count)
    ]


def forget_dictionaries(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the start of a process."""
    for number in list(_compressed.dictionaries):
        monkeypatch.delitem(_compressed.dictionaries, number)
    _compression._compression_of.cache_clear()


@pytest.mark.parametrize("compress", [True, False])
async def test_compressed_parts_can_be_read_by_the_next_process(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compress: bool
) -> None:
    for obj in texts(100, 220):
        await client.resource(V1ConfigMap).create(obj)
    forget_dictionaries(monkeypatch)
    path = tmp_path / "caches"
    async with process(client, path, informer_options=InformerOptions(compress=True)) as first:
        listed = {key: encode(obj) for key, obj in first.informer.indexer.objects.items()}
    forget_dictionaries(monkeypatch)

    async with process(client, path, informer_options=InformerOptions(compress=compress)) as second:
        assert second.informer.lists == 0
        assert {key: encode(obj) for key, obj in second.informer.indexer.objects.items()} == listed
        assert len(compression_of(V1ConfigMap).dictionaries) == 1

    forget_dictionaries(monkeypatch)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    async with process(client, path) as third:
        assert third.informer.lists == 1
        assert third.why_not == [
            "its parts are compressed: compression needs the package `zstandard`: pip install 'kinformer[zstd]'"
        ]


async def test_each_of_several_namespaces_goes_on_from_its_own_version(client: Client, tmp_path: Path) -> None:
    options: dict[str, Any] = {"namespaces": ["default", "kube-system"]}
    async with process(client, tmp_path / "caches", **options):
        pass
    await client.resource(V1ConfigMap).create(config_map("comes", namespace="kube-system"))
    await change(client)

    async with process(client, tmp_path / "caches", **options) as second:
        assert set(await second.calls(client)) > {"delete goes red", "add comes red", "initial add goes red"}
        assert second.informer.lists == 0


async def test_an_informer_that_stores_changes_is_not_left_out(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, path = ["V1ConfigMap"], tmp_path / "caches"
    state = SharedIndexInformer.state

    def busy_at_first(informer: SharedIndexInformer[Any]) -> Any:
        if informer.type.__name__ in busy:
            busy.remove(informer.type.__name__)
            return None
        return state(informer)

    monkeypatch.setattr(SharedIndexInformer, "state", busy_at_first)
    keeper = SnapshotKeeper(Snapshot(path=path, interval=0.001), client, RealClock())
    async with SharedInformerFactory(client) as informers, anyio.create_task_group() as tasks:
        every = [informers.informer_for(type_) for type_ in (V1ConfigMap, V1Namespace)]
        informers.start()
        await informers.wait_for_cache_sync(timeout=60)
        tasks.start_soon(keeper.run, lambda: every)
        await eventually(path.exists)
        kept = SnapshotFile(path, dict[str, Any]).index["informers"]
        tasks.cancel_scope.cancel()

    assert len(kept) == 2


async def test_a_controller_catches_up_with_all_its_caches_at_once(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, both = list[str](), anyio.Event()

    async def catch_up(feed: Feed[Any], clock: Clock) -> None:
        begun.append(feed.name)
        if len(begun) == 2:
            both.set()
        await both.wait()

    async def sync(key: str) -> None:
        pass

    monkeypatch.setattr(catching_up, "catch_up_with_server", catch_up)
    for _ in range(2):
        controller = Controller("idle", sync)
        async with SharedInformerFactory(client, snapshot=tmp_path / "caches") as informers:
            controller.watch(informers.informer_for(V1ConfigMap)).watch(informers.informer_for(V1Namespace))
            informers.start()
            with anyio.fail_after(60):
                async with running(controller):
                    await controller.started.wait()

    assert len(begun) == 2


class Trimmer:
    def trim(self, obj: V1ConfigMap) -> V1ConfigMap:
        return obj


async def test_the_log_says_why_an_informer_is_not_kept(client: Client, tmp_path: Path) -> None:
    async with process(client, tmp_path / "caches", transform=Trimmer().trim) as only:
        lines = [line["reason"] for line in only.logs if line["event"] == "informer_not_in_snapshot"]

    assert lines == ["its transform depends on more than code"]


@pytest.mark.parametrize("given", [True, {"path": "caches"}, Snapshot])
async def test_something_else_than_a_path_is_refused_as_a_snapshot(client: Client, given: Any) -> None:
    with pytest.raises(TypeError, match=r"the snapshot of an informer factory is .*: want the path of a file"):
        SharedInformerFactory(client, snapshot=given)


@pytest.mark.parametrize("settings", [{"path": None}, {"path": ""}, {"path": "caches", "interval": "60"}])
def test_wrong_settings_of_a_snapshot_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=r"the (path|interval) of a snapshot is"):
        Snapshot(**settings)


async def test_secrets_are_kept_only_if_that_is_asked_for(client: Client, tmp_path: Path) -> None:
    secret = from_dict(V1Secret, {"metadata": {"name": "a", "namespace": "default"}, "data": {"key": "aHVzaA=="}})
    await client.resource(V1Secret).create(secret)
    for kept in (False, True):
        path = tmp_path / str(kept)
        for _ in range(2):
            async with SharedInformerFactory(client, snapshot=Snapshot(path=path, secrets=kept)) as informers:
                maps, secrets = informers.informer_for(V1ConfigMap), informers.informer_for(V1Secret)
                informers.start()
                await informers.wait_for_cache_sync(timeout=60)

        assert (maps.lists, secrets.lists) == (0, 0 if kept else 1)
        assert (b"aHVzaA==" in path.read_bytes()) is kept
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
