"""The wheel, as a user has it: installed, without the checkout."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kinformer
from tests.packaging.conftest import ROOT, run
from tests.typed import copied_cache

PROGRAM = """
import anyio
import kinformer, kinformer_controllers
from importlib.metadata import entry_points
from kinformer.client import connect
from kinformer.envtest import ApiServer
from kinformer.models import V1ConfigMap, V1ObjectMeta

async def main() -> None:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        meta = V1ObjectMeta(name="a", namespace="default")
        made = await client.resource(V1ConfigMap).create(V1ConfigMap(metadata=meta))
        print(made.metadata.name)

anyio.run(main)
print(kinformer.__file__)
print(kinformer_controllers.__file__)
print(len([entry.load() for entry in entry_points(group="kinformer.controllers")]) > 30)
"""

OPERATOR = '''
from kinformer.manager import ControllerContext
from kinformer.models import V1Deployment, V1ObjectMeta, V1Pod
from kinformer.operator import CustomResource, Fields, Reconciler


class ShopSpec(Fields):
    image: str


class Shop(CustomResource[ShopSpec, None], group="example.com", version="v1", plural="shops"):
    """A shop."""


class Shops(Reconciler[Shop]):
    name = "shops"
    owns = (V1Deployment,)

    async def reconcile(self, obj: Shop) -> None:
        reveal_type(obj.spec.image)
        reveal_type(await self.client.resource(V1Pod).get("a", "b"))
        written = await self.applier.ensure_owned(obj, V1Deployment(metadata=V1ObjectMeta(name=obj.metadata.name)))
        reveal_type(written.object.metadata.generation)


def first_image(pod: V1Pod, context: ControllerContext) -> str | None:
    reveal_type(pod.metadata.name)
    reveal_type(pod.spec)
    return pod.spec.containers[0].image if pod.spec else None


make_controller = Shops.make_controller
'''

MISTAKES = """
from kinformer.models import V1Pod


def node_of(pod: V1Pod) -> int:
    print(pod.metadata.nmae)
    return pod.metadata.name
"""


def test_a_program_runs_on_it_and_finds_its_controllers(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)

    said = run(installed, tmp_path / "program.py", cwd=tmp_path).splitlines()

    environment = str(installed.parents[1])
    assert said[0] == "a"
    assert said[1].startswith(environment)
    assert said[2].startswith(environment)
    assert said[3] == "True"


def test_its_command_knows_its_version_and_makes_projects(installed: Path, tmp_path: Path) -> None:
    command = installed.with_name("kinformer")

    assert kinformer.__version__ in run(command, "--version", cwd=tmp_path)
    run(command, "new", "shop-operator", cwd=tmp_path)
    assert (tmp_path / "shop-operator" / "src" / "shop_operator" / "py.typed").exists()
    assert "name: shops.example.com" in (tmp_path / "shop-operator" / "deploy" / "crd.yaml").read_text()


def test_an_operator_passes_mypy_strict_against_it_with_attributes_known(installed: Path, tmp_path: Path) -> None:
    right, wrong = tmp_path / "operator_of_shops.py", tmp_path / "mistakes.py"
    right.write_text(OPERATOR)
    wrong.write_text(MISTAKES)

    options = ("--strict", "--cache-dir", str(copied_cache(tmp_path / "known")), "--python-executable", str(installed))
    command = [sys.executable, "-m", "mypy", *options, right.name, wrong.name]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout.splitlines()

    revealed = [line.split('"')[1].rpartition(".")[2] for line in told if "Revealed type" in line]
    assert revealed == ["str", "V1Pod", "int", "str", "V1PodSpec"]
    errors = [line.split(": error: ") for line in told if ": error: " in line]
    assert {place.partition(":")[0] for place, _ in errors} == {wrong.name}
    assert [error for _, error in errors] == [
        '"V1ObjectMeta" has no attribute "nmae"  [attr-defined]',
        'Incompatible return value type (got "str", expected "int")  [return-value]',
    ]


def test_an_operator_passes_pyright_in_its_strict_mode_too(installed: Path, tmp_path: Path) -> None:
    """pyright is a program of its own: `pip install basedpyright`, or any other pyright on the path."""
    program = shutil.which("pyright") or shutil.which("basedpyright")
    if program is None:
        pytest.skip("there is no pyright here")
    (tmp_path / "operator_of_shops.py").write_text(OPERATOR)
    (tmp_path / "mistakes.py").write_text(MISTAKES)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "reportMissingTypeStubs": false}')

    command = [program, "--outputjson", "--pythonpath", str(installed)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    told = json.loads(done.stdout)["generalDiagnostics"]
    assert {Path(found["file"]).name for found in told if found["severity"] == "error"} == {"mistakes.py"}
    types = [found["message"].rpartition(" is ")[2] for found in told if found["severity"] == "information"]
    assert types == ['"str"', '"V1Pod"', '"int"', '"str"', '"V1PodSpec"']


def test_nothing_of_the_checkout_is_found_by_it(installed: Path, tmp_path: Path) -> None:
    path = run(installed, "-c", "import sys; print(*sys.path, sep='\\n')", cwd=tmp_path).splitlines()

    assert not {str(ROOT), str(ROOT / "controllers")} & set(path)
