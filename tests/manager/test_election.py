"""A manager that takes part in an election: what it does while it stands by, when it takes over, when it loses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import anyio
import pytest

from kinformer.cache import CATCH_UP_TIMEOUT
from kinformer.client import Client, WrappedTransport, connect
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.leaderelection import LAST_WRITES_ANNOTATION, TERM_ANNOTATION, LeadershipLost
from kinformer.manager import Controller, ControllerContext, LeaderElection, Manager
from kinformer.models import CoreV1Event, V1ConfigMap, V1Lease, V1ObjectMeta
from tests.turning import eventually, quiet, turn


class Candidate:
    """A manager with one controller, which notes the keys that it is given; and what goes over its wire."""

    def __init__(
        self,
        client: Client,
        clock: FakeClock,
        identity: str,
        fenced: tuple[str, ...] = (),
        *,
        coordinated: bool = False,
    ) -> None:
        self.clock = clock
        self.synced: list[str] = []
        #: What was not told yet to the controller when each sync began, and what is to happen at which of them.
        self.untold_at: list[int] = []
        self.at_sync: dict[int, Callable[[], object]] = {}
        #: Is called when the release of the Lease is about to be sent.
        self.at_release: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint
        self.asked: list[str] = []
        #: What is asked for the sake of the election.
        self.campaign: list[str] = []
        self.watches_go_on = anyio.Event()
        self.watches_go_on.set()
        self.error: Exception | None = None
        self.ended = False
        self.scope = anyio.CancelScope()
        wired = client.through(lambda transport: _Wire(transport, self))
        self.manager = Manager(
            wired,
            known={"noted": self._make},
            clock=clock,
            endpoint=("127.0.0.1", 0),
            leader_election=LeaderElection(
                identity=identity,
                client=client.through(lambda transport: _Campaign(transport, self)),
                fenced=fenced,
                coordinated=coordinated,
            ),
        )

    def _make(self, context: ControllerContext) -> Controller:
        async def sync(key: str) -> None:
            self.synced.append(key)
            (informer,) = self.manager.context.informers.informers.values()
            self.untold_at.append(informer.untold)
            if happens := self.at_sync.get(len(self.synced)):
                happens()
                await anyio.lowlevel.checkpoint()

        self.recorder = context.recorder("noted")
        self.controller = Controller("noted", sync, clock=context.clock)
        return self.controller.watch(context.informers.informer_for(V1ConfigMap))

    @property
    def cached(self) -> list[str]:
        (informer,) = self.manager.context.informers.informers.values()
        return informer.indexer.list_keys() if informer.has_synced else []

    async def write(self, name: str) -> None:
        """Make a ConfigMap as one of its controllers would."""
        maps = self.manager.context.client.resource(V1ConfigMap)
        await maps.create(V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default")))

    async def run(self) -> None:
        with self.scope:
            try:
                await self.manager.run()
            except LeadershipLost as error:
                self.error = error
        self.ended = True


class _Wire(WrappedTransport):
    def __init__(self, transport: Any, candidate: Candidate) -> None:
        super().__init__(transport)
        self._candidate = candidate

    async def request(self, method: str, path: str, **request: Any) -> bytes:
        self._candidate.asked.append(f"{method} {path}")
        return await self._transport.request(method, path, **request)

    async def stream(self, path: str, *, params: Any, **request: Any) -> Any:
        self._candidate.asked.append(f"WATCH {path}")
        body = await self._transport.stream(path, params=params, **request)
        return _Body(body, self._candidate) if params.get("timeoutSeconds") != "1" else body


class _Campaign(WrappedTransport):
    def __init__(self, transport: Any, candidate: Candidate) -> None:
        super().__init__(transport)
        self._candidate = candidate

    async def request(self, method: str, path: str, *, body: Any = None, **request: Any) -> bytes:
        self._candidate.campaign.append(f"{method} {path}")
        if method == "PUT" and b'"leaseDurationSeconds":1,' in body:
            await self._candidate.at_release()
        return await self._transport.request(method, path, body=body, **request)


class _Body:
    def __init__(self, body: Any, candidate: Candidate) -> None:
        self._body = body
        self._candidate = candidate

    async def read(self) -> list[Any]:
        pieces: list[Any] = await self._body.read()
        await self._candidate.watches_go_on.wait()
        return pieces

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)


class World:
    def __init__(self, client: Client, clock: FakeClock, tasks: anyio.abc.TaskGroup) -> None:
        self.client = client
        self.clock = clock
        self._tasks = tasks
        self._candidates: list[Candidate] = []

    async def start(self, identity: str, fenced: tuple[str, ...] = (), *, coordinated: bool = False) -> Candidate:
        candidate = Candidate(self.client, self.clock, identity, fenced, coordinated=coordinated)
        self._candidates.append(candidate)
        self._tasks.start_soon(candidate.run)
        await quiet()
        return candidate

    async def create(self, name: str) -> None:
        await self.client.resource(V1ConfigMap).create(
            V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default"))
        )
        await quiet()

    async def lease(self) -> V1Lease:
        return await self.client.resource(V1Lease).get("kinformer-manager", "kube-system")

    async def take_note_away(self) -> None:
        patch = {"metadata": {"annotations": {LAST_WRITES_ANNOTATION: None}}}
        await self.client.resource(V1Lease).patch("kinformer-manager", patch, "kube-system")

    async def stop(self, candidate: Candidate) -> None:
        candidate.scope.cancel()
        await eventually(lambda: candidate.ended, self.clock)


@asynccontextmanager
async def running() -> AsyncIterator[World]:
    clock = FakeClock()
    async with (
        ApiServer(clock=clock, controllers=False) as server,
        connect(url=server.url, token=server.token, clock=clock) as client,
        anyio.create_task_group() as tasks,
    ):
        world = World(client, clock, tasks)
        yield world
        for candidate in world._candidates:
            candidate.scope.cancel()
        await eventually(lambda: all(candidate.ended for candidate in world._candidates), clock)
        tasks.cancel_scope.cancel()


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with running() as world:
        yield world


async def test_a_follower_has_everything_in_its_cache_and_nothing_in_its_queue(world: World) -> None:
    leader = await world.start("a")
    await world.create("one")
    follower = await world.start("b")
    await world.create("two")
    await turn(world.clock, 30)

    assert sorted(leader.synced) == ["default/one", "default/two"]
    assert sorted(follower.cached) == ["default/one", "default/two"]
    assert len(follower.controller.queue) == 0
    assert follower.synced == []


async def test_only_in_a_coordinated_election_a_manager_asks_to_be_chosen(world: World) -> None:
    alone, chosen = await world.start("a"), await world.start("b", coordinated=True)
    await turn(world.clock, 5)

    path = "/apis/coordination.k8s.io/v1beta1/namespaces/kube-system/leasecandidates"
    assert [any(path in asked for asked in each.campaign) for each in (alone, chosen)] == [False, True]


async def test_at_take_over_every_object_is_synced_and_nothing_is_listed(world: World) -> None:
    leader = await world.start("a")
    follower = await world.start("b")
    for number in range(50):
        await world.create(f"map-{number}")
    await turn(world.clock, 5)
    asked = follower.asked.copy()

    await world.stop(leader)
    await eventually(lambda: len(follower.synced) == 50, world.clock, seconds=10)

    new = follower.asked[len(asked) :]
    # To see whether the cache is as new as the claim, one object at most is listed.
    assert {"GET /api/v1/configmaps", "WATCH /api/v1/configmaps"} >= set(new)
    assert new.count("GET /api/v1/configmaps") <= 1


async def test_fenced_writes_carry_the_term_of_the_lease_also_after_an_edit(world: World) -> None:
    async def term_and_lease(candidate: Candidate, name: str) -> tuple[str, str]:
        await candidate.write(name)
        written = await world.client.resource(V1ConfigMap).get(name, "default")
        return written.metadata.annotations[TERM_ANNOTATION], str((await world.lease()).spec.lease_transitions)

    first = await world.start("a", ("configmaps",))
    terms = [await term_and_lease(first, "one")]
    await world.stop(first)
    second = await world.start("b", ("configmaps",))
    await turn(world.clock, 10)
    terms.append(await term_and_lease(second, "two"))
    await world.client.resource(V1Lease).patch(
        "kinformer-manager", {"spec": {"holderIdentity": "", "leaseTransitions": 7}}, "kube-system"
    )
    await turn(world.clock, 5)  # it takes the Lease back
    terms.append(await term_and_lease(second, "three"))

    assert terms == [("0", "0"), ("1", "1"), ("8", "8")]


async def test_at_take_over_first_objects_are_synced_while_last_are_queued(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinformer.cache.processor._AT_ONCE", 2)
    leader = await world.start("a")
    for number in range(12):
        await world.create(f"map-{number}")
    follower = await world.start("b")
    follower.untold_at.clear()

    await world.stop(leader)
    await eventually(lambda: len(follower.synced) == 12, world.clock, seconds=10)

    assert follower.untold_at[0] >= 8
    assert sorted(follower.synced) == sorted(f"default/map-{number}" for number in range(12))


async def test_when_a_take_over_breaks_off_the_next_leader_syncs_everything(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinformer.cache.processor._AT_ONCE", 2)
    first = await world.start("a")
    for number in range(12):
        await world.create(f"map-{number}")
    second = await world.start("b")
    await turn(world.clock, 5)
    second.at_sync[3] = second.scope.cancel

    await world.stop(first)
    await eventually(lambda: second.ended, world.clock, seconds=10)
    assert len(second.synced) == 3
    assert second.untold_at[-1] > 0
    third = await world.start("c")
    await eventually(lambda: len(third.synced) >= 12, world.clock, seconds=30)

    assert sorted(third.synced) == sorted(f"default/map-{number}" for number in range(12))


async def test_a_follower_after_a_broken_take_over_has_nothing_queued(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinformer.cache.processor._AT_ONCE", 2)
    first = await world.start("a")
    for number in range(12):
        await world.create(f"map-{number}")
    others = [await world.start(name) for name in "bc"]
    await turn(world.clock, 5)
    for other in others:
        other.at_sync[3] = other.scope.cancel

    await world.stop(first)
    await eventually(lambda: any(other.ended for other in others), world.clock, seconds=10)
    broke_off, stood_by = sorted(others, key=lambda other: not other.ended)
    stood_by.at_sync.clear()
    assert len(broke_off.synced) == 3
    assert (stood_by.synced, len(stood_by.controller.queue)) == ([], 0)
    await world.create("meanwhile")
    await eventually(lambda: len(stood_by.synced) >= 13, world.clock, seconds=30)

    assert {"default/meanwhile", *(f"default/map-{number}" for number in range(12))} == set(stood_by.synced)


@pytest.mark.parametrize("noted", [True, False], ids=["it left a note", "it left none"])
async def test_at_take_over_no_sync_precedes_the_last_leaders_writes(world: World, noted: bool) -> None:
    leader = await world.start("a")
    follower = await world.start("b")
    await turn(world.clock, 5)
    follower.watches_go_on = anyio.Event()
    await leader.write("written-last")
    await world.stop(leader)
    if not noted:
        await world.take_note_away()
    await turn(world.clock, 8)
    assert follower.manager.election is not None
    assert follower.manager.election.leads
    assert follower.cached == []
    assert not follower.controller.has_synced

    follower.watches_go_on.set()
    await turn(world.clock, 0.2)
    assert follower.synced == ["default/written-last"]


async def test_a_cache_that_stays_behind_delays_the_work_only_so_long(world: World) -> None:
    leader = await world.start("a")
    follower = await world.start("b")
    await turn(world.clock, 5)
    follower.watches_go_on = anyio.Event()
    await leader.write("one")
    await world.stop(leader)
    await eventually(lambda: follower.controller.has_synced, world.clock, seconds=CATCH_UP_TIMEOUT + 5)


async def test_the_next_leader_waits_only_for_noted_writes(world: World) -> None:
    leader = await world.start("a")
    follower = await world.start("b")
    await turn(world.clock, 5)
    await leader.write("one")
    await world.create("two")
    await turn(world.clock, 1)
    asked = len(follower.asked)
    await world.stop(leader)
    await eventually(lambda: follower.manager.election.leads, world.clock, seconds=5)  # type: ignore[union-attr]
    held = world.clock.monotonic()
    await eventually(lambda: len(follower.synced) == 2, world.clock, seconds=5)

    assert world.clock.monotonic() - held < 0.001
    assert follower.asked[asked:] == []


async def test_the_note_of_a_leader_is_gone_once_another_leads(world: World) -> None:
    leader = await world.start("a")
    await leader.write("one")
    await world.stop(leader)
    assert LAST_WRITES_ANNOTATION in (await world.lease()).metadata.annotations
    await world.start("b")
    await turn(world.clock, 5)
    assert (await world.lease()).spec.holder_identity == "b"
    assert LAST_WRITES_ANNOTATION not in ((await world.lease()).metadata.annotations or {})


async def test_a_note_from_before_the_last_leader_counts_for_nothing(world: World) -> None:
    first = await world.start("a")
    await first.write("one")
    await world.stop(first)
    note = (await world.lease()).metadata.annotations
    # A leader that knows nothing of notes: it leaves what it finds, and counts its own term.
    leases = world.client.resource(V1Lease)
    spec = {"leaseTransitions": 1, "holderIdentity": "other"}
    await leases.patch("kinformer-manager", {"spec": spec}, "kube-system")
    follower = await world.start("b")
    await turn(world.clock, 1)
    asked = len(follower.asked)
    await leases.patch("kinformer-manager", {"spec": {"holderIdentity": ""}}, "kube-system")
    assert (await world.lease()).metadata.annotations == note
    await eventually(lambda: follower.controller.has_synced, world.clock, seconds=5)
    assert [line.partition(" ")[0] for line in follower.asked[asked:]] == ["GET", "WATCH"]


async def test_a_leader_that_loses_its_lease_ends_its_controllers_and_says_so(world: World) -> None:
    leader = await world.start("a")
    await turn(world.clock, 3)
    assert leader.controller.has_synced
    leases = world.client.resource(V1Lease)
    await leases.patch("kinformer-manager", {"spec": {"holderIdentity": "c"}}, "kube-system")
    await turn(world.clock, 3)

    assert leader.ended
    assert not leader.controller.has_synced
    assert str(leader.error) == "lost the lease kube-system/kinformer-manager: c holds it now"


async def test_events_are_written_while_the_lease_is_being_released(world: World) -> None:
    one = await world.start("one")
    await world.create("a")
    await eventually(lambda: one.synced, world.clock)
    written: list[str] = []

    async def record() -> None:
        one.recorder.event(V1ConfigMap(metadata=V1ObjectMeta(name="a", namespace="default")), "Normal", "Done", "it is")
        await quiet()
        written.extend(event.reason for event in (await world.client.resource(CoreV1Event).list("default")).items)

    one.at_release = record
    await one.manager.stop()

    assert written == ["Done"]


async def test_a_follower_is_ready_when_its_informers_are(world: World) -> None:
    await world.start("a")
    follower = await world.start("b")
    await turn(world.clock, 1)
    assert follower.manager.endpoint is not None
    url = f"http://127.0.0.1:{follower.manager.endpoint.port}/readyz"
    async with aiohttp.ClientSession() as session:

        async def status() -> int:
            async with session.get(url) as response:
                return response.status

        assert await status() == 200
        await follower.manager.context.informers.shutdown()
        assert await status() == 500
