"""What the files beside the code say is true."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import yaml
from kinformer.models import to_dict
from kinformer.operator import definition_of

from sample_operator.api import Sample

PACKAGE = "sample_operator"
ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONTROLLERS = list(PROJECT["entry-points"]["kinformer.controllers"].values())


def test_the_manifest_has_the_definition_of_the_class() -> None:
    definition = yaml.safe_load((ROOT / "deploy" / "crd.yaml").read_text())

    made = to_dict(definition_of(Sample))
    assert definition == made, f"make it anew: kinformer crd {PACKAGE} > deploy/crd.yaml"


def test_the_manifest_has_the_rights_that_the_controller_needs() -> None:
    account = ["--service-account", "sample-operator/operator"]
    lease = ["--leader-elect", "--leader-elect-resource-namespace", "sample-operator"]
    command = [sys.executable, "-m", "kinformer", "rbac", *CONTROLLERS, *account, *lease]
    done = subprocess.run(command, cwd=ROOT / "src", capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    manifests = (ROOT / "deploy" / "rbac.yaml").read_text()
    assert list(yaml.safe_load_all(manifests)) == list(yaml.safe_load_all(done.stdout)), (
        f"make it anew: {' '.join(command[2:])} > deploy/rbac.yaml"
    )


def test_the_entry_point_is_there() -> None:
    for target in CONTROLLERS:
        module, _, name = target.partition(":")
        assert callable(getattr(import_module(module), name))
