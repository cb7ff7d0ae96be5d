"""The image: built step by step in an empty folder, and run as nobody on a root that cannot be written to."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.dockerfile import copy, rooted, stages
from tests.ports import free_port

REPOSITORY = Path(__file__).parents[2]
DEPLOY = REPOSITORY / "docs" / "deploy"
DOCKERFILE = DEPLOY / "Dockerfile"


def pinned(text: str) -> dict[str, str]:
    """What a file of requirements pins: version by name."""
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;\\]+)", text, re.MULTILINE))


def test_the_image_runs_as_nobody_without_secrets_or_the_build_folder() -> None:
    build, image = stages(DOCKERFILE.read_text())
    assert build.name == "build"
    assert build.image == image.image
    assert [rest for name, rest in image.steps if name == "COPY"] == ["--from=build /opt/kinformer /opt/kinformer"]
    assert not [rest for name, rest in image.steps if name == "RUN"]
    assert image.last("USER") == "65534:65534"
    assert image.command() == ["/opt/kinformer/bin/kinformer", "--help"]


def test_downloads_are_checked_by_hash_and_of_the_tested_version() -> None:
    build, _ = stages(DOCKERFILE.read_text())
    installs = [rest for name, rest in build.steps if name == "RUN" and " -m pip " in rest]
    assert len(installs) == 4
    assert all("--require-hashes" in rest or "--no-index" in rest for rest in installs)
    ours, tested = (pinned(file.read_text()) for file in (DEPLOY / "requirements.txt", REPOSITORY / "requirements.txt"))
    assert ours
    assert ours.items() <= tested.items()
    wanted = re.search(r'requires = \["hatchling==([^"]+)"\]', (REPOSITORY / "pyproject.toml").read_text())
    assert wanted is not None
    assert pinned((DEPLOY / "build-requirements.txt").read_text())["hatchling"] == wanted[1]


def a_python_for_everybody() -> str | None:
    """One that nobody may run, too: not every Python lives where others may look."""
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        real = Path(python).resolve()
        if not real.exists() or any(not parent.stat().st_mode & 0o001 for parent in real.parents):
            continue
        check = "import sys, ensurepip; sys.exit(sys.version_info < (3, 11))"
        if subprocess.run([str(real), "-c", check], capture_output=True).returncode == 0:
            return str(real)
    return None


def registry_is_there() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "hatchling==1.33.0"]
        try:
            return subprocess.run(words, capture_output=True, timeout=30).returncode == 0
        except (subprocess.TimeoutExpired, OSError):
            return False


@pytest.fixture(scope="module")
def built() -> Iterator[Path]:
    """The root of an image, in a folder that everybody may look into."""
    python = a_python_for_everybody()
    if python is None:
        pytest.skip("there is no Python here that nobody may run: the image could not be tried")
    if not registry_is_there():
        pytest.skip("the package registry does not answer: the image's libraries cannot be had")
    root = Path(tempfile.mkdtemp(prefix="kinformer-image-"))
    try:
        root.chmod(0o755)
        build, _ = stages(DOCKERFILE.read_text())
        environment = {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}
        # Byte code of all libraries takes half of the build, and says nothing about its steps. pip reads this variable
        # as the value of "compile", so 0 means that nothing is compiled.
        environment["PIP_NO_COMPILE"] = "0"
        for instruction, rest in build.steps:
            if instruction == "COPY":
                copy(rest, REPOSITORY, root)
            elif instruction == "RUN":
                words = rooted(rest, root, python)
                if "compileall" in words:
                    words[-1:] = ["-l", words[-1]]  # only this folder, without those below it
                done = subprocess.run(words, env=environment, capture_output=True, text=True)
                assert done.returncode == 0, f"{rest}\n{done.stdout}{done.stderr}"
        # What the second stage leaves behind is not there.
        for left in root.iterdir():
            if left.name != "opt":
                shutil.rmtree(left)
        shutil.rmtree(root / "opt" / "build")
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


@pytest.mark.installs
@pytest.mark.timeout(600)
def test_the_steps_make_a_kinformer_without_pip_but_with_its_commands(built: Path) -> None:
    python = built / "opt" / "kinformer" / "bin" / "python"
    assert subprocess.run([python, "-c", "import pip"], capture_output=True).returncode == 1
    kinformer = built / "opt" / "kinformer" / "bin" / "kinformer"
    told = subprocess.run([kinformer, "rbac", "deployment"], capture_output=True, text=True, cwd="/")
    assert "name: kinformer:deployment" in told.stdout, told.stderr
    for command in ("manager", "quota-webhook"):
        told = subprocess.run([kinformer, command, "--help"], capture_output=True, text=True, cwd="/")
        assert f"Usage: kinformer {command}" in told.stdout, told.stderr


@pytest.mark.installs
@pytest.mark.timeout(600)
def test_it_runs_as_nobody_on_a_root_that_cannot_be_written_to(built: Path) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None or shutil.which("unshare") is None:
        pytest.skip("only root can become nobody (setpriv), and mount a root read-only (unshare)")
    read_only = "mount --make-rprivate / && mount -o remount,ro,bind /"
    if subprocess.run(["unshare", "-m", "sh", "-c", read_only], capture_output=True).returncode:
        pytest.skip("this system lets nobody mount a root read-only")
    _, image = stages(DOCKERFILE.read_text())
    user, group = image.last("USER").split(":")
    [program, *arguments] = image.command()
    nobody = f"setpriv --reuid={user} --regid={group} --clear-groups --no-new-privs"
    run = " ".join([f"{built}{program}", *arguments])
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}

    def within(command: str) -> subprocess.CompletedProcess[str]:
        words = ["unshare", "-m", "sh", "-c", f"{read_only} && exec {nobody} sh -c '{command}'"]
        return subprocess.run(words, capture_output=True, text=True, env=environment, cwd="/")

    assert within(f"touch {built}/opt/kinformer/written").returncode != 0
    assert within("touch /tmp/written").returncode != 0
    told = within(run)
    assert "Usage: kinformer" in told.stdout, told.stderr
    assert told.returncode == 0


@pytest.mark.installs
@pytest.mark.timeout(600)
def test_as_nobody_it_says_in_one_line_what_it_cannot_reach(built: Path) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can become nobody (setpriv)")
    port = free_port()
    kubeconfig = built / "kubeconfig"
    kubeconfig.write_text(
        "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], "
        f"clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{port}'}}}}], users: [{{name: u, user: {{}}}}]}}"
    )
    kubeconfig.chmod(0o644)
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"{built}/opt/kinformer/bin/kinformer"]
    done = subprocess.run(
        [*words, "quota-webhook", "--insecure", "--kubeconfig", str(kubeconfig)],
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1].startswith("kinformer: cannot reach the server at")
