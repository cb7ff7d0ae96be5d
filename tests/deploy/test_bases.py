"""The kustomize bases: rendered, applied to the embedded server by kubectl, and compared with what the code says."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import click
import pytest
import yaml
from click.testing import CliRunner

from kinformer.cli.command import main
from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer_controllers.groupquota.command import quota_webhook
from tests.definitions import definition

pytest.importorskip("cryptography", reason="kubectl sends tokens over TLS only")
pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl here")

DOCS = Path(__file__).parents[2] / "docs"
BASES = ("manager", "sharded", "quota-webhook")

#: cert-manager's kinds, whose definitions a cluster has from cert-manager.
CERT_MANAGER = [
    definition(plural, kind, "cert-manager.io")
    for plural, kind in (("issuers", "Issuer"), ("certificates", "Certificate"))
]


@cache
def kustomized(base: str) -> str:
    done = subprocess.run(["kubectl", "kustomize", str(DOCS / "deploy" / base)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rendered(base: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(kustomized(base)))


def deployment(base: str) -> dict[str, Any]:
    [found] = [one for one in rendered(base) if one["kind"] == "Deployment"]
    return found


def container(base: str) -> dict[str, Any]:
    [found] = deployment(base)["spec"]["template"]["spec"]["containers"]
    return found


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[ApiServer]:
    async with ApiServer(tls=True, plugins=False) as server:
        server.write_kubeconfig(folder / "config")
        async with connect(folder / "config") as client:
            definitions: Any = client.resource(dict, ("apiextensions.k8s.io", "v1", "customresourcedefinitions"))
            for each in CERT_MANAGER:
                await definitions.create(each)
            namespaces: Any = client.resource(dict, ("", "v1", "namespaces"))
            # A dry run makes no namespace for what comes after it.
            await namespaces.create({"metadata": {"name": "kinformer-system"}})
        yield server


async def kubectl(folder: Path, *arguments: str, stdin: str = "") -> str:
    home = {"HOME": str(folder), "KUBECONFIG": str(folder / "config"), "PATH": "/usr/bin:/bin:/usr/local/bin"}
    done = await anyio.run_process(["kubectl", *arguments], input=stdin.encode(), check=False, env=home)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize("base", BASES)
async def test_a_server_takes_all_of_a_base(base: str, tmp_path: Path) -> None:
    objects = rendered(base)
    async with serving(tmp_path):
        arguments = ["apply", "--dry-run=server", "--validate=strict", "-f", "-"]
        said = await kubectl(tmp_path, *arguments, stdin=yaml.safe_dump_all(objects))

    lines = said.splitlines()
    assert len(lines) == len(objects) > 8
    assert all(line.endswith("(server dry run)") for line in lines), said


async def test_a_server_asks_the_webhook_as_its_configuration_says(tmp_path: Path) -> None:
    async with serving(tmp_path):
        file = DOCS / "controllers" / "quota-webhook" / "webhook.yaml"
        said = await kubectl(tmp_path, "apply", "--dry-run=server", "--validate=strict", "-f", str(file))
    assert said.endswith("kinformer-quota created (server dry run)\n")


def test_the_commands_understand_their_arguments() -> None:
    manager: click.Command = main.commands["manager"]  # type: ignore[attr-defined]
    context = manager.make_context("manager", container("manager")["args"][1:])
    assert (context.params["leader_elect"], context.params["secure_port"]) == (True, 8443)
    context = quota_webhook.make_context("quota-webhook", container("quota-webhook")["args"][1:])
    assert context.params["leader_elect"]
    assert context.params["leader_elect_resource_namespace"] == "kinformer-system"


def test_the_members_of_a_group_have_names_of_their_own() -> None:
    manager: click.Command = main.commands["manager"]  # type: ignore[attr-defined]
    if "shards" not in {parameter.name for parameter in manager.params}:
        pytest.skip("this manager has no --shards yet: the base is for one that has")
    context = manager.make_context("manager", container("sharded")["args"][1:])
    assert (context.params["shards"], context.params["leader_elect"]) == (256, False)
    assert context.params["shard_member_identity"] == "$(POD_NAME)"
    assert container("sharded")["env"][0]["name"] == "POD_NAME"


def test_the_roles_are_those_that_the_controllers_say_they_need() -> None:
    [listed] = [word for word in container("manager")["args"] if word.startswith("--controllers=")]
    names = listed.partition("=")[2].split(",")
    election = ["--leader-elect", "--leader-elect-resource-namespace", "kinformer-system"]
    account = ["--service-account", "kinformer-system/kinformer-manager"]
    said = CliRunner().invoke(main, ["rbac", *names, *account, *election])
    assert said.exit_code == 0, said.output
    assert said.stdout.startswith("apiVersion: "), said.stdout
    written = list(yaml.safe_load_all((DOCS / "deploy" / "manager" / "rbac.yaml").read_text()))

    assert written == list(yaml.safe_load_all(said.stdout)), "see docs/deploy/README.md for how rbac.yaml is made"


def test_the_webhook_may_write_its_quotas_and_its_lease_and_nothing_else() -> None:
    roles = [one for one in rendered("quota-webhook") if one["kind"] in ("ClusterRole", "Role")]
    writes = {
        (resource, verb)
        for role in roles
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if verb not in ("get", "list", "watch")
    }
    leases, events = {("leases", "create"), ("leases", "update")}, {("events", "create"), ("events", "patch")}
    assert writes == {("groupquotas/status", "update")} | leases | events


@pytest.mark.parametrize("base", BASES)
def test_a_pod_runs_as_nobody_on_a_read_only_root_without_privileges(base: str) -> None:
    pod, one = deployment(base)["spec"]["template"]["spec"], container(base)
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["runAsUser"] == 65534
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert one["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"cpu", "memory"} == one["resources"]["requests"].keys()
    assert one["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert one["readinessProbe"]["httpGet"]["path"] == "/readyz"


@pytest.mark.parametrize("base", BASES)
def test_policies_and_budgets_are_about_the_pods_of_the_base(base: str) -> None:
    objects = rendered(base)
    labels = deployment(base)["spec"]["template"]["metadata"]["labels"]
    [budget] = [one for one in objects if one["kind"] == "PodDisruptionBudget"]
    [policy] = [one for one in objects if one["kind"] == "NetworkPolicy"]
    [service] = [one for one in objects if one["kind"] == "Service"]
    assert budget["spec"]["selector"]["matchLabels"] == labels
    assert policy["spec"]["podSelector"]["matchLabels"] == labels
    assert service["spec"]["selector"] == labels
    ports = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
    assert ports == {one["containerPort"] for one in container(base)["ports"]}
    assert budget["spec"]["maxUnavailable"] < deployment(base)["spec"]["replicas"]
