"""Configuration: flags, the environment and a file, and what a dry run makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from kinformer.cli.config_file import ConfigError, read_config
from kinformer.cli.config_keys import keys_of, schema_of
from kinformer.cli.dry_run import review
from kinformer.cli.manager_command import manager as manager_command
from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.envtest.credentials import kubeconfig_of
from kinformer.manager.rbac import ServiceAccount, manager_rules, manifests
from kinformer.meta import GroupVersionResource
from kinformer.models import V1Namespace
from kinformer.permissions import Rule, allow
from kinformer_controllers.deployment.spec import SPEC
from tests.cli.commands import kinformer
from tests.informers.test_namespaces import allowed_in

PUBLISHED = Path(__file__).parents[2] / "docs" / "manager-config.schema.json"


def keys() -> Any:
    with click.Context(manager_command) as context:
        return keys_of(manager_command.get_params(context))


def parameters(*arguments: str) -> tuple[dict[str, Any], click.Context]:
    """What the command would run with."""
    with manager_command.make_context("manager", list(arguments)) as context:
        return context.params, context


def write(file: Path, text: str) -> None:
    file.write_text(text)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def test_each_flag_can_be_given_in_a_file(file: Path) -> None:
    file.write_text(
        """
controllers: [deployment, "-job"]
concurrent-deployment-syncs: 7
kube-api-qps: 20
leader-elect: true
shutdown-grace: 1m30s
logging-format: json
kubeconfig: /somewhere
option:
  colour: red
  size: 3
  sails: true
