"""The run of one suite, with a server of its own and all controllers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Final

from scripts.compat.environments import BUILD, go_programs, make_environment, unpacked
from scripts.compat.outcome import Outcome, read_report
from scripts.compat.suites import ROOT, Suite, Unavailable

__all__ = ("play",)

#: Seconds: the longest run of a suite, and the longest start of a server.
_LIMIT: Final = 1800
_START_WITHIN: Final = 60
#: The versions that pytest-kind downloads, unless they are there.
_KIND, _KUBECTL = "kind-v0.17.0", "kubectl-v1.25.3"


def play(suite: Suite, sources: Path | None) -> Outcome:
    """
    Run a suite, and judge it.

    :param sources: a folder that has the sources of suites, by name
    :raises Unavailable: if it cannot be run here
    """
    if shutil.which("kubectl") is None:
        raise Unavailable("there is no kubectl here")
    environment = make_environment(suite.environment)
    server: AbstractContextManager[None] = nullcontext()
    if suite.here:
        folder, variables = ROOT, dict[str, str]()
        if suite.go:
            variables["KINFORMER_GO_PROGRAMS"] = str(go_programs(suite, sources))
    else:
        folder = _prepared(suite, environment, unpacked(suite, environment, sources))
        place = folder / ".pytest-kind" / "pytest-kind"
        place.mkdir(parents=True, exist_ok=True)
        kubeconfig = place / "kubeconfig"
        variables = {"KUBECONFIG": str(kubeconfig), "HOME": str(folder)}
        if suite.server:
            server = _serving(kubeconfig, BUILD / f"{suite.name}-server.log", commands=suite.commands)
        if suite.kind:
            _stand_in_for_kind(place)
    programs = BUILD / f"{suite.name}-programs"
    _stand_in(suite, environment, programs)
    path = os.pathsep.join((str(programs), str(environment / "bin"), os.environ["PATH"]))
    variables |= {**suite.variables, "PATH": path}
    report = BUILD / f"{suite.name}.xml"
    report.unlink(missing_ok=True)
    with server:
        _run_pytest(suite, environment, folder, {**os.environ, **variables}, report)
    if not report.is_file():
        raise Unavailable(f"pytest did not run: see {report.with_suffix('.log')}")
    return read_report(report, suite.causes)


def _prepared(suite: Suite, environment: Path, folder: Path) -> Path:
    if suite.into:
        (packages,) = environment.glob("lib/python*/site-packages")
        shutil.copytree(folder / suite.tests, packages / suite.into, dirs_exist_ok=True)
        folder = folder / "empty"  # so that nothing there is imported in the place of the packages
        folder.mkdir()
    if not (folder / "pyproject.toml").is_file():
        (folder / "pytest.ini").write_text("[pytest]\n")  # or pytest would take this project's settings
    if suite.adapter:
        (folder / "compat_adapter.py").write_text(suite.install)
    return folder


def _run_pytest(suite: Suite, environment: Path, folder: Path, variables: dict[str, str], report: Path) -> None:
    command = [str(environment / "bin" / "python"), "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}"]
    if suite.adapter:
        command += ["-p", "compat_adapter"]
        variables = {**variables, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT / suite.adapter}"}
    if suite.here:
        command.append(suite.here)
    with report.with_suffix(".log").open("w") as output:
        try:
            subprocess.run(
                [*command, *suite.arguments],
                cwd=folder,
                env=variables,
                stdout=output,
                stderr=output,
                check=False,
                timeout=_LIMIT,
            )
        except subprocess.TimeoutExpired:
            raise Unavailable(f"it took longer than {_LIMIT} s") from None


def _stand_in(suite: Suite, environment: Path, programs: Path) -> None:
    shutil.rmtree(programs, ignore_errors=True)
    programs.mkdir(parents=True)
    for name in suite.stand_ins:
        program = programs / name
        does = "exit 0"
        if name == "k8s-crd-resolver":
            does = f'exec "{environment / "bin" / "python"}" "{Path(__file__).with_name("crds.py")}" "$@"'
        program.write_text(f"#!/bin/sh\n{does}\n")
        program.chmod(0o755)


def _stand_in_for_kind(place: Path) -> None:
    """Let pytest-kind find its cluster: a `kind` that knows it, and this machine's kubectl."""
    kind, kubectl = place / _KIND, place / _KUBECTL
    kind.write_text("#!/bin/sh\necho pytest-kind\n")
    kind.chmod(0o755)
    found = shutil.which("kubectl")
    assert found is not None
    kubectl.unlink(missing_ok=True)
    kubectl.symlink_to(found)


@contextmanager
def _serving(kubeconfig: Path, log: Path, *, commands: bool) -> Iterator[None]:
    """
    Run a server like a cluster, with all controllers.

    :param commands: whether commands in containers run on this machine
    """
    own = str(Path(sys.executable).with_name("kinformer"))
    like_a_cluster = ("--tls", "--certificate", "--system-pods", "--fake-nodes=3", "--with-manager")
    program = [own, "apiserver", "--port=0", f"--kubeconfig-out={kubeconfig}", *like_a_cluster]
    if commands:
        program = [sys.executable, "-m", "scripts.compat.server", str(kubeconfig)]
    kubeconfig.unlink(missing_ok=True)
    with log.open("w") as output:
        processes = [subprocess.Popen(program, cwd=ROOT, stdout=output, stderr=output)]
        try:
            _wait_for(kubeconfig.is_file, processes[0], "the server did not start")
            manager = [own, "manager", "--controllers=builtin", f"--kubeconfig={kubeconfig}"]
            processes.append(subprocess.Popen(manager, stdout=output, stderr=output))
            account = ["kubectl", f"--kubeconfig={kubeconfig}", "get", "serviceaccount", "default"]
            quiet = subprocess.DEVNULL
            _wait_for(
                lambda: not subprocess.run(account, stdout=quiet, stderr=quiet, check=False).returncode,
                processes[1],
                "the controllers did not start",
            )
            yield
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait()


def _wait_for(holds: Callable[[], bool], process: subprocess.Popen[bytes], otherwise: str) -> None:
    until = time.monotonic() + _START_WITHIN
    while not holds():
        if process.poll() is not None or time.monotonic() > until:
            raise Unavailable(otherwise)
        time.sleep(0.2)
