"""``kinformer manager --contexts``, and what ``top`` and ``debug`` show of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml

from kinformer.client import connect
from kinformer.envtest import ApiServer, eventually
from kinformer.models import V1ConfigMap, V1ObjectMeta
from tests.cli.commands import kinformer, output_until, running
from tests.ports import free_port

OPERATOR = """
from kinformer.models import V1ConfigMap
from kinformer.operator import Reconciler


class Maps(Reconciler[V1ConfigMap]):
    name = "maps"

    async def reconcile(self, obj: V1ConfigMap) -> None: ...
"""


def merged(**servers: tuple[str, str]) -> dict[str, Any]:
    """A kubeconfig with a context for each server, which is a URL and a token."""
    return {
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in servers],
        "clusters": [{"name": name, "cluster": {"server": url}} for name, (url, _) in servers.items()],
        "users": [{"name": name, "user": {"token": token}} for name, (_, token) in servers.items()],
    }


async def test_a_manager_works_for_the_clusters_of_several_contexts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_maps.py").write_text(OPERATOR)
    kubeconfig, address = tmp_path / "kubeconfig", f"127.0.0.1:{free_port()}"
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        gone = (f"http://127.0.0.1:{free_port()}", "x")
        kubeconfig.write_text(yaml.safe_dump(merged(west=(server.url, server.token), east=gone)))
        await client.resource(V1ConfigMap).create(V1ConfigMap(metadata=V1ObjectMeta(name="a", namespace="default")))
        flags = ("--contexts", "*", "--controllers", "my_maps:Maps", "--metrics-bind-address", address)
        async with running("manager", "--kubeconfig", kubeconfig, *flags) as process:
            await output_until(process, "controller_started")

            async def knows() -> str:
                done = await kinformer("debug", "why", "west/default/a", "--address", address)
                assert done.status == 0, done.err
                return done.out

            with anyio.fail_after(60):
                known = await eventually(knows)
            top = await kinformer("top", "--once", "--address", address)
            process.terminate()
            assert await process.wait() == 0

    assert "west/maps" in known
    assert "CLUSTER" in top.out
    states = {line.split()[0]: line.split()[1] for line in top.out.splitlines() if line.startswith(("east ", "west "))}
    assert states == {"west": "ready", "east": "starting"}


HOOKED = """
from kinformer.models import V1ConfigMap
from kinformer.operator import Reconciler
from kinformer.operator.webhooks import Webhooks


class Hooked(Reconciler[V1ConfigMap]):
    name = "hooked"
    webhooks = Webhooks("hooked")

    async def reconcile(self, obj: V1ConfigMap) -> None: ...
"""


async def test_what_is_for_one_cluster_is_refused_for_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_hooks.py").write_text(HOOKED)
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(merged(west=("http://127.0.0.1:1", "x"))))
    manager = ("manager", "--kubeconfig", tmp_path / "kubeconfig", "--contexts", "west")
    dry = await kinformer(*manager, "--dry-run", "--controllers", "job")
    nothing = await kinformer(*manager, "--controllers", "-job")
    hooked = await kinformer(*manager, "--controllers", "my_hooks:Hooked")

    assert (dry.status, dry.err) == (1, "kinformer: --contexts: --dry-run is for one cluster: give --context\n")
    assert hooked.status == 1
    assert "\nkinformer: controller hooked declares the webhooks 'hooked', and a fleet serves none" in hooked.err
    assert nothing.err.startswith("kinformer: --controllers is '-job': that leaves nothing to run")
