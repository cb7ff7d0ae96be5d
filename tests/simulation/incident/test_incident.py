"""An incident from its recording to the test that a user keeps, in simulated worlds."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from kinformer.manager import Controller, ControllerContext, RequeueAfter
from kinformer.models import V1ConfigMap, V1Pod, V1Secret
from kinformer.recording import Recording, RecordingUnusable, read_recording
from kinformer.recording.entries import Ended
from kinformer.simulation import Faults, Plan, World, WorldOptions, run_world
from kinformer.simulation.incident import Replay, replay_recording
from kinformer.simulation.incident.keeping import keep_as_test, wrongs
from kinformer.simulation.incident.tape import Tape
from tests.simulation.incident.shops import BROKEN, MENDED, SHOP, broken, mended, record, recorded_by

#: A seed with which the second pod is made before the cache shows the first one.
INCIDENT = "seed=25"
POST = "POST /api/v1/namespaces/default/pods"

Factory = Callable[[ControllerContext], Controller]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shops.rec"


@pytest.fixture
def incident(path: Path) -> Path:
    result = record(path, INCIDENT)
    assert sum(name.startswith("pods/") for name in result.final_state) == 2, "the bug shows"
    return path


def texts(replay: Replay) -> list[str]:
    return [f"{it.kind}: {it.text}" for it in replay.differences]


def test_the_replay_makes_the_same_wrong_request(incident: Path) -> None:
    replay = replay_recording(incident, broken)

    assert texts(replay) == []
    assert [run.requests for run in replay.syncs] == [[POST], [POST], [], []]


def test_the_replay_of_the_mended_controller_differs_in_the_wrong_request(incident: Path) -> None:
    replay = replay_recording(incident, mended)

    assert texts(replay) == [f"request: sent {POST} (201), and does not send it"]
    assert replay.differences[0].sync == 2
    assert replay.sync(1).requests == ["GET /api/v1/namespaces/default/pods", POST]
    assert replay.sync(2).requests == ["GET /api/v1/namespaces/default/pods"]


def test_a_replay_is_the_same_each_time(incident: Path) -> None:
    first, second = (replay_recording(incident, mended) for _ in range(2))

    assert first.differences == second.differences
    assert [(run.at, run.requests) for run in first.syncs] == [(run.at, run.requests) for run in second.syncs]


def test_the_controllers_of_the_recording_are_used_if_none_is_named(incident: Path) -> None:
    assert replay_recording(incident).is_same


#: The server restarts without its history, or hides an event: informers wait for a random time, and list again.
LISTED_AGAIN = (14, 21)


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("seed", [*range(4), *LISTED_AGAIN])
def test_unchanged_controllers_replay_any_run_without_a_difference(seed: int, path: Path, *, streams: bool) -> None:
    recording = Recording(path=path)
    names = ["deployment", "replicaset"]

    async def scenario(world: World) -> None:
        world.program(recorded_by(recording, names, streams=streams), "manager")
        await world.settled()
        await world.apply(deployment("web:1", 3))
        await world.settled()
        await world.apply(deployment("web:2", 2))
        await world.settled()

    result = run_world(scenario, Plan(seed), faults=Faults(most=4), options=WorldOptions(nodes=2))
    assert result.errors == []

    for file in sorted(path.parent.glob("shops.rec*")):  # one for each life of the process
        assert texts(replay_recording(file, names)) == []
        assert len(replay_recording(file, names).syncs) == len(Tape(read_recording(file)).syncs)


def deployment(image: str, replicas: int) -> dict[str, Any]:
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": image}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod}
    metadata = {"name": "web", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def test_a_window_that_begins_later_has_the_caches_of_that_moment(path: Path) -> None:
    recording = Recording(path=path, minutes=0.5)

    async def scenario(world: World) -> None:
        world.program(recorded_by(recording, reports), "manager")
        await world.apply(SHOP, {**SHOP, "metadata": {"name": "other", "labels": {"shop": "yes"}}})
        await world.sleep(200)
        await world.apply({**SHOP, "data": {"text": "late"}})
        await world.sleep(2)

    run_world(scenario, Plan())
    replay = replay_recording(path, reports)

    assert not replay.begins_with_process
    assert replay.seconds < 60
    assert texts(replay) == []
    assert [run.key for run in replay.syncs] == ["default/corner"]
    # It read the other shop from a cache that was filled before the window.
    assert replay.syncs[0].requests == ["PATCH /api/v1/namespaces/default/configmaps/other"]


def reports(context: ControllerContext) -> Controller:
    """Each shop writes what it has seen into all others that do not have it."""
    shops = context.informers.informer_for(V1ConfigMap)
    maps = context.client.resource(V1ConfigMap)

    async def sync(key: str) -> None:
        shop = shops.indexer.get_by_key(key)
        text = shop.data["text"] if shop is not None else ""
        for other in shops.indexer.list():
            if other.metadata.labels and not _is_corner(other) and (other.data or {}).get("seen") != text:
                await maps.patch(other.metadata.name, {"data": {"seen": text}}, "default")

    return Controller("shops", sync, clock=context.clock).watch(shops, lambda old, new: _is_corner(new or old))


def _is_corner(shop: V1ConfigMap | None) -> bool:
    return shop is not None and shop.metadata.name == "corner"


def failing(context: ControllerContext) -> Controller:
    """Its create is refused, because it gives the pod a name that is taken."""
    shops, pods = context.informers.informer_for(V1ConfigMap), context.client.resource(V1Pod)

    async def sync(key: str) -> None:
        pod = {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "web", "image": "web"}]}}
        await pods.create(pod, "default")

    return Controller("shops", sync, clock=context.clock).watch(shops, _has_label)


def _has_label(old: V1ConfigMap | None, new: V1ConfigMap | None) -> bool:
    shop = new or old
    return shop is not None and bool(shop.metadata.labels)


def patient(context: ControllerContext) -> Controller:
    """It sends another body, waits, and asks to be called again."""
    shops, pods = context.informers.informer_for(V1ConfigMap), context.client.resource(V1Pod)

    async def sync(key: str) -> RequeueAfter:
        pod = {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "web", "image": "other"}]}}
        if key.endswith("corner"):
            await pods.create(pod, "default")
        return RequeueAfter(3600)

    return Controller("shops", sync, clock=context.clock).watch(shops, _has_label)


def recorded(path: Path, factory: Factory, *shops: str) -> Path:
    async def scenario(world: World) -> None:
        world.program(recorded_by(Recording(path=path), factory), "manager")
        for name in shops:
            await world.apply({**SHOP, "metadata": {"name": name, "namespace": "default", "labels": {"shop": "yes"}}})
            await world.sleep(20)

    run_world(scenario, Plan())
    return path


def test_another_body_and_another_result_are_shown(path: Path) -> None:
    replay = replay_recording(recorded(path, failing, "corner"), patient)

    assert texts(replay)[:2] == [
        f'body: {POST}: spec.containers[0].image was "web", and is "other"',
        "result: ended with success, and ends with again in 3600 s",
    ]


def test_a_recorded_error_is_raised_again_and_becomes_a_test(path: Path) -> None:
    file = recorded(path, failing, "corner", "other")
    replay = replay_recording(file, failing)

    assert texts(replay) == []
    failed = [run for run in replay.syncs if run.error]
    assert {run.key for run in failed} == {"default/other"}
    assert all(run.error.startswith("AlreadyExists: ") for run in failed)
    found = wrongs(replay.recorded, "*", (), "")
    assert {(wrong.sync.began.key, wrong.request) for wrong in found} == {("default/other", POST)}


def test_the_test_that_is_kept_fails_until_the_controller_is_mended(incident: Path) -> None:
    tape = Tape(read_recording(incident))
    test = incident.with_name("test_incident.py")

    keep_as_test(test, tape, [BROKEN], wrongs(tape.syncs.values(), "*", [2], "POST */pods"))

    with pytest.raises(AssertionError):
        run_kept(test)
    test.write_text(test.read_text().replace(BROKEN, MENDED))
    run_kept(test)


def run_kept(test: Path) -> None:
    names: dict[str, Any] = {"__file__": str(test)}
    exec(compile(test.read_text(), str(test), "exec"), names)
    names["test_the_incident_does_not_happen_again"]()


@pytest.mark.parametrize("name", ["test_incident.py", "test_incident.rec"])
def test_a_kept_test_never_replaces_a_file(incident: Path, name: str) -> None:
    tape = Tape(read_recording(incident))
    there = incident.with_name(name)
    there.write_text("mine")

    with pytest.raises(FileExistsError, match=name):
        keep_as_test(incident.with_name("test_incident.py"), tape, [BROKEN], [])

    assert there.read_text() == "mine"
    assert {it.name for it in incident.parent.iterdir()} == {incident.name, name}


def raising(context: ControllerContext) -> Controller:
    """Its errors look like code on a line of its own."""
    maps = context.informers.informer_for(V1ConfigMap)

    async def sync(key: str) -> None:
        raise RuntimeError("refused\r    raise SystemExit\0\u2028")

    return Controller("raising", sync, clock=context.clock).watch(maps)


def test_a_kept_test_is_python_whatever_the_error_and_the_request_are(path: Path) -> None:
    tape = Tape(read_recording(recorded(path, raising, "corner")))
    found = wrongs(tape.syncs.values(), "*", (), "")
    long = replace(found[0], request=f"DELETE /api/v1/namespaces/{'n' * 63}/pods/{'p' * 253}")
    test = path.with_name("test_incident.py")

    keep_as_test(test, tape, [], [*found, long])

    assert all(line.strip().startswith("assert ") for line in test.read_text().split("-> None:")[1].split("\n")[2:-1])
    compile(test.read_text(), str(test), "exec")


def test_it_is_known_whether_a_kept_test_fails(incident: Path) -> None:
    tape = Tape(read_recording(incident))
    (wrong,) = wrongs(tape.syncs.values(), "*", [2], "POST */pods")

    assert wrong.happens_in(replay_recording(incident, broken))
    assert not wrong.happens_in(replay_recording(incident, mended))


def secretive(context: ControllerContext) -> Controller:
    """It copies a Secret, and changes it, and reads it."""
    secrets = context.informers.informer_for(V1Secret)
    resource = context.client.resource(V1Secret)

    async def sync(key: str) -> None:
        secret = secrets.indexer.get_by_key(key)
        if secret is None or key != "default/key":
            return
        await resource.create({"metadata": {"name": "copy"}, "data": secret.data}, "default")
        await resource.patch("copy", {"data": {"other": secret.data["password"]}}, "default")
        assert (await resource.get("copy", "default")).data["other"]

    return Controller("secrets", sync, clock=context.clock).watch(secrets)


def test_nothing_of_a_secret_is_in_a_file_that_replays(path: Path) -> None:
    password = "hunter2-of-the-shop"
    encoded = base64.b64encode(password.encode()).decode()
    applied = json.dumps({"data": {"password": encoded}})
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": applied}
    metadata = {"name": "key", "namespace": "default", "annotations": annotations}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"password": encoded}}

    async def scenario(world: World) -> None:
        world.program(recorded_by(Recording(path=path, minutes=0.5), secretive), "manager")
        await world.sleep(1)
        await world.apply(secret)
        await world.sleep(60)  # until a segment begins with the cache

    run_world(scenario, Plan())
    assert len(list(path.parent.iterdir())) > 1

    for file in path.parent.iterdir():
        tape = read_recording(file)
        everything = repr((tape.begin, tape.entries))
        assert password not in everything
        assert encoded not in everything
        assert file.read_bytes().find(encoded.encode()) < 0
    assert texts(replay_recording(path, secretive)) == []


def test_a_recording_without_controllers_or_with_unknown_ones_is_an_error(incident: Path) -> None:
    tape = read_recording(incident)
    tape.begin.controllers = []

    from kinformer.simulation.incident.replaying import replay_tape

    with pytest.raises(RecordingUnusable, match="does not say which controllers ran: name them"):
        replay_tape(Tape(tape))


def test_a_sync_that_never_ends_is_shown(path: Path) -> None:
    def stuck(context: ControllerContext) -> Controller:
        made = deepcopy(failing)(context)
        made.wrap_sync(lambda sync: lambda key: anyio.sleep_forever())
        return made

    file = recorded(path, failing, "corner")
    assert any(isinstance(entry, Ended) for entry in read_recording(file).entries)

    assert "result: ended with success, and has not ended" in texts(replay_recording(file, stuck))
