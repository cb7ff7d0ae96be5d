"""What a command imports before it does anything: what it does not use costs each of its starts time."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from kinformer.cli.errors import USERS_ERRORS
from kinformer.collector import THRESHOLD
from kinformer.envtest import ApiServer

#: Runs the command line, and tells on standard error which modules it has come to.
_COMMAND = """
import atexit, json, sys
from kinformer.cli import main
atexit.register(lambda: print("\\n" + json.dumps(sorted(sys.modules)), file=sys.stderr))
main()
"""
_MODULES = "import json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"

#: What no start of a manager uses.
_OF_OTHER_COMMANDS = {
    "kinformer.bench",
    "kinformer.cli.bench",
    "kinformer.cli.demo",
    "kinformer.cli.dry_run",
    "kinformer.cli.remote",
    "kinformer.envtest",
    "kinformer_controllers.groupquota",
    "kinformer_controllers.replicaset.controller",
    "kubernetes_asyncio",
    "pygments",
    "rich",
    "sqlite3",
    "uvloop",
}
#: What asks a server, serves a page, or reads a file.
_OF_ALL_THAT_RUN = {
    "aiohttp",
    "asyncio",
    "kinformer.cache",
    "kinformer.client",
    "kinformer.manager",
    "kinformer.models",
    "msgspec",
    "prometheus_client",
    "structlog",
    "yaml",
}


def loaded_by(code: str, *arguments: str) -> set[str]:
    """The modules that a process has come to when this code has run."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_a_quota_webhook_loads_no_server_of_tests() -> None:
    code = f"import kinformer_controllers.groupquota.server\n{_MODULES}"
    assert not loaded_by(code) & {"kinformer.envtest", "kinformer.bench", "kinformer.simulation"}


def test_a_command_that_ends_does_not_collect_garbage_once_more(tmp_path: Path) -> None:
    code = """
import atexit, gc, sys
from kinformer.cli import main
class Cached:
    def __del__(self):
        print("freed")
held = Cached()
held.cycle = held
del held
gc.disable()
atexit.register(lambda: print("ended"))
main()
"""
    new = ("new", "shop-operator", "--directory", str(tmp_path / "made"))
    ended = subprocess.run([sys.executable, "-c", code, *new], capture_output=True, text=True, check=True)

    assert ended.stdout.splitlines()[-1] == "ended"


@pytest.mark.parametrize("serves", [True, False])
def test_only_a_command_that_serves_runs_on_uvloop(tmp_path: Path, serves: bool) -> None:
    tmp_path.joinpath("uvloop.py").write_text(
        "import asyncio\nclass Loop(asyncio.SelectorEventLoop):\n    pass\nnew_event_loop = Loop\n"
    )
    code = f"""
import asyncio, sys
from kinformer.cli.running import run_command
async def serve():
    print(type(asyncio.get_running_loop()).__module__)
    return 0
sys.path.insert(0, {str(tmp_path)!r})
run_command(serve, serves={serves})
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert (ended.stdout == "uvloop\n") is serves


def test_the_cycle_collector_is_relaxed_before_a_command_is_imported() -> None:
    code = """
import gc, sys
from kinformer.cli import main
class Looker:
    def find_spec(self, name, path=None, target=None):
        if name == "kinformer.cli.command":
            print(gc.get_threshold()[0])
sys.meta_path.insert(0, Looker())
main()
"""
    environment = {name: value for name, value in os.environ.items() if name != "KINFORMER_GC"}
    ended = subprocess.run(
        [sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True, env=environment
    )

    assert int(ended.stdout.splitlines()[0]) == THRESHOLD


def test_the_help_needs_nothing_of_what_commands_run() -> None:
    loaded = loaded_by(_COMMAND, "--help")

    assert "kinformer.cli.command" in loaded
    assert loaded & (_OF_OTHER_COMMANDS | _OF_ALL_THAT_RUN) <= {"kinformer_controllers.groupquota"}
    # The commands of other packages, without what they run.
    assert {name for name in loaded if name.startswith("kinformer_controllers.")} == {
        "kinformer_controllers.groupquota",
        "kinformer_controllers.groupquota.command",
        "kinformer_controllers.kubecontrollermanager",
        "kinformer_controllers.kubecontrollermanager.command",
    }


@pytest.mark.parametrize("arguments", [("apiserver",), ("bench",), ("demo",), ("top",), ("debug", "why"), ("rbac",)])
def test_the_help_of_a_command_needs_nothing_of_what_it_runs(arguments: tuple[str, ...]) -> None:
    assert loaded_by(_COMMAND, *arguments, "--help") & (_OF_OTHER_COMMANDS | _OF_ALL_THAT_RUN) == set()


def test_the_client_brings_no_connections_no_logs_and_no_metrics() -> None:
    loaded = loaded_by(f"import kinformer.client; {_MODULES}")

    assert loaded & _OF_ALL_THAT_RUN == {"asyncio", "kinformer.client", "kinformer.models", "msgspec"}
    assert loaded & _OF_OTHER_COMMANDS == set()


async def test_a_running_manager_imports_its_controllers_and_no_other_command(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    controllers = "replicationcontroller,endpoint,endpointslice,resourcequota"
    command = ["manager", "--kubeconfig", str(kubeconfig), "--controllers", controllers]
    async with ApiServer() as server:
        server.write_kubeconfig(kubeconfig)
        process = await anyio.open_process([sys.executable, "-u", "-c", _COMMAND, *command], env=dict(os.environ))
        async with process:
            assert process.stdout is not None
            assert process.stderr is not None
            told = b""
            with anyio.fail_after(60):
                while any(b"controller=%s " % name.encode() not in told for name in controllers.split(",")):
                    told += await process.stderr.receive()
                process.terminate()
                async for more in process.stderr:
                    told += more

    loaded = set(json.loads(told.splitlines()[-1]))
    assert "kinformer_controllers.resourcequota.controller" in loaded
    assert loaded >= _OF_ALL_THAT_RUN
    assert loaded & (_OF_OTHER_COMMANDS - {"uvloop"}) == set()  # where it is installed, a manager runs on it
    assert {name for name in loaded if name.startswith("kinformer.cli.demo")} == set()


@pytest.mark.parametrize("name", sorted(USERS_ERRORS))
def test_each_error_for_users_is_defined_where_the_command_looks(name: str) -> None:
    module, _, class_ = name.rpartition(".")

    assert issubclass(getattr(importlib.import_module(module), class_), Exception)