"""
    )

    params, _ = parameters("--config", str(file))

    assert params["controllers"] == "deployment,-job"
    assert (params["concurrent_deployment_syncs"], params["kube_api_qps"]) == (7, 20.0)
    assert (params["leader_elect"], params["shutdown_grace"], params["logging_format"]) == (True, 90.0, "json")
    assert params["kubeconfig"] == Path("/somewhere")
    assert params["extra_options"] == ("colour=red", "size=3", "sails=true")


def test_a_flag_beats_the_environment_the_file_and_the_default(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("shutdown-grace: 2s\ncache-sync-timeout: 2s\nserver-probe-interval: 2s\n")
    for name in ("SHUTDOWN_GRACE", "CACHE_SYNC_TIMEOUT"):
        monkeypatch.setenv(f"KINFORMER_{name}", "3s")
    monkeypatch.setenv("KINFORMER_CONFIG", str(file))

    params, _ = parameters("--shutdown-grace", "4s")

    names = ("shutdown_grace", "cache_sync_timeout", "server_probe_interval", "server_return_spread")
    assert [params[name] for name in names] == [4.0, 3.0, 2.0, 1.0]


@pytest.mark.parametrize("text", ["namespace: [a, b]", "namespace: a,b"])
def test_namespaces_come_from_a_file_the_environment_or_several_flags(
    file: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(text)
    assert parameters("--config", str(file))[0]["namespaces"] == ("a,b",)
    assert parameters("--namespace", "a", "--namespace", "b")[0]["namespaces"] == ("a", "b")

    monkeypatch.setenv("KINFORMER_NAMESPACE", "a,b")
    assert parameters()[0]["namespaces"] == ("a,b",)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: 1", "line 1: unknown key 'a': `kinformer config schema` lists them"),
        ("\nleader_elect: true", "line 2: unknown key 'leader_elect': want 'leader-elect'?"),
        ("dry-run: true", "line 1: unknown key 'dry-run'"),
        ("1: 2", "line 1: unknown key '1'"),
        (
            "namespace: a\n\nconcurrent-deployment-syncs: many",
            "line 3: concurrent-deployment-syncs is 'many': want a whole number",
        ),
        ("concurrent-deployment-syncs: true", "line 1: concurrent-deployment-syncs is true: want a whole number"),
        ("concurrent-deployment-syncs: 1.5", "line 1: concurrent-deployment-syncs is 1.5: want a whole number"),
        ("concurrent-deployment-syncs: 0", "line 1: concurrent-deployment-syncs is 0: want at least 1"),
        ("concurrent-deployment-syncs:", "line 1: concurrent-deployment-syncs is empty: want a whole number"),
        (
            "concurrent-deployment-syncs:\n  a: 1",
            "line 2: concurrent-deployment-syncs is {'a': 1}: want a whole number",
        ),
        ("kube-api-qps: fast", "line 1: kube-api-qps is 'fast': want a number"),
        ("leader-elect: perhaps", "line 1: leader-elect is 'perhaps': want true or false"),
        ("leader-elect: 1", "line 1: leader-elect is 1: want true or false"),
        ("shutdown-grace: 30", "line 1: shutdown-grace is 30: want a duration like 500ms, 30s or 5m0s"),
        ("shutdown-grace: soon", "line 1: shutdown-grace is 'soon': want a number and a unit, like 500ms, 30s or 5m0s"),
        ("logging-format: loud", "line 1: logging-format is 'loud': want one of text, json"),
        ("metrics-bind-address: [a]", "line 1: metrics-bind-address is ['a']: want text"),
        ("controllers: [1]", "line 1: controllers is [1]: want text, or a list of texts"),
        ("controllers: 1", "line 1: controllers is 1: want text"),
        ("option: a", "line 1: option is 'a': want options by their names"),
        ("namespace: a\nnamespace: b", "line 2: namespace stands in line 1 already"),
        ("- a", "line 1: want flags by their names, like 'leader-elect: true'"),
        ("a: [", "line 1: is not YAML: "),
        ("namespace: !!python/object:os.system a", "line 1: namespace is not understood: "),
    ],
)
def test_what_a_file_may_not_say_is_refused_with_its_line(file: Path, text: str, complaint: str) -> None:
    file.write_text(text)

    with pytest.raises(ConfigError) as refused:
        read_config(file, keys())
    assert refused.value.message.startswith(f"{file}, {complaint}")


def test_an_unreadable_file_is_named_and_an_empty_one_changes_nothing(file: Path) -> None:
    with pytest.raises(ConfigError, match=f"{file}: No such file"):
        read_config(file, keys())
    file.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=f"{file}: is not text"):
        read_config(file, keys())
    file.write_text("# nothing\n")
    assert read_config(file, keys()).values == {}


def test_a_variable_that_makes_no_sense_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINFORMER_SHUTDOWN_GRACE", "soon")
    with pytest.raises(click.BadParameter, match="'soon' is not a duration") as refused:
        parameters()
    assert refused.value.param_hint == "KINFORMER_SHUTDOWN_GRACE of the environment"


def test_the_published_schema_is_that_of_the_flags() -> None:
    assert json.loads(PUBLISHED.read_text()) == schema_of(keys()), (
        "the flags have changed: kinformer config schema > docs/manager-config.schema.json"
    )


def test_the_schema_says_what_each_key_takes() -> None:
    schema = schema_of(keys())
    properties = schema["properties"]

    assert schema["additionalProperties"] is False
    for name in ("help", "config", "dry-run"):
        assert name not in properties
    assert properties["concurrent-deployment-syncs"] == {
        "description": "Deployments synced at once.",
        "type": "integer",
        "minimum": 1,
    }
    assert properties["leader-elect"]["type"] == "boolean"
    assert properties["logging-format"]["enum"] == ["text", "json"]
    assert properties["controllers"]["type"] == ["string", "array"]
    assert "pattern" in properties["shutdown-grace"]


async def _give(server: ApiServer, rules: dict[str, list[Rule]]) -> None:
    """Give a service account the roles of some rules."""
    async with connect(url=server.url, token=server.token) as client:
        for manifest in manifests(rules, ServiceAccount("default", "me")):
            namespaced = "namespace" in manifest["metadata"]
            gvr = GroupVersionResource("rbac.authorization.k8s.io", "v1", f"{manifest['kind'].lower()}s")
            await client.resource(dict, gvr, namespaced=namespaced).create(manifest)


def _write_kubeconfig(server: ApiServer, path: Path) -> None:
    """That of the service account."""
    server.write_kubeconfig(path)
    config = yaml.safe_load(path.read_text())
    config["users"][0]["user"]["as"] = "system:serviceaccount:default:me"
    path.write_text(yaml.safe_dump(config))


async def test_a_dry_run_shows_its_settings_and_what_is_missing(tmp_path: Path, file: Path) -> None:
    write(file, "controllers: deployment\nconcurrent-deployment-syncs: 7\n")
    async with ApiServer() as server:
        rules = [rule for rule in SPEC.permissions or () if "pods" not in rule.resources]
        await _give(server, {"d": rules, "manager": list(manager_rules())})
        kubeconfig = tmp_path / "kubeconfig"
        _write_kubeconfig(server, kubeconfig)
        arguments = ("manager", "--kubeconfig", kubeconfig, "--dry-run")
        lacking = await kinformer(*arguments, "--config", file, KINFORMER_SHUTDOWN_GRACE="10s")
        write(file, lacking.out)
        again = await kinformer(*arguments, "--config", file)

    lines = lacking.out.splitlines()
    assert f"controllers: deployment  # {file}, line 1" in lines
    assert f"concurrent-deployment-syncs: 7  # {file}, line 2" in lines
    assert "shutdown-grace: 10s  # environment KINFORMER_SHUTDOWN_GRACE" in lines
    assert "cache-sync-timeout: 2m0s  # default" in lines
    assert f"kubeconfig: {kubeconfig}  # flag" in lines
    assert "# namespace is not set" not in lines
    assert lines[-2:] == ["# missing for deployment: list pods", "# missing for deployment: watch pods"]
    assert (lacking.status, lacking.err) == (1, "")
    # What it prints is a configuration that says the same.
    assert yaml.safe_load(again.out) == yaml.safe_load(lacking.out)


async def test_each_namespace_is_asked_about_where_there_are_several() -> None:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        for namespace in ("a", "b"):
            await client.resource(V1Namespace).create({"metadata": {"name": namespace}})
        token = await allowed_in(client, "a")
        async with connect(url=server.url, token=token) as limited:
            found = await review(limited, {"reader": [allow("list watch", "configmaps")]}, ["a", "b"])

    lacking = [str(permission) for permission in found.missing["reader"]]
    assert lacking == ["list configmaps in namespace b", "watch configmaps in namespace b"]


async def test_a_dry_run_with_all_permissions_ends_well_and_runs_nothing(tmp_path: Path) -> None:
    async with ApiServer() as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        arguments = ("--controllers", "deployment,replicaset", "--leader-elect", "--dry-run")
        done = await kinformer("manager", "--kubeconfig", tmp_path / "kubeconfig", *arguments)

    assert (done.status, done.err) == (0, "")
    last = done.out.splitlines()[-1]
    assert last.startswith("# permissions: ")
    given, _, asked = last.removeprefix("# permissions: ").removesuffix(" given").split(" ")
    assert given == asked != "0"


async def test_all_clients_of_a_manager_get_their_credentials_once(tmp_path: Path) -> None:
    kubeconfig, asked = tmp_path / "kubeconfig", tmp_path / "asked"
    async with ApiServer() as server:
        plugin = tmp_path / "plugin"
        given = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
        plugin.write_text(f"echo >>{asked}\necho '{json.dumps({**given, 'status': {'token': server.token}})}'\n")
        user = {"exec": {"apiVersion": given["apiVersion"], "command": "sh", "args": [str(plugin)]}}
        kubeconfig.write_text(json.dumps(kubeconfig_of(server.url, user)))
        arguments = ("--controllers", "deployment", "--leader-elect", "--dry-run")
        done = await kinformer("manager", "--kubeconfig", kubeconfig, *arguments)

    assert done.status == 0, done.err
    assert asked.read_text() == "\n"
