"""Coordinated leader election: the control plane chooses, by LeaseCandidates. An actor plays it here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import anyio
import pytest

from kinformer.client import Client, NotFound, PatchType, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.leaderelection import (
    LeaderElector,
    LeadershipLost,
    LeaseCandidate,
    LeaseKeeper,
    LeaseLock,
)
from kinformer.models import V1beta1LeaseCandidate, V1CustomResourceDefinition, V1Lease
from tests.definitions import definition
from tests.turning import eventually, quiet, turn

NAMESPACE, LEASE = "kube-system", "things"
#: The kind is switched off by default, and the embedded server does not have it: as far as these tests go, it is the
#: same served as a custom resource.
KIND = definition("leasecandidates", "LeaseCandidate", "coordination.k8s.io", name="v1beta1", approved=True)


class Coordinator:
    """What kube-apiserver's leader election controller does: ping all, count who answers, name the oldest."""

    def __init__(self, client: Client, clock: FakeClock) -> None:
        self.candidates = client.resource(V1beta1LeaseCandidate)
        self.leases = client.resource(dict, V1Lease)
        self._clock = clock

    def _now(self) -> str:
        return f"{self._clock.now():%Y-%m-%dT%H:%M:%S.%f}Z"

    async def ping(self) -> None:
        for candidate in (await self.candidates.list(NAMESPACE)).items:
            patch = {"spec": {"pingTime": self._now()}}
            await self.candidates.patch(candidate.metadata.name, patch, NAMESPACE, patch_type=PatchType.MERGE)

    async def acked(self) -> list[str]:
        """Who has answered a ping."""
        found = (await self.candidates.list(NAMESPACE)).items
        return sorted(
            one.metadata.name for one in found if one.spec.ping_time and one.spec.renew_time >= one.spec.ping_time
        )

    async def elect(self, name: str) -> None:
        """Have the Lease name somebody, who is to lead from now on."""
        spec = {
            "holderIdentity": name,
            "strategy": "OldestEmulationVersion",
            "leaseDurationSeconds": 5,
            "renewTime": self._now(),
        }
        try:
            lease = await self.leases.get(LEASE, NAMESPACE)
        except NotFound:
            meta = {"name": LEASE, "namespace": NAMESPACE}
            body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}
            await self.leases.create(body, NAMESPACE)
        else:
            await self.leases.update({**lease, "spec": {**lease["spec"], **spec}})

    async def prefer(self, name: str) -> None:
        """Ask whoever leads to make room."""
        await self.leases.patch(LEASE, {"spec": {"preferredHolder": name}}, NAMESPACE)

    async def lease(self) -> dict[str, Any]:
        spec: dict[str, Any] = (await self.leases.get(LEASE, NAMESPACE))["spec"]
        return spec


class Member:
    def __init__(self, client: Client, clock: FakeClock, name: str, version: str = "1.36.0") -> None:
        self.name = name
        self.candidate = LeaseCandidate(
            client, NAMESPACE, name, LEASE, binary_version="1.36.0", emulation_version=version, clock=clock
        )
        lock = LeaseLock(client, NAMESPACE, LEASE, name)
        self.elector = LeaderElector(
            LeaseKeeper(lock, clock=clock, name=name), coordinated=True, release_on_cancel=True, clock=clock
        )
        self.leads = False
        self.ended = False
        self.error: LeadershipLost | None = None

    async def run(self) -> None:
        async def lead() -> None:
            self.leads = True
            try:
                await anyio.sleep_forever()
            finally:
                self.leads = False

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.candidate.run)
            try:
                await self.elector.run(lead)
            except LeadershipLost as error:
                self.error = error
            tasks.cancel_scope.cancel()
        self.ended = True


