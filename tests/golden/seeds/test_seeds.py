"""Random scenarios: a sample, settled here as Kubernetes' own controllers settled it on a real server."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest

from kinformer.envtest import ApiServer
from kinformer.envtest.loops import WITHOUT_KUBELET
from tests.golden.api import Api
from tests.golden.controllers import apis_for
from tests.golden.pace import TurnedPace, scenario_clock
from tests.golden.scenario_command import serving
from tests.golden.seeds import compare
from tests.golden.seeds.generate import CONTROLLERS, FAMILIES, FLAGS, plan_of
from tests.golden.seeds.play import namespace_of, play
from tests.golden.seeds.watching import Stored

#: What kube-controller-manager 1.36 on a real kube-apiserver made of some seeds of a family, by seed.
RECORDED = {file.stem.split(".")[0]: compare.read(file) for file in (Path(__file__).parent / "recorded").iterdir()}


@pytest.mark.parametrize(
    ("family", "seed"), [(family, seed) for family in sorted(RECORDED) for seed in RECORDED[family]]
)
async def test_this_seed_settles_as_with_kubernetes_controllers(family: str, seed: int) -> None:
    clock = scenario_clock()
    controllers = [*CONTROLLERS, *getattr(FAMILIES[family], "controllers", ())]
    async with (
        ApiServer(clock=clock, controllers=WITHOUT_KUBELET, apis=apis_for(controllers)) as server,
        serving(server.url, server.token, controllers=controllers, flags=FLAGS, clock=clock) as (url, token),
        aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {token}"}) as session,
    ):
        api = Api(session, namespace_of(seed))
        played = await play(
            plan_of(seed, family), api, TurnedPace(clock), now=clock.now, changes=Stored(server.storage)
        )

    problem = compare.first_difference(compare.as_read(played), RECORDED[family][seed])
    assert not problem, problem


def test_the_first_difference_names_seed_steps_and_values() -> None:
    def outcome(replicas: int) -> dict[str, object]:
        states = [["begin", {"Pod": []}], ["scale to 2", {"Pod": [], "Job": [{"status": {"active": replicas}}]}]]
        return {"seed": 7, "title": "Job", "states": [*states, ["end", {"Pod": [replicas]}]]}

    problem = compare.first_difference(outcome(1), outcome(2))

    assert problem.startswith("seed 7 (Job) differs in Job after: begin; scale to 2\n")
    assert '\n+    "active": 1\n' in problem
    assert not compare.first_difference(outcome(1), outcome(1))
