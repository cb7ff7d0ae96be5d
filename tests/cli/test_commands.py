from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
import yaml

from kinformer.cli.manager import _informer_options
from kinformer.cli.manifests import apply_manifests, read_manifests
from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.manager import OptionError
from kinformer.models import (
    V1ClusterRole,
    V1ClusterRoleBinding,
    V1ConfigMap,
    V1Lease,
    V1LeaseSpec,
    V1Namespace,
    V1ObjectMeta,
    V1Pod,
    V1ReplicationController,
    from_dict,
)
from tests.cli.commands import kinformer, output_until, running
from tests.cli.test_contexts import OPERATOR


def write_kubeconfig(path: Path, url: str, token: str = "x") -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(yaml.safe_dump(config))
    return path


def controller_of(replicas: int) -> V1ReplicationController:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return from_dict(
        V1ReplicationController,
        {"metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": replicas, "template": template}},
    )


# --- apiserver


async def test_the_kubeconfig_of_apiserver_is_complete_once_it_says_that_it_serves(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    async with running("apiserver", "--port", 0, "--kubeconfig-out", kubeconfig) as process:
        said = await output_until(process, "\n")
        assert "serving on http://127.0.0.1:" in said
        assert "(kubectl needs --tls: it sends no token over HTTP)" in said
        async with connect(kubeconfig) as client:
            names = {item.metadata.name for item in (await client.resource(V1Namespace).list()).items}
        process.send_signal(signal.SIGINT)
        await process.wait()

    assert "default" in names
    assert yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]["token"]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
async def test_apiserver_ends_at_a_signal_even_with_a_watch_open(tmp_path: Path, ending: signal.Signals) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    async with running("apiserver", "--port", 0, "--kubeconfig-out", kubeconfig) as process:
        await output_until(process, "\n")
        async with connect(kubeconfig) as client, client.resource(V1Pod).watch():
            process.send_signal(ending)
            with anyio.fail_after(60):
                assert await process.wait() == 0


