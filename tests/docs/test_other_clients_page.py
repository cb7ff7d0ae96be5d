"""The tests on the page about other clients pass, each where its client is installed."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "other-clients.md").read_text()
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
#: What a section needs besides kinformer: a package, or a program.
PACKAGES = {
    "kopf": "kopf",
    "lightkube": "lightkube",
    "kubernetes_asyncio": "kubernetes_asyncio",
    "kubernetes": "kubernetes",
}
PROGRAMS = {"kubectl": "kubectl", "A controller in Go": "go"}


def block_of(section: str, language: str = "python") -> str:
    (block,) = re.findall(rf"```{language}\n(.*?)```", SECTIONS[section], re.DOTALL)
    return str(block)


def test_each_section_is_of_one_client() -> None:
    assert set(SECTIONS) == {*PACKAGES, *PROGRAMS, "Their own tests", "Watch loops, replaced"}


def go_module(folder: Path) -> tuple[Path, list[str]]:
    """
    Where to build, and with which flags.

    The environment variable ``KINFORMER_GO_MODULE`` names the folder of a Go module that has client-go in ``vendor``.
    Nothing is written there. Without it Go downloads what it needs.
    """
    source = folder / "main.go"
    source.write_text(block_of("A controller in Go", "go"))
    module = os.environ.get("KINFORMER_GO_MODULE")
    if module:
        overlay = folder / "overlay.json"
        overlay.write_text(json.dumps({"Replace": {str(Path(module) / "greeter" / "main.go"): str(source)}}))
        return Path(module), ["-overlay", str(overlay), "-o", str(folder / "greeter"), "./greeter"]
    (folder / "go.mod").write_text("module example.com/greeter\n\ngo 1.26\n")
    needed = ["k8s.io/api@v0.36.0", "k8s.io/apimachinery@v0.36.0", "k8s.io/client-go@v0.36.0"]
    had = subprocess.run(["go", "get", *needed], cwd=folder, capture_output=True, text=True, check=False)
    if had.returncode:
        pytest.skip(f"client-go is not to be had here: {had.stderr.strip().splitlines()[-1]}")
    return folder, ["-mod=mod", "-o", str(folder / "greeter"), "."]


@pytest.fixture
def go_program(tmp_path: Path) -> Path:
    """The page's Go controller, built."""
    where, flags = go_module(tmp_path)
    subprocess.run(["go", "build", *flags], cwd=where, check=True)
    return tmp_path / "greeter"


@pytest.mark.timeout(900)  # Go compiles the whole of client-go the first time
@pytest.mark.filterwarnings("default")  # what other people's libraries warn of is not this project's
@pytest.mark.parametrize("section", [*PACKAGES, *PROGRAMS])
async def test_the_server_serves(
    section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if section in PACKAGES:
        pytest.importorskip(PACKAGES[section], reason=f"{PACKAGES[section]} is not installed here")
    elif shutil.which(PROGRAMS[section]) is None:
        pytest.skip(f"there is no {PROGRAMS[section]} here")
    module = ModuleType(f"other_clients_{section.split()[-1]}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(block_of(section), f"other-clients.md, {section}", "exec", dont_inherit=True), vars(module))
    ((_, test),) = [(name, value) for name, value in vars(module).items() if name.startswith("test_")]

    fixtures: dict[str, Any] = {name: request.getfixturevalue(name) for name in inspect.signature(test).parameters}
    with anyio.fail_after(60):
        await test(**fixtures)