class World:
    def __init__(self, client: Client, clock: FakeClock, tasks: anyio.abc.TaskGroup) -> None:
        self.client = client
        self.clock = clock
        self.coordinator = Coordinator(client, clock)
        self._tasks = tasks

    async def start(self, name: str, version: str = "1.36.0") -> Member:
        member = Member(self.client, self.clock, name, version)
        self._tasks.start_soon(member.run)
        await turn(self.clock, 0.1)
        return member


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = FakeClock()
    async with (
        ApiServer(clock=clock, controllers=False, coordinated_leader_election=True) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
        anyio.create_task_group() as tasks,
    ):
        await client.resource(dict, V1CustomResourceDefinition).create(KIND)
        await quiet()
        yield World(client, clock, tasks)
        tasks.cancel_scope.cancel()


async def test_a_candidate_publishes_its_versions(world: World) -> None:
    await world.start("one", "1.35.0")
    found = await world.coordinator.candidates.get("one", NAMESPACE)

    assert found.spec.lease_name == LEASE
    assert (found.spec.binary_version, found.spec.emulation_version) == ("1.36.0", "1.35.0")
    assert found.spec.strategy == "OldestEmulationVersion"
    assert world.clock.now() - found.spec.renew_time < timedelta(seconds=1)


async def test_a_candidate_answers_a_ping_and_once(world: World) -> None:
    await world.start("one")
    await turn(world.clock, 20)
    await world.coordinator.ping()
    await turn(world.clock, 1)
    assert await world.coordinator.acked() == ["one"]
    version = (await world.coordinator.candidates.get("one", NAMESPACE)).metadata.resource_version
    await turn(world.clock, 60)
    assert (await world.coordinator.candidates.get("one", NAMESPACE)).metadata.resource_version == version


async def test_a_candidate_that_nobody_pings_is_renewed_every_five_minutes(world: World) -> None:
    await world.start("one")
    await turn(world.clock, 310)
    found = await world.coordinator.candidates.get("one", NAMESPACE)
    assert world.clock.now() - found.spec.renew_time < timedelta(seconds=15)


async def test_a_candidate_that_somebody_deletes_is_published_again(world: World) -> None:
    await world.start("one")
    await world.coordinator.candidates.delete("one", NAMESPACE)
    await turn(world.clock, 310)
    assert (await world.coordinator.candidates.get("one", NAMESPACE)).spec.lease_name == LEASE


async def test_nobody_leads_before_the_coordinator_names_it(world: World) -> None:
    one, two = await world.start("one"), await world.start("two")
    await turn(world.clock, 60)
    assert not one.leads
    assert not two.leads
    with pytest.raises(NotFound):
        await world.coordinator.lease()

    await world.coordinator.elect("two")
    await turn(world.clock, 5)
    assert (one.leads, two.leads) == (False, True)
    assert two.elector.guard.is_open
    lease = await world.coordinator.lease()
    assert (lease["holderIdentity"], lease["strategy"]) == ("two", "OldestEmulationVersion")
    await turn(world.clock, 60)
    assert two.leads


async def test_a_leader_gives_up_when_another_is_preferred(world: World) -> None:
    one, two = await world.start("one"), await world.start("two")
    await world.coordinator.elect("one")
    await turn(world.clock, 5)
    assert one.leads

    await world.coordinator.prefer("two")
    await turn(world.clock, 3)
    assert not one.leads
    assert not one.elector.guard.is_open
    assert one.ended
    assert "two is to hold it" in str(one.error)
    assert (await world.coordinator.lease())["holderIdentity"] == ""

    await world.coordinator.elect("two")
    await turn(world.clock, 5)
    assert two.leads


async def test_a_lease_that_ran_out_is_left_to_the_coordinator(world: World) -> None:
    one = await world.start("one")
    await world.coordinator.elect("somebody-else")
    await turn(world.clock, 60)
    assert not one.leads
    assert (await world.coordinator.lease())["holderIdentity"] == "somebody-else"
    await world.coordinator.elect("one")
    await eventually(lambda: one.leads, world.clock, seconds=5)


async def test_a_leader_that_finds_its_lease_run_out_ends(world: World) -> None:
    one = await world.start("one")
    await world.coordinator.elect("one")
    await turn(world.clock, 5)
    world.clock.turn(60)  # it stands still meanwhile
    await turn(world.clock, 5)
    assert one.ended
    assert not one.leads
