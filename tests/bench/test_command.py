from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import anyio
import pytest

from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.envtest.handlers.call import Call
from kinformer.models import V1Pod, V1Service, from_dict
from tests.cli.commands import kinformer, running
from tests.cli.test_commands import write_kubeconfig


async def test_a_benchmark_prints_a_table_and_writes_figures_with_their_origin(tmp_path: Path) -> None:
    file = tmp_path / "results.json"

    done = await kinformer("bench", "raw", "sync", "--quick", "--json", file)

    assert (done.status, done.err) == (0, "")
    assert "sync: First sync of so many pods" in done.out
    assert "typed, metadata read" in done.out
    found = json.loads(file.read_text())
    assert {"machine", "memory", "load", "python", "date", "versions"} <= found["environment"].keys()
    assert f"{found['environment']['memory']}, load {found['environment']['load']}" in done.out
    assert "msgspec" in found["environment"]["versions"]
    assert list(found["tables"]) == ["raw", "sync"]
    (row,) = found["tables"]["sync"]["rows"]
    assert row["label"] == "typed, metadata read"
    assert row["figures"].keys() == {"seconds", "CPU seconds", "of them system", "KiB/object", "peak / stays"}


async def test_each_runs_as_often_as_asked_and_shows_median_and_spread(tmp_path: Path) -> None:
    file = tmp_path / "results.json"

    done = await kinformer("bench", "fresh", "--quick", "--repeat", 3, "--json", file)

    assert (done.status, done.err) == (0, "")
    assert "spread %" in done.out
    table = json.loads(file.read_text())["tables"]["fresh"]
    assert "the middle one of 3 runs" in table["measured"]
    (row,) = table["rows"]
    seconds = sorted(run["seconds"] for run in row["runs"])
    assert row["figures"]["seconds"] == seconds[1]
    assert row["figures"]["spread %"] == round((seconds[2] - seconds[0]) / seconds[1] * 100, 1)


@pytest.mark.skipif(importlib.util.find_spec("pygal") is None, reason="pygal is an extra")
async def test_charts_are_svg(tmp_path: Path) -> None:
    done = await kinformer("bench", "raw", "--quick", "--charts", tmp_path / "charts")

    assert (done.status, done.err) == (0, "")
    assert (tmp_path / "charts" / "raw.svg").read_text().startswith("<svg")


@pytest.mark.skipif(importlib.util.find_spec("pygal") is not None, reason="pygal is there")
async def test_without_pygal_charts_are_one_line_that_says_what_to_install(tmp_path: Path) -> None:
    done = await kinformer("bench", "raw", "--quick", "--charts", tmp_path / "charts")

    assert (done.status, done.out) == (1, "")
    assert "pip install 'kinformer[bench]'" in done.err
    assert done.err.count("\n") == 1


async def test_an_unknown_benchmark_is_one_line_that_says_which_there_are() -> None:
    done = await kinformer("bench", "raw", "thruput")

    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("kinformer: there is no benchmark 'thruput'; there are raw, throughput,")
    assert done.err.count("\n") == 1


async def test_a_file_that_cannot_be_written_is_known_before_anything_is_measured() -> None:
    done = await kinformer("bench", "raw", "--quick", "--json", "/no/such/folder/results.json")

    assert (done.status, done.out) == (1, "")
    assert done.err == "kinformer: /no/such/folder/results.json: No such file or directory\n"


@pytest.mark.skipif(importlib.util.find_spec("uvloop") is not None, reason="uvloop is there")
async def test_without_uvloop_it_is_one_line_that_says_what_to_install() -> None:
    done = await kinformer("bench", "raw", "--uvloop")

    assert (done.status, done.err) == (1, "kinformer: uvloop is not installed: pip install 'kinformer[uvloop]'\n")


async def test_an_informer_of_a_cluster_is_measured_without_writing_there(tmp_path: Path) -> None:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        pods = client.resource(V1Pod)
        for name in ("a", "b", "c"):
            spec = {"containers": [{"name": "c", "image": "i"}]}
            await pods.create(from_dict(V1Pod, {"metadata": {"name": name, "namespace": "default"}, "spec": spec}))
        await client.resource(V1Service).create(
            from_dict(
                V1Service,
                {
                    "metadata": {"name": "s", "namespace": "default"},
                    "spec": {"ports": [{"port": 80}], "selector": {"app": "a"}},
                },
            )
        )
        server.write_kubeconfig(tmp_path / "kubeconfig")
        before = server.storage.version

        arguments = ("--kubeconfig", tmp_path / "kubeconfig", "--seconds", 0.2, "--json", tmp_path / "results.json")
        arguments += ("--repeat", 2)
        done = await kinformer("bench", *arguments)

        assert (done.status, done.err) == (0, "")
        assert f"{server.url} (v1.36" in done.out
        assert server.storage.version == before
    tables = json.loads((tmp_path / "results.json").read_text())["tables"]
    (row,) = tables["cluster"]["rows"]
    assert row["figures"]["objects"] == 3
    assert row["figures"]["events"] == 0
    assert row["figures"]["first sync s"] > 0

    (start,) = tables["start"]["rows"]
    assert len(start["runs"]) == 2
    # Three pods, and a Service whose key was queued and dropped, without anything being written for it.
    assert start["figures"]["objects"] >= 4
    assert start["figures"]["keys"] >= 2
    assert start["figures"]["CPU seconds"] > start["figures"]["of them imports"] > 0


async def test_a_run_ends_with_the_command_that_waits_for_it(tmp_path: Path) -> None:
    async with ApiServer() as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        watched = anyio.Event()

        def look(call: Call) -> bool:
            if call.verb == "watch":
                watched.set()
            return False

        server.faults.delay(0, matching=look)
        async with running("bench", "--kubeconfig", tmp_path / "kubeconfig", "--seconds", 900) as process:
            with anyio.fail_after(60):
                await watched.wait()
                process.kill()
                # The run has this stream, too. So it is closed when both have ended.
                await process.stdout.rest()


async def test_a_manager_that_may_not_read_what_it_needs_is_no_start(tmp_path: Path) -> None:
    async with ApiServer() as server:
        server.faults.refuse(403, times=1000, matching=lambda call: "endpointslices" in str(call))
        server.write_kubeconfig(tmp_path / "kubeconfig")

        done = await kinformer("bench", "--kubeconfig", tmp_path / "kubeconfig", "--seconds", 0.1, "--repeat", 1)

    assert done.status == 1
    assert "endpointslices" in done.err


async def test_a_cluster_that_cannot_be_reached_is_one_line_that_names_it(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1")

    done = await kinformer("bench", "--kubeconfig", kubeconfig)

    assert done.status == 1
    assert done.err.endswith("cannot reach the server at http://127.0.0.1:1: Connection refused\n")
    assert done.err.count("\n") == 1


async def test_a_cluster_and_names_do_not_go_together(tmp_path: Path) -> None:
    done = await kinformer("bench", "raw", "--kubeconfig", tmp_path / "kubeconfig")

    assert done.status == 1
    assert "leave out the names" in done.err
