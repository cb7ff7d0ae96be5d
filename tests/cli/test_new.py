"""``kinformer new``: what is made works at once, and what cannot be made is told in one line."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from kinformer.cli.new import NewProjectError, Project
from tests.cli.commands import kinformer
from tests.forked import ran
from tests.typed import copied_cache


async def new(folder: Path, *arguments: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    monkeypatch.chdir(folder)
    done = await kinformer("new", *arguments)
    return done.status, done.err


def check(folder: Path, *command: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


async def pass_tests(folder: Path) -> None:
    done = await ran("pytest", "-q", "-W", "ignore::pytest.PytestDeprecationWarning", folder=folder)
    assert done.status == 0, done.out + done.err


async def test_a_new_project_passes_its_own_tests_and_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await new(tmp_path, "my-operator", monkeypatch=monkeypatch) == (0, "")
    project = tmp_path / "my-operator"

    await pass_tests(project)
    check(project, "ruff", "check", ".")
    check(project, "ruff", "format", "--check", ".")
    check(project, "mypy", "--cache-dir", str(copied_cache(tmp_path / "known")))


@pytest.mark.parametrize(
    "arguments",
    [
        ("a",),
        ("zoo-keeper-of-large-and-small-animals-op", "--kind", "RatherLongNameOfAKindOfObjectsOfAnOperator"[:40]),
        ("sample-operator-2", "--kind", "Sample"),
    ],
    ids=["short", "long", "like the template"],
)
async def test_with_other_names_it_is_in_the_format_and_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    assert await new(tmp_path, *arguments, "--directory", "made", monkeypatch=monkeypatch) == (0, "")
    made = tmp_path / "made"

    check(made, "ruff", "check", ".")
    check(made, "ruff", "format", "--check", ".")
    if arguments[-1] == "Sample":
        return
    texts = [file.read_text() for file in made.rglob("*") if file.is_file() and "cache" not in str(file)]
    assert not [text for text in texts if "sample" in text.lower()]
    assert (made / ".github" / "workflows" / "ci.yaml").exists()
    assert (made / ".gitignore").exists()


async def test_its_tests_pass_with_names_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("shop-operator", "--kind", "HTTPRoute2", "--plural", "httproutes", "--group", "shops.acme-corp.io")
    assert await new(tmp_path, *names, monkeypatch=monkeypatch) == (0, "")

    await pass_tests(tmp_path / "shop-operator")


async def test_the_names_are_where_they_belong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await new(tmp_path, "gateway-controller", "--group", "acme.io", monkeypatch=monkeypatch)
    made = tmp_path / "gateway-controller"

    project = tomllib.loads((made / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["kinformer.controllers"] == {
        "gateway-controller": "gateway_controller.controller:GatewayReconciler"
    }
    # The definition has patterns, which the embedded server checks with an extra.
    assert "kinformer[envtest]" in project["optional-dependencies"]["dev"]
    definition = yaml.safe_load((made / "deploy" / "crd.yaml").read_text())
    assert definition["metadata"]["name"] == "gateways.acme.io"
    assert definition["spec"]["names"]["kind"] == "Gateway"
    assert "registry.example.com/gateway-controller" in (made / "deploy" / "operator.yaml").read_text()
    assert all(list(yaml.safe_load_all(file.read_text())) for file in made.rglob("*.yaml"))


@pytest.mark.parametrize("there", ["file", "folder"])
async def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str) -> None:
    target = tmp_path / "my-operator"
    if there == "folder":
        target.mkdir()
        (target / "README.md").write_text("mine")
    else:
        target.write_text("mine")

    status, error = await new(tmp_path, "my-operator", monkeypatch=monkeypatch)

    assert status == 1
    assert error == ("kinformer: my-operator is there already, and nothing is overwritten: want a folder that is not\n")
    assert (target / "README.md" if there == "folder" else target).read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("My_Operator",), "'My_Operator' is no name of an operator: want at most 40 small letters"),
        (("",), "'' is no name of an operator"),
        (("../escape",), "'../escape' is no name of an operator"),
        (("a--b",), "'a--b' is no name of an operator"),
        (("x" * 41,), "is no name of an operator"),
        (("json",), "there is a module json already: want another name, such as json-operator"),
        (("kinformer",), "there is a module kinformer already"),
        (("class",), "there is a module class already"),
        (("shop-operator", "--kind", "shop"), "'shop' is no kind: want at most 40 letters and digits"),
        (
            ("client-operator",),
            "the kind Client would hide Client, which the project uses",
        ),
        (("none-operator",), "the kind None would hide None"),
        (("shop-operator", "--plural", "Shops"), "'Shops' is no plural"),
        (("shop-operator", "--group", "shops"), "'shops' is no group of an API: want a domain, such as example.com"),
    ],
)
async def test_names_that_will_not_do_are_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], error: str
) -> None:
    status, told = await new(tmp_path, *arguments, monkeypatch=monkeypatch)

    assert status == 1
    assert told.startswith("kinformer: ")
    assert told.count("\n") == 1
    assert error in told
    assert not os.listdir(tmp_path)  # noqa: PTH208  # no Path in async code


@pytest.mark.parametrize(
    ("kind", "plural"),
    [("Shop", "shops"), ("Policy", "policies"), ("Gateway", "gateways"), ("Ingress", "ingresses"), ("Mesh", "meshes")],
)
def test_plurals_are_guessed(kind: str, plural: str) -> None:
    assert Project.named("x-operator", kind).plural == plural


def test_the_first_name_that_many_try_makes_a_kind_with_a_plural() -> None:
    project = Project.named("my-operator")

    assert (project.kind, project.plural) == ("MyResource", "myresources")


def test_an_error_is_raised_where_it_is_used_in_code() -> None:
    with pytest.raises(NewProjectError):
        Project.named("Shop")