async def test_apiserver_with_fake_nodes_runs_pods(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    async with running("apiserver", "--port", 0, "--kubeconfig-out", kubeconfig, "--fake-nodes", 1) as process:
        await output_until(process, "\n")
        async with connect(kubeconfig) as client:
            pods = client.resource(V1Pod)
            pod = {
                "metadata": {"name": "a", "namespace": "default"},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            }
            await pods.create(from_dict(V1Pod, pod))
            async with pods.watch("default") as batches:
                with anyio.fail_after(60):
                    async for batch in batches:
                        if any(event.object.status.phase == "Running" for event in batch):
                            break
        process.terminate()


async def test_apiserver_with_a_file_keeps_everything_in_it_over_tls(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    options = ("--port", 0, "--tls", "--data", tmp_path / "data", "--kubeconfig-out", kubeconfig)
    for make in (True, False):
        async with running("apiserver", *options) as process:
            said = await output_until(process, "\n")
            assert "serving on https://" in said
            assert "--tls" not in said
            async with connect(kubeconfig) as client:
                namespaces = client.resource(V1Namespace)
                if make:
                    await namespaces.create(from_dict(V1Namespace, {"metadata": {"name": "kept"}}))
                assert (await namespaces.get("kept")).metadata.name == "kept"
            process.terminate()
            await process.wait()


async def test_a_port_in_use_is_one_line_that_names_it() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        done = await kinformer("apiserver", "--port", port)

    assert (done.status, done.out) == (1, "")
    assert done.err == f"kinformer: cannot serve on 127.0.0.1:{port}: the port is in use\n"


async def test_a_port_that_is_none_is_a_usage_error() -> None:
    done = await kinformer("apiserver", "--port", 99999)

    assert done.status == 2
    assert "99999 is not in the range" in done.err


async def test_a_certificate_without_tls_is_one_line() -> None:
    done = await kinformer("apiserver", "--port", 0, "--certificate")

    assert (done.status, done.out) == (1, "")
    assert done.err == "kinformer: --certificate needs --tls, and --kubeconfig-out for the file that it goes into\n"


async def test_a_kubeconfig_that_cannot_be_written_is_one_line_that_names_it() -> None:
    done = await kinformer("apiserver", "--port", 0, "--kubeconfig-out", "/no/such/folder/kubeconfig")

    assert (done.status, done.err) == (1, "kinformer: /no/such/folder/kubeconfig: No such file or directory\n")


# --- manager


async def test_manager_runs_a_controller_against_a_server_and_ends_at_a_signal(tmp_path: Path) -> None:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        kubeconfig = tmp_path / "kubeconfig"
        server.write_kubeconfig(kubeconfig)
        await client.resource(V1ReplicationController).create(controller_of(2))
        made: set[str] = set()
        arguments = ("manager", "--kubeconfig", kubeconfig, "--controllers", "replicationcontroller")
        async with running(*arguments) as process:
            assert "running replicationcontroller for http://127.0.0.1:" in await output_until(process, "v1.36")
            with anyio.fail_after(60):
                async with client.resource(V1Pod).watch("default") as batches:
                    async for batch in batches:
                        made.update(event.object.metadata.name for event in batch)
                        if len(made) == 2:
                            break
            process.send_signal(signal.SIGINT)
            with anyio.fail_after(60):
                assert await process.wait() == 0


async def test_manager_compresses_its_caches_if_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_maps.py").write_text(OPERATOR)
    kubeconfig = tmp_path / "kubeconfig"
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        server.write_kubeconfig(kubeconfig)
        for number in range(40):
            meta = V1ObjectMeta(name=f"map-{number}", namespace="default")
            await client.resource(V1ConfigMap).create(V1ConfigMap(metadata=meta, data={"text": f"{number} " * 6000}))
        flags = ("--controllers", "my_maps:Maps", "--compress-caches", "--v", "4")
        async with running("manager", "--kubeconfig", kubeconfig, *flags) as process:
            await output_until(process, "dictionary_made")


def test_compressed_caches_without_the_package_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)

    with pytest.raises(OptionError, match=r"^--compress-caches: .*kinformer\[zstd\]"):
        _informer_options(compress_caches=True)


async def test_a_kubeconfig_that_is_missing_is_one_line_that_names_it() -> None:
    done = await kinformer("manager", "--kubeconfig", "/no/such/kubeconfig")

    assert (done.status, done.err) == (1, "kinformer: kubeconfig /no/such/kubeconfig: there is no such file\n")


async def test_a_kubeconfig_that_is_broken_is_one_line_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text("clusters: [")

    done = await kinformer("manager", "--kubeconfig", tmp_path / "kubeconfig")

    assert done.status == 1
    assert done.err.count("\n") == 1
    assert str(tmp_path / "kubeconfig") in done.err


async def test_a_server_that_cannot_be_reached_is_one_line_that_names_it(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "k", "http://127.0.0.1:1")
    done = await kinformer("manager", "--kubeconfig", kubeconfig, "--controllers", "endpoint")

    assert done.status == 1
    assert done.err.endswith("cannot reach the server at http://127.0.0.1:1: Connection refused\n")


async def test_a_server_that_refuses_the_token_is_one_line_that_names_it(tmp_path: Path) -> None:
    async with ApiServer() as server:
        kubeconfig = write_kubeconfig(tmp_path / "k", server.url, "wrong")
        done = await kinformer("manager", "--kubeconfig", kubeconfig, "--controllers", "endpoint")

        assert done.status == 1
        assert f"the server refused the credentials for {server.url}" in done.err
        assert "Traceback" not in done.err


async def test_a_web_server_instead_is_one_line_that_names_it(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as web:
        url = f"http://127.0.0.1:{web.sockets[0].getsockname()[1]}"
        done = await kinformer("manager", "--kubeconfig", write_kubeconfig(tmp_path / "k", url), "--controllers", "job")

    assert done.status == 1
    assert done.err.startswith(f"kinformer: the server at {url}: the answer from /api is not one of an API server: ")
    assert done.err.count("\n") == 1


async def test_an_unknown_controller_is_one_line_that_says_which_there_are(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "k", "http://127.0.0.1:1")

    done = await kinformer("manager", "--kubeconfig", kubeconfig, "--controllers", "nothing")

    assert done.status == 1
    assert "'nothing'" in done.err
    assert "of attachdetach, bootstrapsigner, " in done.err


async def test_an_address_without_a_port_is_one_line_that_names_it(tmp_path: Path) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "k", "http://127.0.0.1:1")

    done = await kinformer("manager", "--kubeconfig", kubeconfig, "--metrics-bind-address", "here")

    assert (done.status, done.err) == (1, "kinformer: --metrics-bind-address is 'here': want HOST:PORT or :PORT\n")


async def test_a_metrics_port_in_use_is_one_line_that_names_it(tmp_path: Path) -> None:
    async with ApiServer() as server:
        server.write_kubeconfig(tmp_path / "k")
        taken = f"127.0.0.1:{server.port}"
        flags = ("--controllers", "endpoint", "--metrics-bind-address", taken)
        done = await kinformer("manager", "--kubeconfig", tmp_path / "k", *flags)

    assert done.status == 1
    assert done.err.splitlines()[-1] == f"kinformer: cannot serve metrics on {taken}: the port is in use"
    assert "Traceback" not in done.err


async def test_builtin_controllers_beside_the_clusters_own_are_refused_in_one_line(
    tmp_path: Path,
) -> None:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        kubeconfig = tmp_path / "kubeconfig"
        server.write_kubeconfig(kubeconfig)
        spec = V1LeaseSpec(holder_identity="cp-1", renew_time=datetime.now(UTC), lease_duration_seconds=15)
        meta = V1ObjectMeta(name="kube-controller-manager", namespace="kube-system")
        await client.resource(V1Lease).create(V1Lease(metadata=meta, spec=spec))

        arguments = (
            "manager",
            "--kubeconfig",
            kubeconfig,
            "--controllers",
            "builtin,-endpoint,-root-ca-cert-publisher",
        )
        done = await kinformer(*arguments)
        assert (done.status, done.out) == (1, "")
        *disabled, told = done.err.splitlines()  # some controllers have nothing to do without their options
        assert told.startswith("kinformer: this cluster's own kube-controller-manager runs (cp-1 holds the Lease")
        assert all("controller_disabled" in line for line in disabled)

        async with running(*arguments, "--beside-kube-controller-manager") as process:
            said = await output_until(process, "v1.36")
            assert "replicationcontroller" in said
            assert " endpoint," not in said
            process.terminate()


@pytest.mark.parametrize(
    ("flag", "value", "complaint"),
    [
        ("--namespace", "a/b", "--namespace is 'a/b': a lowercase RFC 1123 label must consist of"),
        ("--controllers", "", "--controllers is '': that leaves nothing to run"),
        (
            "--controllers",
            "*",
            "--controllers is '*': that leaves nothing to run. '*' stands for those of other packages",
        ),
        ("--controllers", "-endpoint", "--controllers is '-endpoint': that leaves nothing to run"),
    ],
)
async def test_a_flag_that_makes_no_sense_is_one_line_that_names_it(
    tmp_path: Path, flag: str, value: str, complaint: str
) -> None:
    kubeconfig = write_kubeconfig(tmp_path / "k", "http://127.0.0.1:1")

    done = await kinformer("manager", "--kubeconfig", kubeconfig, f"{flag}={value}")

    assert done.status == 1
    assert done.err.startswith(f"kinformer: {complaint}")
    assert done.err.count("\n") == 1


async def test_rbac_prints_roles_that_a_server_takes(tmp_path: Path) -> None:
    done = await kinformer("rbac", "deployment", "ttl-after-finished", "--service-account", "default/me")
    assert (done.status, done.err) == (0, "")
    (tmp_path / "rbac.yaml").write_text(done.out)

    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        await apply_manifests(client, read_manifests(tmp_path / "rbac.yaml"))
        roles = [role.metadata.name for role in (await client.resource(V1ClusterRole).list()).items]
        bound = [it.metadata.name for it in (await client.resource(V1ClusterRoleBinding).list()).items]

    names = ["kinformer:deployment", "kinformer:ttl-after-finished"]
    assert roles == names
    assert bound == [f"{name}:default:me" for name in names]


async def test_rbac_leaves_out_what_usually_does_not_run_unless_it_is_named() -> None:
    everything, named = await kinformer("rbac"), await kinformer("rbac", "builtin", "svm", "tokencleaner")

    for role in ("kinformer:svm", "kinformer:tokencleaner"):
        assert f"name: {role}\n" not in everything.out
        assert f"name: {role}\n" in named.out
    assert "name: kinformer:ttl\n" in everything.out


async def test_rbac_for_an_unknown_controller_or_account_is_one_line() -> None:
    unknown = await kinformer("rbac", "deploymint")
    nobody = await kinformer("rbac", "deployment", "--service-account", "me")

    assert (unknown.status, unknown.out, nobody.status, nobody.out) == (1, "", 1, "")
    assert "unknown controller 'deploymint'" in unknown.err
    assert nobody.err == "kinformer: --service-account is 'me': want NAMESPACE/NAME\n"


@pytest.mark.parametrize("account", ["Default/me", "default/Me"])
async def test_rbac_refuses_an_account_that_no_server_can_have(account: str) -> None:
    done = await kinformer("rbac", "deployment", "--service-account", account)

    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(f"kinformer: --service-account is {account!r}: a lowercase RFC 1123 ")


async def test_the_demo_converges_and_says_how_fast() -> None:
    done = await kinformer("demo")

    assert done.status == 0, done.err
    assert "8 of 8 steps converged" in done.out  # two of them with the quota webhook, which is installed here
    assert "deployment rollout/site 2.0 (revision 2): 4 of 4 updated, 4 available, 4 in all" in done.out
    assert "deployment rollout/site 1.0 (revision 3): 4 of 4 updated, 4 available, 4 in all" in done.out
    assert "demo/web: 20 desired, 20 current" in done.out


async def test_a_demo_that_does_not_converge_says_what_is_missing_and_fails(tmp_path: Path) -> None:
    manifest = tmp_path / "never.yaml"
    manifest.write_text(
        """
apiVersion: v1
kind: ReplicationController
metadata: {name: never, namespace: default}
spec:
  replicas: 1
  template:
    metadata:
      labels: {app: never}
      annotations: {fake-nodes.kinformer.dev/ready-after-seconds: never}
    spec: {containers: [{name: c, image: i}]}
"""
    )

    done = await kinformer("demo", "--manifests", manifest, "--timeout", 0.5)

    assert done.status == 1
    assert "NOT CONVERGED" in done.out
    assert "default/never: 1 desired, 1 current, 0 pending, 0 ready" in done.out


async def test_a_manifest_that_is_no_yaml_is_one_line_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: Pod\nmetadata: [\n")

    done = await kinformer("demo", "--manifests", tmp_path)

    assert done.status == 1
    assert done.err.startswith(f"kinformer: {tmp_path}/a.yaml:3: is not YAML")
    assert done.err.count("\n") == 1


async def test_a_manifest_of_an_unknown_kind_is_one_line_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n")

    done = await kinformer("demo", "--manifests", tmp_path / "a.yaml")

    assert done.status == 1
    assert 'a.yaml:1: Widget w: no matches for kind "Widget" in version "example.com/v1"' in done.err
    assert done.err.count("\n") == 1


async def test_the_demo_ends_at_ctrl_c() -> None:
    async with running("demo") as process:
        await output_until(process, "-->")
        process.send_signal(signal.SIGINT)
        with anyio.fail_after(60):
            assert await process.wait() == 130


def shell(line: str) -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable} -m kinformer {line}"
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
@pytest.mark.parametrize("arguments", ["rbac deployment", "--help"])
def test_a_full_disk_under_the_output_is_one_line(arguments: str) -> None:
    done = shell(f"{arguments} >/dev/full")

    assert done.stderr == "kinformer: the output cannot be written: No space left on device\n"
    assert done.returncode == 1


def test_outputs_that_are_closed_are_none() -> None:
    assert shell("rbac deployment >&- 2>&-").returncode == 0


def test_the_current_folder_may_be_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    command = f"mkdir {gone} && cd {gone} && rmdir {gone} && {sys.executable} -m kinformer rbac deployment"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stderr) == (0, "")
