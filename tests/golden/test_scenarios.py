"""Golden scenarios settle as with Kubernetes' controllers, each being allowed what it declares and nothing else.

That they come out the same where managers die and caches are stale is played by ``tests/simulation/test_recorded.py``.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import anyio
import pytest
from click.testing import CliRunner

from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.envtest.admission import AdmissionContext
from kinformer.envtest.certificates import Authority
from kinformer.envtest.plugins import StoredObjects
from kinformer.manager import known_controllers
from kinformer_controllers.shared.quota.admission import QuotaPlugin
from tests.controllers.scenarios.allowed import managers_with_their_permissions, rules_of
from tests.golden.__main__ import golden
from tests.golden.controllers import SCENARIOS, apis_for, controllers_for, missing_for
from tests.golden.pace import NotSettled, RealPace, TurnedPace, scenario_clock
from tests.golden.scenario import Scenario, ScenarioError, replay
from tests.golden.scenario_command import serving

KNOWN = known_controllers()

#: The server's own time goes on: only then it marks a pod before it removes it, and that is seen.
ITS_OWN_TIME = ("ep_", "eps_")
#: The server enforces quotas.
WITH_QUOTAS = ("quota_", "rc_quota_refused")


def _played(file: Path) -> Any:
    """
    A case for a file. One whose controller is not installed is reported as a failure that is expected, with the name
    of the controller. It is played once a controller of that name is registered.
    """
    missing = missing_for(file.stem, KNOWN)
    reason = f"{file.stem}: there is no {' and no '.join(missing)} yet"
    return pytest.param(file, id=file.stem, marks=[pytest.mark.xfail(run=False, reason=reason)] if missing else [])


@pytest.mark.parametrize("file", [_played(file) for file in sorted(SCENARIOS.glob("*.json"))])
async def test_this_scenario_settles_as_with_kubernetes_controllers(file: Path) -> None:
    clock = scenario_clock()
    enforces = file.stem.startswith(WITH_QUOTAS)
    server = (
        ApiServer(controllers=False)
        if file.stem.startswith(ITS_OWN_TIME)
        else ApiServer(
            clock=clock,
            plugins=not enforces,
            controllers=False,
            apis=apis_for(controllers_for(file.stem, KNOWN) or ()),
        )
    )
    async with server:
        if enforces:
            context = AdmissionContext(StoredObjects(server.operations), server.clock)
            server.admission.plugins.append(QuotaPlugin(context))
        rules = {name: rules_of(name) for name in controllers_for(file.stem, KNOWN) or ()}
        async with managers_with_their_permissions(server, rules, clock) as asking:
            outcome = await replay(Scenario.read(file), server.url, server.token, pace=TurnedPace(clock))

    assert not [refusal for transport in asking.values() for refusal in transport.refused]
    assert not outcome.problem, outcome.problem


async def test_the_server_of_a_scenario_does_no_controllers_work() -> None:
    """Each scenario was recorded with its controllers alone: nothing collected garbage."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "gone"}
    metadata = {"name": "c", "ownerReferences": [{**owner, "uid": "1"}]}
    orphan = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    left = {"metadata": {"name": "c", "namespace": "<ns>", "ownerReferences": [owner]}}
    scenario = Scenario("made_up", [{"create": [orphan]}, {"snapshot": ["ConfigMap"]}], [{"ConfigMap": [left]}])
    clock = scenario_clock()
    async with serving(clock=clock) as (url, token):
        outcome = await replay(scenario, url, token, pace=TurnedPace(clock))

    assert not outcome.problem, outcome.problem


async def test_a_difference_is_shown_and_nothing_is_left_behind() -> None:
    namespace = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    scenario = Scenario("made_up", [{"try_create": namespace}, {"snapshot": ["Pod"]}], [{"Pod": ["something"]}])
    clock = scenario_clock()
    async with serving(clock=clock) as (url, token):
        outcome = await replay(scenario, url, token, pace=TurnedPace(clock))

    assert '+  "try_create": "ConfigMap/c"' in outcome.problem


async def test_a_step_that_the_server_refuses_or_nobody_knows_is_named() -> None:
    async with serving() as (url, token):
        refused = await replay(Scenario("made_up", [{"delete": {"kind": "Pod", "name": "nobody"}}], []), url, token)
        unknown = await replay(Scenario("made_up", [{"juggle": {}}], []), url, token)

    assert refused.problem.startswith('delete {"kind": "Pod", "name": "nobody"}: 404')
    assert unknown.problem == "unknown step 'juggle'"


