"""The fixtures, used as a user's tests use them: here, and by projects of their own under each plugin."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from kinformer.client import Client
from kinformer.envtest import ApiServer
from kinformer.envtest.nodes import FakeNodes
from kinformer.envtest.pytest_plugin import _in_a_task
from kinformer.models import V1ConfigMap, V1Pod, from_dict
from tests.forked import Ended, run


async def test_each_test_has_a_server_of_its_own(kinformer_api_server: ApiServer, kinformer_client: Client) -> None:
    config_maps = kinformer_client.resource(V1ConfigMap)
    await config_maps.create(from_dict(V1ConfigMap, {"metadata": {"name": "a", "namespace": "default"}}))
    assert len((await config_maps.list("default")).items) == 1


async def test_and_so_nothing_is_left_of_the_test_before(kinformer_client: Client) -> None:
    assert (await kinformer_client.resource(V1ConfigMap).list("default")).items == []


async def test_pods_run_on_the_fake_nodes(kinformer_client: Client, kinformer_fake_nodes: FakeNodes) -> None:
    pods = kinformer_client.resource(V1Pod)
    pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await pods.create(from_dict(V1Pod, pod))
    async with pods.watch("default") as watch:
        with anyio.fail_after(60):
            async for batch in watch:
                if any(event.object.status.phase == "Running" for event in batch):
                    break


def test_a_fixture_outside_asyncio_says_so() -> None:
    with pytest.raises(RuntimeError, match=r"kinformer runs on asyncio: .*; in tests, a fixture anyio_backend returns"):
        _in_a_task(ApiServer()).__aenter__().send(None)


TESTS = """
import pytest
from kinformer.client import TooManyRequests
from kinformer.models import V1Node

{mark}
async def test_client({client}):
    await {client}.resource(V1Node).create({{"metadata": {{"name": "mine"}}}})
    assert [node.metadata.name for node in (await {client}.resource(V1Node).list()).items] == ["mine"]

{mark}
class TestNodes:
    async def test_nodes({client}_is, {nodes}, {client}):
        assert len((await {client}.resource(V1Node).list()).items) == 3

@pytest.fixture
def {options}():
    return {{"token": "mine"}}

{mark}
async def test_options({server}):
    assert {server}.token == "mine"
"""

LONG = {
    "client": "kinformer_client",
    "nodes": "kinformer_fake_nodes",
    "server": "kinformer_api_server",
    "options": "kinformer_api_server_options",
}
SHORT = {"client": "client", "nodes": "fake_nodes", "server": "api_server", "options": "api_server_options"}


def run_pytest(folder: Path, *settings: str, arguments: tuple[str, ...] = ()) -> Ended:
    # Without the scope, pytest-asyncio warns that it will have another default.
    lines = ["[pytest]", "asyncio_default_fixture_loop_scope = function", *settings]
    (folder / "pytest.ini").write_text("\n".join(lines))
    return run("pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *arguments, folder=folder)


@pytest.mark.parametrize(
    ("mode", "mark", "names"),
    [
        ("anyio_mode = auto", "", LONG),
        ("", "@pytest.mark.anyio", LONG),
        ("asyncio_mode = auto", "", SHORT),
        ("asyncio_mode = strict", "@pytest.mark.asyncio", LONG),
    ],
    ids=["anyio auto", "anyio", "asyncio auto, short names", "asyncio strict"],
)
def test_the_fixtures_work_under_each_plugin(tmp_path: Path, mode: str, mark: str, names: dict[str, str]) -> None:
    short = f"kinformer_short_fixtures = {str(names is SHORT).lower()}"
    backend = "@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n" if "anyio" in mode + mark else ""
    tests = TESTS.format(mark=mark, **names).replace(f"{names['client']}_is", "self")
    (tmp_path / "test_it.py").write_text(tests + backend)

    done = run_pytest(tmp_path, mode, short)
    assert done.status == 0, done.out + done.err
    assert "3 passed" in done.out


def test_a_projects_own_fixtures_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_client(client):\n    pass\n")

    done = run_pytest(tmp_path)
    assert "fixture 'client' not found" in done.out


def test_a_project_may_have_a_package_called_controllers(tmp_path: Path) -> None:
    package = tmp_path / "controllers"
    package.mkdir()
    (package / "__init__.py").write_text("MINE = True\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest, controllers, kinformer_controllers.shared\n"
        "@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"
        "async def test_it(kinformer_client, kinformer_fake_nodes):\n"
        "    assert controllers.MINE\n"
        "    assert await kinformer_client.server_version()\n"
    )

    done = run_pytest(tmp_path, "anyio_mode = auto")
    assert done.status == 0, done.out + done.err


COSTS = """
import pytest
from kinformer.envtest import eventually, running
from kinformer.manager import Controller, Manager
from kinformer.models import V1Namespace

def make_controller(context):
    namespaces = context.client.resource(V1Namespace)

    async def sync(key):
        synced.append(await namespaces.get(key))

    synced = context.client.synced = []
    return Controller("dear", sync).watch(context.informers.informer_for(V1Namespace))

async def spend(client, budget):
    counted = budget.client(client)
    manager = Manager(counted, known={"dear": make_controller})
    budget.watch(manager)
    async with running(manager):
        await eventually(lambda: counted.synced)

@pytest.mark.kinformer_budget(requests=1)
async def test_enough(client, budget):
    await spend(client, budget)

@pytest.mark.kinformer_budget(requests=0)
async def test_dear(client, budget):
    await spend(client, budget)

@pytest.mark.kinformer_budget(requests=1)
async def test_without(client):
    pass
"""


def test_a_mark_sets_the_budget_of_a_test(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(COSTS)

    done = run_pytest(tmp_path, "asyncio_mode = auto", "kinformer_short_fixtures = true")
    assert "2 failed, 1 passed" in done.out, done.out + done.err
    assert "by dear made 1 requests, the budget is 0: GET /api/v1/namespaces/" in done.out
    assert "test_without has limits and does not use the fixture kinformer_budget" in done.out


def test_pytest_describes_the_short_fixtures_like_the_long_ones(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_nothing():\n    pass\n")

    said = run_pytest(tmp_path, "kinformer_short_fixtures = true", arguments=("--fixtures",)).out
    for text in ("A client that is allowed to do everything.", "A server for this test alone"):
        assert said.count(text) == 2


def test_one_project_may_have_tests_of_both_plugins(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"
        + "".join(
            f"@pytest.mark.{plugin}\nasync def test_{n}(kinformer_client, kinformer_fake_nodes):\n    pass\n"
            for n, plugin in enumerate(("anyio", "asyncio", "anyio", "asyncio"))
        )
    )

    done = run_pytest(tmp_path)
    assert done.status == 0, done.out + done.err
    assert "4 passed" in done.out
