"""What the files beside the code say is true."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import yaml
from kinformer.models import to_dict
from kinformer.operator import definition_of

from sample_operator.api import Sample

ROOT = Path(__file__).parents[1]


def test_the_manifest_has_the_definition_of_the_class() -> None:
    definition = yaml.safe_load((ROOT / "deploy" / "crd.yaml").read_text())

    assert definition == to_dict(definition_of(Sample)), "make it anew"


def test_the_entry_point_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    for target in project["entry-points"]["kinformer.controllers"].values():
        module, _, name = target.partition(":")
        assert callable(getattr(import_module(module), name))
