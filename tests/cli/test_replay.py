"""``kinformer manager --record`` and ``kinformer simulate replay``: what they print, and what they say of mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import anyio.to_thread
import pytest
from click.testing import CliRunner

from kinformer.cli.command import main
from kinformer.cli.simulate import FOUND
from kinformer.envtest import ApiServer
from kinformer.recording import read_recording
from kinformer.recording.entries import Asked
from tests.cli.commands import Done, kinformer, output_until, running
from tests.simulation.incident.shops import BROKEN, MENDED, record

REPOSITORY = str(Path(__file__).parents[2])
POST = "POST /api/v1/namespaces/default/pods"


@pytest.fixture
async def incident(tmp_path: Path) -> Path:
    path = tmp_path / "shops.rec"
    await anyio.to_thread.run_sync(record, path, "seed=25")
    return path


async def replay(*arguments: object) -> Done:
    return await kinformer("simulate", "replay", *arguments, PYTHONPATH=REPOSITORY)


async def test_the_same_controllers_do_the_same(incident: Path) -> None:
    done = await replay(incident, BROKEN)

    assert (done.status, done.err) == (0, "")
    assert "4 recorded syncs in 60.0 seconds, of which 0 failed. 4 were replayed.\nNothing differs." in done.out


async def test_a_mended_controller_is_shown_where_it_differs(incident: Path) -> None:
    done = await replay(incident, MENDED)

    assert done.status == FOUND, done.err
    assert "1 difference. " in done.out
    assert f"shops default/corner: sent {POST} (201), and does not send it" in done.out
    assert (
        f"sync 2 of shops default/corner for configmaps default/corner updated: success\n    {POST} -> 201" in done.out
    )


async def test_differences_are_shown_as_json(incident: Path) -> None:
    done = await replay(incident, MENDED, "-o", "json", "--key", "default/*")

    (found,) = json.loads(done.out)["differences"]
    assert (found["sync"], found["kind"], found["key"]) == (2, "request", "default/corner")


async def test_a_key_without_syncs_is_not_said_to_be_the_same(incident: Path) -> None:
    done = await replay(incident, BROKEN, "--key", "default/nowhere")

    assert (done.status, done.out) == (1, "")
    assert done.err == (
        f"kinformer: {incident} has no sync of default/nowhere of these controllers: nothing can be compared\n"
    )


async def test_one_command_makes_a_test(incident: Path, tmp_path: Path) -> None:
    test = tmp_path / "test_incident.py"

    done = await replay(incident, BROKEN, "--wrong", "POST */pods", "--sync", 2, "--test", test)
    again = await replay(incident, BROKEN, "--wrong", "POST */pods", "--test", test)

    assert done.status == 0, done.err
    assert f'assert "{POST}" not in replay.sync(2).requests' in test.read_text()
    assert f"{test.with_suffix('.rec')} are written. The test fails until the controller is mended" in done.out
    assert (again.status, again.err) == (1, f"kinformer: {test}: File exists\n")


async def test_a_test_that_passes_already_is_called_so(incident: Path, tmp_path: Path) -> None:
    test = tmp_path / "test_incident.py"

    done = await replay(incident, MENDED, "--wrong", "POST */pods", "--sync", 2, "--test", test)

    assert "The test passes: these controllers do not do it again" in done.out


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--test", "boards.rec"), "boards.rec is no name of a test: want one that ends with .py"),
        (("--test", "test_none.py"), "no recorded sync of * failed: name the wrong request"),
        (("no.such:thing",), "no.such:thing: there is no module no"),
    ],
)
async def test_a_mistake_is_one_line(incident: Path, options: tuple[str, ...], text: str) -> None:
    done = await replay(incident, *options) if ":" in options[0] else await replay(incident, BROKEN, *options)

    assert done.status == 1
    assert text in done.err
    assert done.err.count("\n") == 1


async def test_a_file_that_is_no_recording_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("hello")

    done = await replay(tmp_path / "notes")

    assert (done.status, done.err) == (1, f"kinformer: {tmp_path / 'notes'} is no recording\n")


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--shards", "64"), "--record: a recording is of a process that has all keys: leave out --shards"),
        (("--contexts", "one"), "--record: a recording is of one cluster: give --context in place of --contexts"),
    ],
)
def test_what_cannot_be_recorded_is_refused(flags: tuple[str, ...], text: str) -> None:
    done = CliRunner().invoke(main, ["manager", "--controllers", BROKEN, "--record", "x.rec", *flags])

    assert done.exit_code == 1
    assert text in done.stderr


async def test_a_manager_records_its_watches(tmp_path: Path) -> None:
    file = tmp_path / "maps.rec"
    async with ApiServer() as server:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig())
        flags = ["--kubeconfig", kubeconfig, "--controllers", "replicaset", "--beside-kube-controller-manager"]
        async with running("manager", *flags, "--record", file) as process:
            await output_until(process, "controller_started")
            process.terminate()
            await process.wait()

    found = read_recording(file)
    assert found.begin.controllers == ["replicaset"]
    assert {it.path for it in found.entries if isinstance(it, Asked)} >= {"/api/v1/pods", "/apis/apps/v1/replicasets"}


async def test_a_place_that_cannot_be_written_ends_the_manager_with_one_line(tmp_path: Path) -> None:
    async with ApiServer() as server:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig())
        flags = ["--kubeconfig", kubeconfig, "--controllers", BROKEN, "--record", tmp_path]
        done = await kinformer("manager", *flags, PYTHONPATH=REPOSITORY)

    assert done.status == 1
    assert done.err.endswith(f"kinformer: cannot record to {tmp_path}: Is a directory\n")
