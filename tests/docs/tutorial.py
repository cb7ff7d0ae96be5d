"""The tutorial as a script: its files are written, and its commands run, in the order of the page.

What needs a network stands in for itself: `pip install` makes the environment see this project's libraries and writes
what an editable install would write of the entry points; `docker` looks whether what the image copies is there; and
`kubectl` does nothing, since the test applies the manifests itself.

``python -m tests.docs.tutorial FOLDER`` only writes the files, as they are at the end of the page.
"""

from __future__ import annotations

import re
import shlex
import site
import sys
from pathlib import Path
from typing import NamedTuple

__all__ = ("Block", "blocks_of", "script_of", "write_files")

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^In `([^`]+)`:\n\n\Z", re.MULTILINE)

_PIP = """
import pathlib, site, sys, tomllib
project = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["project"]
folder = pathlib.Path(site.getsitepackages()[0])
lines = [f"import site; site.addsitedir({path!r})" for path in LIBRARIES]
(folder / "tutorial.pth").write_text("\\n".join([*lines, str(pathlib.Path.cwd())]))
info = folder / (project["name"].replace("-", "_") + "-" + project["version"] + ".dist-info")
info.mkdir()
(info / "METADATA").write_text(f"Metadata-Version: 2.1\\nName: {project['name']}\\nVersion: {project['version']}\\n")
with (info / "entry_points.txt").open("w") as file:
    for group, points in project["entry-points"].items():
        print(f"[{group}]", *(f"{name} = {value}" for name, value in points.items()), sep="\\n", file=file)
for command in ("kinformer", "pytest"):
    program = pathlib.Path(sys.prefix, "bin", command)
    program.write_text(f'#!/bin/sh\\nexec "{sys.executable}" -m {command} "$@"\\n')
    program.chmod(0o755)
"""

_DOCKER = """
for source in $(sed -n 's/^COPY \\(.*\\) .*/\\1/p' Dockerfile); do test -e "$source" || exit 1; done
"""


class Block(NamedTuple):
    """
    A block of the page.

    :param file: the file that it is; empty for commands
    """

    language: str
    text: str
    file: str


def blocks_of(page: str) -> list[Block]:
    """
    All blocks, in their order.

    :raises ValueError: for one that is neither a file nor a list of commands
    """
    found = []
    for match in _FENCE.finditer(page):
        named = _FILE.search(page[: match.start()])
        if (match[1] == "console") is (named is not None):
            raise ValueError(f"which file is this, or is it console?\n{match[0]}")
        found.append(Block(match[1], match[2], named[1] if named else ""))
    return found


def write_files(page: str, folder: Path) -> None:
    """Write the files as they are at the end of the page."""
    for block in blocks_of(page):
        if block.file:
            file = folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
    for package in "site_operator", "tests":
        (folder / package / "__init__.py").touch()


def script_of(page: str, folder: Path) -> str:
    """
    A script for bash that follows the page.

    :param folder: an empty one, for what the script needs besides
    """
    programs = folder / "bin"
    programs.mkdir()
    libraries = [path for path in site.getsitepackages() if Path(path).is_dir()]
    (folder / "pip.py").write_text(f"LIBRARIES = {libraries!r}\n{_PIP}")
    python = shlex.quote(sys.executable)
    for name, text in {
        "python3": f'exec {python} "$@" --without-pip\n',  # makes the environment, and nothing else
        "pip": f"exec python {shlex.quote(str(folder / 'pip.py'))}\n",
        "docker": _DOCKER,
        "kubectl": "exit 0\n",
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}")
        (programs / name).chmod(0o755)
    lines = ["set -eu", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT", f"PATH={shlex.quote(str(programs))}:$PATH"]
    for number, block in enumerate(blocks_of(page)):
        if block.file:
            saved = folder / f"{number}"
            saved.write_text(block.text)
            lines.append(f"cp {shlex.quote(str(saved))} {shlex.quote(block.file)}")
        else:
            lines += _commands(block.text, folder / f"{number}")
    return "\n".join(lines)


def _commands(text: str, saved: Path) -> list[str]:
    """Its commands, each with a comparison of what it says if the page says that."""
    lines = []
    for number, part in enumerate(re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]):
        command, _, answer = part.partition("\n")
        lines.append(f"echo {shlex.quote('$ ' + command)}")
        if not answer:
            lines.append(command)
            continue
        wanted, got = f"{saved}-{number}.wanted", f"{saved}-{number}.got"
        Path(wanted).write_text(answer)
        lines += [
            f"{command} > {shlex.quote(got)}",
            f"diff <(cat {shlex.quote(wanted)}) <(sed '$a\\' {shlex.quote(got)})",
        ]
    return lines


if __name__ == "__main__":
    write_files((Path(__file__).parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8"), Path(sys.argv[1]))
