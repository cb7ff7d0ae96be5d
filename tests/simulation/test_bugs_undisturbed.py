"""The operators with the public bugs work, and so do their mended twins, as long as nothing goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from kinformer.client import Client, Resource, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.manager import Manager
from kinformer.models import V1ConfigMap, V1Pod, V1PodDisruptionBudget, V1StatefulSet
from tests.golden.pace import scenario_clock
from tests.simulation.bugs import BUGS
from tests.simulation.bugs.base import Bug, Operator, User
from tests.simulation.bugs.objects import NAMESPACE
from tests.turning import turn

MODULES = sorted(Path(__file__).parent.joinpath("bugs").glob("*_*[0-9].py"))


class Cluster:
    """A server and a manager on a clock that is turned: what a user needs of a world."""

    def __init__(self, client: Client, clock: FakeClock) -> None:
        self.client = client
        self._clock = clock

    async def settled(self) -> None:
        await turn(self._clock, 60)

    def assert_always(self, check: Callable[[Any], object]) -> None:
        """Where nothing goes wrong there is nothing to check."""


async def what_comes_of(bug: Bug, operator: type[Operator]) -> dict[str, Any]:
    clock = scenario_clock()
    async with ApiServer(clock=clock) as server, connect(url=server.url, token=server.token, clock=clock) as client:
        user = User(Cluster(client, clock))
        await user.define(operator.definition())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Manager(client, known={"operator": operator.make_controller}, clock=clock).run)
            await bug.scenario(user)
            tasks.cancel_scope.cancel()
        children: dict[str, Any] = {}
        for type_ in (V1ConfigMap, V1Pod, V1PodDisruptionBudget, V1StatefulSet):
            resource: Resource[Any] = client.resource(type_)
            for child in (await resource.list(NAMESPACE, label_selector="cluster")).items:
                state = child.data if type_ is V1ConfigMap else child.spec
                children[f"{type_.__name__}/{child.metadata.name}"] = state
        return children


@pytest.mark.parametrize("bug", BUGS, ids=str)
async def test_both_twins_do_what_users_ask_for(bug: Bug) -> None:
    broken = await what_comes_of(bug, bug.broken)
    mended = await what_comes_of(bug, bug.mended)

    assert broken, "nothing was made"
    assert broken == mended


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.stem)
def test_an_operator_has_fewer_than_sixty_lines_and_names_the_public_report(file: Path) -> None:
    text = file.read_text()
    code = text[text.index("class Broken") : text.index("async def scenario")]

    assert len(code.splitlines()) < 60
    assert text.startswith('"""' + next(bug.issue for bug in BUGS if bug.broken.__module__.endswith(file.stem)))


def test_each_bug_is_in_a_module_of_its_own() -> None:
    assert len(MODULES) == len(BUGS) >= 12
