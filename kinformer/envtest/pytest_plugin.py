"""pytest fixtures: an API server for each test, a client for it, and nodes in it.

A server starts in some 3 ms, so every test has its own and shares nothing. The fixtures work with anyio's pytest
plugin, and with pytest-asyncio in any of its modes::

    async def test_something(kinformer_client: Client) -> None:
        await kinformer_client.resource(V1ConfigMap).create(...)

A mark names the installed controllers that the server runs for a test, a class or a module::

    @pytest.mark.kinformer_controllers("deployment", "replicaset")
    async def test_something(kinformer_client: Client, kinformer_fake_nodes: FakeNodes) -> None: ...

Another mark has the limits of what controllers may cost; see :class:`~kinformer.envtest.Budget`. They are checked when
the test is over::

    @pytest.mark.kinformer_budget(requests=3, writes=3, objects={"sites": 2})
    async def test_something(kinformer_client: Client, kinformer_budget: Budget) -> None:
        manager = Manager(kinformer_budget.client(kinformer_client), known={"site-operator": make_controller})
        kinformer_budget.watch(manager)
        ...

To change the server's parameters, override the fixture `kinformer_api_server_options`; they are those of
:class:`ApiServer`. With ``kinformer_short_fixtures = true`` in pytest's configuration, the fixtures also have shorter
names (`api_server`, `client`, `fake_nodes`, `api_server_options`, `budget`), for projects without such fixtures.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import AsyncIterator, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import pytest

if TYPE_CHECKING:
    from kinformer.client import Client
    from kinformer.envtest import ApiServer, Budget
    from kinformer.envtest.nodes import FakeNodes

__all__ = (
    "kinformer_api_server",
    "kinformer_api_server_options",
    "kinformer_budget",
    "kinformer_client",
    "kinformer_fake_nodes",
)

T = TypeVar("T")


@pytest.fixture
def kinformer_api_server_options() -> dict[str, Any]:
    """The parameters of the server."""
    return {}


@pytest.fixture
async def kinformer_api_server(
    kinformer_api_server_options: dict[str, Any], request: pytest.FixtureRequest
) -> AsyncIterator[ApiServer]:
    """A server for this test alone, with the controllers that its mark `kinformer_controllers` names."""
    from kinformer.envtest import ApiServer

    options = dict(kinformer_api_server_options)
    if (mark := request.node.get_closest_marker("kinformer_controllers")) is not None:
        options["controllers"] = mark.args
    async with _in_a_task(ApiServer(**options)) as server:
        yield server


@pytest.fixture
async def kinformer_client(kinformer_api_server: ApiServer) -> AsyncIterator[Client]:
    """A client that is allowed to do everything."""
    from kinformer.client import connect

    server = kinformer_api_server
    ca = server.authority.certificate if server.authority is not None else None
    async with _in_a_task(connect(url=server.url, token=server.token, ca_data=ca)) as client:
        yield client


@pytest.fixture
async def kinformer_fake_nodes(kinformer_client: Client) -> AsyncIterator[FakeNodes]:
    """Nodes that run the pods that are bound to them, until the test is over."""
    async with _in_a_task(_running_nodes(kinformer_client)) as nodes:
        yield nodes


@pytest.fixture
def kinformer_budget() -> Budget:
    """What the controllers of this test cost. The limits of the mark `kinformer_budget` hold for it."""
    from kinformer.envtest import Budget

    return Budget()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Compare what a test has cost with the limits of its mark."""
    yield
    if (mark := item.get_closest_marker("kinformer_budget")) is not None:
        budget = getattr(item, "funcargs", {}).get("kinformer_budget")
        assert budget is not None, f"{item.name} has limits and does not use the fixture kinformer_budget"
        budget.check(**mark.kwargs)


@asynccontextmanager
async def _running_nodes(client: Client) -> AsyncIterator[FakeNodes]:
    from kinformer.envtest.nodes import FakeNodes

    nodes = FakeNodes(client)
    async with anyio.create_task_group() as group:
        group.start_soon(nodes.run)
        await nodes.wait_registered()
        yield nodes
        group.cancel_scope.cancel()


@asynccontextmanager
async def _in_a_task(context: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    """
    Enter and leave a context in one task.

    pytest-asyncio sets a fixture up in one task and takes it down in another. A cancel scope needs one for both.
    """
    from kinformer.blocking import running_loop

    entered: asyncio.Future[T] = running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        try:
            async with context as value:
                entered.set_result(value)
                await over.wait()
        except BaseException as error:
            if entered.done():
                raise
            entered.set_exception(error)

    # Not in a task group, which is such a scope itself. The task is awaited below in every case.
    holder = asyncio.create_task(hold(), name="fixture of kinformer")
    try:
        yield await entered
    finally:
        over.set()
        await holder


_ASYNC = ("kinformer_api_server", "kinformer_client", "kinformer_fake_nodes")

#: The functions of these fixtures: the ones above, and their copies for pytest-asyncio.
_plain: dict[str, Any] = {}
_declared: dict[str, Any] = {}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
    """
    Give an async fixture to the right plugin: to anyio's plugin in a test that uses it, otherwise to pytest-asyncio.
    """
    name = fixturedef.argname
    if name in _ASYNC and fixturedef.func.__module__ == __name__ and request.config.pluginmanager.hasplugin("asyncio"):
        plain = _plain.setdefault(name, fixturedef.func)
        # It is set for each test that sets the fixture up: pytest-asyncio looks at it again when it calls the test.
        fixturedef.func = plain if "anyio_backend" in request.fixturenames else _declare(name, plain)
    return (yield)


def _declare(name: str, func: Any) -> Any:
    """
    A copy of a function, declared as a fixture for pytest-asyncio. The function itself stays usable for anyio's plugin.
    """
    if name not in _declared:
        import pytest_asyncio

        copy = types.FunctionType(func.__code__, func.__globals__, func.__name__, func.__defaults__, func.__closure__)
        pytest_asyncio.fixture(copy)
        _declared[name] = copy
    return _declared[name]


def pytest_addoption(parser: pytest.Parser) -> None:
    # The options of kinformer.simulation are declared here. So that package is not imported if no test uses it.
    group = parser.getgroup("kinformer", "simulated worlds")
    group.addoption("--simulate-plan", metavar="PLAN", help="Play this plan in tests with @simulate, and nothing else.")
    group.addoption("--simulate-seeds", metavar="N", help="How many random runs a test with @simulate has.")
    group.addoption("--simulate-first-seed", metavar="N", help="The seed at which these runs begin; 0 if not given.")
    group.addoption("--simulate-pages", metavar="FOLDER", help="Write a page with a timeline for each failure here.")
    parser.addini(
        "kinformer_short_fixtures",
        "Whether kinformer's fixtures are there as api_server, api_server_options, budget, client and fake_nodes, too.",
        type="bool",
        default=False,
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "kinformer_controllers(*names): run these installed controllers in the test's API server"
    )
    config.addinivalue_line(
        "markers",
        "kinformer_budget(requests, writes, objects, object_bytes): the test fails if its controllers cost more",
    )
    if config.getini("kinformer_short_fixtures"):
        config.pluginmanager.import_plugin("kinformer.envtest.short_fixtures")