async def test_schedulers_drivers_and_metrics_are_played_by_steps() -> None:
    claim = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}
    device = {"request": "r", "driver": "d.x.io", "pool": "p", "device": "d"}
    affinity = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n7"]}]}]}
    pod = {"containers": [{"name": "c", "image": "i"}]}
    pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": affinity}}
    volume = {"attacher": "d.x.io", "nodeName": "${ns}-a", "source": {"persistentVolumeName": "v"}}
    of_metrics = Scenario.read(SCENARIOS / "hpa_up.json").steps[0]
    steps = [
        {"create": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": pod}]},
        {"create": [{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}}]},
        {"create": {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "${ns}-v"}}},
        {"ensure_in": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "kube-system"}}},
        of_metrics,
        {"run_ds": {}},
        {"pod_metrics": {"usage": {"cpu": "5m"}}},
        {"pod_metrics": {"usage": {"cpu": "6m"}}},
        {"attach": {}},
        {"patch": {"kind": "ResourceClaim", "name": "c", "subresource": "status", "body": {"status": {}}}},
        {"reserve": {"claim": "c", "pod": "p"}},
        {"exists": [["kube-system", "secrets", "s"], ["kube-system", "secrets", "t"]]},
        {"snapshot": ["Pod", "PodMetrics", "VolumeAttachment", "ResourceClaim", "Secret@-x"]},
    ]
    steps[1]["create"][0]["spec"] = claim
    steps[2]["create"]["spec"] = volume
    steps[9]["patch"]["body"]["status"] = {"allocation": {"devices": {"results": [device]}}}
    got: list[Any] = []
    clock = scenario_clock()
    async with serving(clock=clock) as (url, token):
        scenario = Scenario("made_up", steps, [])
        same = lambda seen, _: got.extend(seen) or True  # noqa: E731
        outcome = await replay(scenario, url, token, pace=TurnedPace(clock), same=same)

    assert not outcome.problem, outcome.problem
    exists, state = got
    assert exists == {"exists": [True, False]}
    assert state["Pod"][0]["spec"]["nodeName"] == "n7"
    assert state["PodMetrics"][0]["containers"] == [{"name": "c", "usage": {"cpu": "6m"}}]
    assert state["VolumeAttachment"] == [{"metadata": {"name": "<va>"}, "spec": ANY, "status": {"attached": True}}]
    assert state["ResourceClaim"][0]["status"]["reservedFor"] == [{"resource": "pods", "name": "p"}]
    assert state["Secret@-x"] == []


async def test_a_state_that_never_settles_is_given_up() -> None:
    clock, looks = FakeClock(), itertools.count()

    async def look() -> int:
        return next(looks)

    with pytest.raises(NotSettled, match="did not settle within 60 s"):
        await TurnedPace(clock, timeout=60.0).settle(2.0, look, lambda: False)
    with pytest.raises(NotSettled, match="did not settle within 0 s"):
        await RealPace(between=0.0, timeout=0.0).settle(2.0, look, lambda: False)
    await RealPace(patience=0.0).settle(2.0, look, lambda: False)


async def test_a_state_settles_when_nothing_is_due_any_longer_that_changes_it() -> None:
    clock, changes = FakeClock(), 0

    async def change() -> None:
        nonlocal changes
        for seconds in (1.0, 1.5, 1.0, 9.0):
            await clock.sleep(seconds)
            changes += 1

    async def look() -> int:
        return changes

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(change)
        await TurnedPace(clock).settle(2.0, look, lambda: False)
        assert changes == 3
        tasks.cancel_scope.cancel()


async def test_controllers_and_scenario_trust_the_authority_of_a_server_with_https(tmp_path: Path) -> None:
    clock, ca = scenario_clock(), tmp_path / "ca.crt"
    scenario = Scenario.read(SCENARIOS / "sa_default.json")
    async with ApiServer(tls=True, clock=clock, controllers=False) as server:
        assert server.authority is not None
        ca.write_bytes(server.authority.certificate)
        names = controllers_for(scenario.name, KNOWN) or ()
        async with serving(server.url, server.token, ca_file=ca, controllers=names, clock=clock) as (url, token):
            outcome = await replay(scenario, url, token, ca_file=ca, pace=TurnedPace(clock))

    assert not outcome.problem, outcome.problem


async def test_a_server_whose_certificate_another_authority_signed_is_refused(tmp_path: Path) -> None:
    ca = tmp_path / "another.crt"
    ca.write_bytes(Authority().certificate)
    async with ApiServer(tls=True) as server:
        outcome = await replay(Scenario("made_up", [], []), server.url, server.token, ca_file=ca)

    assert "certificate verify failed" in outcome.problem


async def test_a_server_that_is_not_there_is_named() -> None:
    outcome = await replay(Scenario("made_up", [], []), "http://127.0.0.1:1")

    assert outcome.problem.startswith("POST /api/v1/namespaces: Cannot connect to host 127.0.0.1:1")


def test_a_file_that_is_no_scenario_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")

    with pytest.raises(ScenarioError, match=r"broken\.json: not a scenario"):
        Scenario.read(broken)
    with pytest.raises(ScenarioError, match="No such file"):
        Scenario.read(tmp_path / "missing.json")


def test_the_command_plays_files_and_says_what_came_of_them(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    steps = [{"create": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c-{i}"}, "x-count": 2}}]
    good.write_text(json.dumps({"name": "good", "steps": steps, "want": []}))
    bad.write_text(json.dumps({"name": "bad", "steps": steps, "want": [{"Pod": []}]}))

    played, missing = (
        CliRunner().invoke(golden, ["scenario", "--no-controllers", *map(str, files)])
        for files in ((good, bad), (tmp_path / "none.json",))
    )

    assert played.exit_code == 1
    assert "good: passed in" in played.stdout
    assert "bad: failed in" in played.stdout
    assert played.stdout.endswith("1 passed, 1 failed\n")
    assert missing.exit_code == 1
    assert missing.stderr == f"Error: {tmp_path / 'none.json'}: No such file or directory\n"
