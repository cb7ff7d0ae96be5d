"""The server's own controllers: which of them run, and what they do with what is odd."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest
from structlog.testing import capture_logs

from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer, ServerError
from kinformer.envtest.loops import LOOPS
from kinformer.meta.names import GroupResource
from tests.envtest.conftest import Http

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
BOUND = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
NOBODY = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "u"}


async def what_is_left(http: Http, clock: FakeClock) -> set[str]:
    """What the server leaves of three objects that each wait for one of its controllers."""
    await http.create("/api/v1/namespaces", {"metadata": {"name": "going"}})
    await http("DELETE", "/api/v1/namespaces/going")
    await http.create(CONFIG_MAPS, {"metadata": {"name": "orphan", "ownerReferences": [NOBODY]}})
    await http.create(PODS, {"metadata": {"name": "ending"}, "spec": BOUND})
    await http("DELETE", f"{PODS}/ending")
    clock.turn(31)
    await anyio.wait_all_tasks_blocked()
    paths = ("/api/v1/namespaces/going", f"{CONFIG_MAPS}/orphan", f"{PODS}/ending")
    return {path.rpartition("/")[2] for path in paths if (await http("GET", path))[0] == 200}


@pytest.mark.parametrize(
    ("controllers", "left"),
    [
        (True, set()),
        (False, {"going", "orphan", "ending"}),
        (("kubelet",), {"going", "orphan"}),
        (("garbage-collector-controller", "kubelet"), {"going"}),
        (LOOPS, set()),
    ],
)
async def test_a_server_runs_the_controllers_that_it_is_told_to(
    controllers: bool | Collection[str], left: set[str]
) -> None:
    clock = FakeClock()
    async with (
        ApiServer(clock=clock, controllers=controllers, plugins=False, token="t") as server,
        aiohttp.ClientSession(headers={"Authorization": "Bearer t"}) as session,
    ):
        assert await what_is_left(Http(server, session), clock) == left


def test_a_controller_that_the_server_does_not_have_is_named() -> None:
    with pytest.raises(ServerError, match="no controller 'jobs': the server's own are garbage-collector-controller, "):
        ApiServer(controllers=("jobs",))


async def test_a_pod_whose_grace_began_before_a_restart_ends(tmp_path: Path) -> None:
    clock = FakeClock()
    async with (
        ApiServer(clock=clock, plugins=False, token="t", data=tmp_path / "data.db") as server,
        aiohttp.ClientSession(headers={"Authorization": "Bearer t"}) as session,
    ):
        http = Http(server, session)
        await http.create(PODS, {"metadata": {"name": "p"}, "spec": BOUND})
        await http("DELETE", f"{PODS}/p")
        await server.restart()
        clock.turn(31)
        await anyio.wait_all_tasks_blocked()
        assert (await http("GET", f"{PODS}/p"))[0] == 404


@pytest.mark.parametrize("version", ["a/b/c", "x.y/v1"])
async def test_an_owner_of_a_kind_that_nobody_knows_keeps_its_dependents(http: Http, version: str) -> None:
    owner: dict[str, Any] = {**NOBODY, "apiVersion": version, "kind": "Odd"}
    body: dict[str, Any] = {"metadata": {"name": "a", "namespace": "default", "uid": "a", "ownerReferences": [owner]}}
    if version == "a/b/c":
        code, refused = await http("POST", CONFIG_MAPS, body)
        assert (code, refused["details"]["causes"][0]["field"]) == (422, "metadata.ownerReferences.apiVersion")
    with capture_logs() as logs:
        # Data from elsewhere may hold what is not taken any more.
        http.server.storage.create(GroupResource("", "configmaps"), "default", "a", body)
        await anyio.wait_all_tasks_blocked()
    assert (await http("GET", f"{CONFIG_MAPS}/a"))[0] == 200
    told = [line for line in logs if line["log_level"] in ("warning", "error")]
    assert len(told) == (version == "a/b/c")
    assert all("\n" not in str(line) and line["object"] == "default/a" for line in told)


def reference(owner: dict[str, Any], **more: Any) -> dict[str, Any]:
    meta = owner["metadata"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"], **more}


async def names(http: Http, path: str = CONFIG_MAPS) -> set[str]:
    await anyio.wait_all_tasks_blocked()
    _, found = await http("GET", path)
    return {one["metadata"]["name"] for one in found["items"]}


async def test_an_owner_of_itself_through_others_is_deleted_in_the_foreground(http: Http) -> None:
    one = await http.create(CONFIG_MAPS, {"metadata": {"name": "one"}})
    owners = [reference(one, blockOwnerDeletion=True)]
    two = await http.create(CONFIG_MAPS, {"metadata": {"name": "two", "ownerReferences": owners}})
    owners = [reference(two, blockOwnerDeletion=True)]
    one["metadata"]["ownerReferences"] = owners
    code, _ = await http("PUT", f"{CONFIG_MAPS}/one", one)
    assert code == 200
    assert await names(http) >= {"one", "two"}

    await http("DELETE", f"{CONFIG_MAPS}/one?propagationPolicy=Foreground")
    assert not await names(http) & {"one", "two"}


async def test_an_owner_of_a_wrong_kind_or_namespace_is_no_owner(http: Http) -> None:
    await http.create("/api/v1/namespaces", {"metadata": {"name": "other"}})
    elsewhere = "/api/v1/namespaces/other/configmaps"
    owner = await http.create(CONFIG_MAPS, {"metadata": {"name": "owner"}})
    await http.create(CONFIG_MAPS, {"metadata": {"name": "good", "ownerReferences": [reference(owner)]}})
    wrong = reference(owner, kind="Secret")
    await http.create(CONFIG_MAPS, {"metadata": {"name": "bad", "ownerReferences": [wrong]}})
    await http.create(elsewhere, {"metadata": {"name": "far", "ownerReferences": [reference(owner)]}})

    assert await names(http) & {"owner", "good", "bad"} == {"owner", "good"}
    assert "far" not in await names(http, elsewhere)


async def test_nothing_of_a_namespace_goes_before_its_pods() -> None:
    clock = FakeClock()
    async with (
        ApiServer(clock=clock, plugins=False, token="t") as server,
        aiohttp.ClientSession(headers={"Authorization": "Bearer t"}) as session,
    ):
        http = Http(server, session)
        await http.create("/api/v1/namespaces", {"metadata": {"name": "going"}})
        going = "/api/v1/namespaces/going"
        await http.create(f"{going}/configmaps", {"metadata": {"name": "needed"}})
        await http.create(f"{going}/pods", {"metadata": {"name": "ending"}, "spec": BOUND})
        await http("DELETE", going)
        assert await names(http, f"{going}/configmaps") == {"needed"}

        clock.turn(31)
        await anyio.wait_all_tasks_blocked()
        assert (await http("GET", going))[0] == 404
