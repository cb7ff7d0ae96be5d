"""Whoever follows the tutorial from the first line to the last gets an operator that works."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import anyio
import msgspec
import pytest
import yaml

from kinformer.client import Client, connect
from kinformer.envtest import ApiServer, eventually
from kinformer.models import V1Deployment
from tests.docs.tutorial import blocks_of, script_of

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
SITE = {"metadata": {"name": "blog", "namespace": "default"}, "spec": {"html": "<h1>Hello</h1>"}}


def test_a_block_that_is_neither_a_file_nor_commands_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"which file is this, or is it console\?"):
        blocks_of("Some code:\n\n```python\nx = 1\n```\n")


@pytest.mark.timeout(1800)  # it installs packages and runs mypy
async def test_the_followed_tutorial_makes_a_working_operator_with_its_permissions(tmp_path: Path) -> None:
    work, beside = tmp_path / "work", tmp_path / "beside"
    work.mkdir()
    beside.mkdir()
    (beside / "script").write_text(script_of(PAGE.read_text(), beside))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "KUBE"))}

    followed = await anyio.run_process(
        ["bash", str(beside / "script")], cwd=work, env=environment, check=False, stderr=subprocess.STDOUT
    )

    assert followed.returncode == 0, followed.stdout.decode()
    await deploy(work / "site-operator")


async def deploy(project: Path) -> None:
    """Apply its manifests as the page says, and run it as their service account."""
    manifests = [
        manifest
        for name in ("deployment", "crd", "rbac")
        for manifest in yaml.safe_load_all((project / "manifests" / f"{name}.yaml").read_text())
    ]
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        for manifest in manifests:
            resource = await client.resource_for_object(manifest)
            await resource.apply(manifest, field_manager="kubectl")
        kubeconfig = project / "account"
        server.write_kubeconfig(kubeconfig)
        kubeconfig.write_text(kubeconfig.read_text().replace(server.token, await token_of_the_account(client)))
        deployment = await client.resource(V1Deployment).get("site-operator", "site-operator")
        (container,) = deployment.spec.template.spec.containers
        program = str(project / ".venv" / "bin" / "kinformer")
        command = [program, "manager", "--controllers=site-operator", *(container.args or ())]
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "SITE_DIRECTORY": str(project / "deployed.json")}
        async with await anyio.open_process(command, env=environment, stdout=None, stderr=None) as process:
            site = {"apiVersion": "example.com/v1", "kind": "Site", **SITE}
            sites = await client.resource_for_object(site)
            await sites.create(site)

            async def has_a_status() -> bool:
                return "status" in await sites.get("blog", "default")

            async def is_gone() -> bool:
                return not (await sites.list("default")).items

            await eventually(has_a_status, seconds=60)
            await sites.delete("blog", "default")
            await eventually(is_gone, seconds=60)
            process.terminate()
            assert await process.wait() == 0


async def token_of_the_account(client: Client) -> str:
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    path = "/api/v1/namespaces/site-operator/serviceaccounts/site-operator/token"
    answer = msgspec.json.decode(await client.request("POST", path, body=asked))
    return str(answer["status"]["token"])
