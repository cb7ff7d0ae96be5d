"""What type checkers know of the models: a generated stub, and a program that uses it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kinformer import models
from tests.models.stubs import STUB, stub
from tests.typed import copied_cache

ROOT = Path(__file__).parents[2]

#: What users write, and what each checker must find: a line that ends with a comment has the error of that name.
PROGRAM = """\
# mypy: warn-unreachable
from typing import assert_type

import msgspec

from kinformer.meta import GroupVersionKind, new_controller_ref
from kinformer.models import (
    PartialObjectMetadata,
    V1Container,
    V1ContainerPort,
    V1JSONSchemaProps,
    V1ObjectMeta,
    V1OwnerReference,
    V1Pod,
    V1PodSpec,
    complete,
    decode,
)
from kinformer.operator import OpenFields


class Part(OpenFields):
    size: int = 1
    name: str


part = Part(name="a", extra={"b": 1})
assert_type(part.size, int)
part.sizes  # error
Part()  # error
meta = V1ObjectMeta(name="a", labels={"app": "web"})
container = V1Container(name="c", ports=[V1ContainerPort(container_port=80)])
pod = V1Pod(metadata=meta, spec=V1PodSpec(containers=[container]))
assert_type(pod, V1Pod)
assert_type(pod.metadata, V1ObjectMeta)
assert_type(pod.spec.containers, list[V1Container])
assert_type(pod.spec.containers[0].name, str)
assert_type(pod.spec.node_name, str | None)
assert_type(pod.metadata.labels, dict[str, str] | None)
if pod.spec.node_name is None:
    print("this can be reached")
assert_type(msgspec.structs.replace(pod, kind="Pod"), V1Pod)
assert_type(complete(decode(V1Pod, b"{}")), V1Pod)
assert_type(new_controller_ref(pod, GroupVersionKind("", "v1", "Pod")), V1OwnerReference)
assert_type(PartialObjectMetadata().metadata.name, str)
assert_type(V1JSONSchemaProps().properties, dict[str, V1JSONSchemaProps] | None)
pod.spec.node_name.upper()  # error
V1Pod(specc=1)  # error
pod.spec.containrs  # error
"""


def wrong_lines() -> list[int]:
    return [number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# error")]


def test_the_stub_is_what_the_models_are() -> None:
    # If not: python -m tests.models.stubs
    assert STUB.read_text(encoding="utf-8") == stub()


def test_the_stub_names_every_public_function_of_the_package() -> None:
    text = STUB.with_name("__init__.pyi").read_text(encoding="utf-8") + STUB.read_text(encoding="utf-8")

    for name in models.__all__:
        assert re.search(rf"\b(as|def|class) {name}\b", text), name


def test_a_star_brings_the_models_that_the_stub_promises() -> None:
    brought: dict[str, object] = {}
    exec("from kinformer.models import *", brought)

    assert brought["V1Pod"] is models.V1Pod


def test_mypy_knows_the_models(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    cache = copied_cache(tmp_path / "known")
    options = ("--strict", "--python-version", "3.11", "--config-file=", "--cache-dir", str(cache))
    command = [sys.executable, "-m", "mypy", *options, str(program)]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)

    found = [int(line) for line in re.findall(r"program\.py:(\d+): error", done.stdout)]
    assert found == wrong_lines(), done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_knows_the_models(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = ["pyright", "--pythonpath", sys.executable, str(tmp_path / "program.py")]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=280, check=False)

    found = [int(line) for line in re.findall(r"program\.py:(\d+):\d+ - error", done.stdout)]
    assert found == wrong_lines(), done.stdout + done.stderr
