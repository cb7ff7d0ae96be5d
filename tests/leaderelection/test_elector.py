from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from structlog.testing import capture_logs

from kinformer.client import ClientError, ConnectionLost
from kinformer.clock import FakeClock
from kinformer.leaderelection import ElectionRecord, LeaderElector, LeadershipLost, LeaseKeeper
from kinformer.leaderelection.guard import GuardedTransport
from tests.leaderelection.locks import MemoryLock, Shared
from tests.metrics import metric_value


class Candidate:
    """An elector, its work, and what became of it."""

    def __init__(
        self,
        shared: Shared,
        clock: FakeClock,
        identity: str = "me",
        *,
        release: bool = True,
        jitter: float = 0.0,
        work: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.lock = MemoryLock(shared, identity)
        self.leaders: list[str] = []
        self.elector = LeaderElector(
            LeaseKeeper(self.lock, clock=clock, name=identity),
            release_on_cancel=release,
            on_new_leader=self.leaders.append,
            clock=clock,
            random=lambda: jitter,
        )
        self.working = False
        self.error: Exception | None = None
        self.ended = False
        self._work = work or anyio.sleep_forever
        self.scope = anyio.CancelScope()

    async def run(self) -> None:
        with self.scope:
            try:
                await self.elector.run(self._lead)
            except LeadershipLost as error:
                self.error = error
        self.ended = True

    async def _lead(self) -> None:
        self.working = True
        try:
            await self._work()
        finally:
            self.working = False


@asynccontextmanager
async def running(*candidates: Candidate) -> AsyncIterator[None]:
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for candidate in candidates:
                tasks.start_soon(candidate.run)
            yield
            tasks.cancel_scope.cancel()


def at_call(name: str, doing: Callable[[], Awaitable[None]]) -> Callable[[str], Awaitable[None]]:
    async def before(called: str) -> None:
        if called == name:
            await doing()

    return before


async def hang() -> None:
    await anyio.sleep_forever()


async def fail() -> None:
    raise ClientError("the server is away")


async def test_the_second_leads_a_lease_after_the_first_has_gone() -> None:
    shared, clock = Shared(), FakeClock()
    one, two = Candidate(shared, clock, "one", release=False), Candidate(shared, clock, "two")
    async with running(one, two):
        await clock.advance(60)
        assert (one.working, two.working) == (True, False)

        one.scope.cancel()
        await clock.advance(14)
        assert (one.working, two.working) == (False, False)
        await clock.advance(5)  # the last renewal was seen a retry later, and the lease is looked at every retry
        assert two.working
    assert one.leaders == ["one"]
    assert two.leaders == ["one", "two", ""]


async def test_a_candidate_waits_a_retry_period_and_up_to_a_jitter() -> None:
    for jitter, seconds in ((0.0, 2.0), (1.0, 4.4)):
        clock = FakeClock()
        candidate = Candidate(Shared(ElectionRecord("you", 15)), clock, jitter=jitter)
        async with running(candidate):
            await clock.advance(0)
            assert candidate.lock.calls == ["get"]
            await clock.advance(seconds - 0.01)
            assert candidate.lock.calls == ["get"]
            await clock.advance(0.01)
            assert candidate.lock.calls == ["get", "get"]


async def test_a_leader_renews_each_retry_period_with_one_write() -> None:
    clock = FakeClock()
    candidate = Candidate(Shared(), clock)
    async with running(candidate):
        await clock.advance(7)
        assert candidate.lock.calls == ["get", "create", "update", "update", "update"]


async def test_the_lease_is_renewed_until_the_work_ends_and_then_released() -> None:
    shared, clock = Shared(), FakeClock()
    held: list[str] = []

    async def ends_slowly() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await clock.sleep(40)
                held.append(shared.holder)

    one, two = Candidate(shared, clock, "one", work=ends_slowly), Candidate(shared, clock, "two")
    async with running(one, two):
        await clock.advance(1)
        one.scope.cancel()
        await clock.advance(39)
        assert one.working
        assert shared.holder == "one"
        assert one.elector.guard.is_open
        await clock.advance(2)
        assert held == ["one"]
        assert one.ended
        assert not one.elector.guard.is_open
        await clock.advance(2)
        assert two.working
    assert one.error is None
    assert one.lock.events == ["became leader", "stopped leading"]


class _Silent:
    """A transport that never answers."""

    async def request(self, *_: object, **__: object) -> bytes:
        await anyio.sleep_forever()
        raise AssertionError


async def test_a_lease_is_kept_until_a_write_that_was_cut_cannot_arrive() -> None:
    shared, clock = Shared(), FakeClock()

    async def writes() -> None:
        await GuardedTransport(_Silent(), candidate.elector.guard).request("POST", "/api/v1/pods")  # type: ignore[arg-type]

    candidate = Candidate(shared, clock, work=writes)
    async with running(candidate):
        await clock.advance(1)
        candidate.scope.cancel()
        # It has as much time as after a lost lease: from 12.5 s, when the guard closes, to 15 s.
        await clock.advance(2.4)
        assert (candidate.working, shared.holder) == (False, "me")
        await clock.advance(0.2)
        assert (candidate.ended, shared.holder) == (True, "")


async def test_a_lease_is_released_as_well_when_the_work_ends_by_itself() -> None:
    shared, clock = Shared(), FakeClock()

    async def nothing() -> None:
        pass

    candidate = Candidate(shared, clock, work=nothing)
    async with running(candidate):
        await clock.advance(0)
        assert candidate.ended
    assert shared.record is not None
    assert shared.holder == ""


async def test_without_release_on_cancel_the_lease_stays_as_it_is() -> None:
    shared, clock = Shared(), FakeClock()
    candidate = Candidate(shared, clock, release=False)
    async with running(candidate):
        await clock.advance(1)
    assert shared.holder == "me"


async def test_an_error_of_the_work_reaches_the_caller_and_releases_the_lease() -> None:
    shared, clock = Shared(), FakeClock()

    async def breaks() -> None:
        raise RuntimeError("out of paper")

    elector = LeaderElector(LeaseKeeper(MemoryLock(shared), clock=clock), release_on_cancel=True, clock=clock)
    with pytest.raises(RuntimeError, match="out of paper"):
        await elector.run(breaks)
    assert shared.holder == ""


@pytest.mark.parametrize("how", [hang, fail])
async def test_a_leader_that_cannot_renew_ends_before_its_lease_does(
    how: Callable[[], Awaitable[None]],
) -> None:
    shared, clock = Shared(), FakeClock()
    candidate = Candidate(shared, clock, "cut", release=False)
    async with running(candidate):
        await clock.advance(3)  # renewed at 2 s: the lease ends at 17 s
        candidate.lock.before = lambda name: how()
        await clock.advance(10.9)
        assert candidate.working
        assert candidate.elector.guard.is_open
        await clock.advance(0.2)  # the next try began at 4 s and is given up after 10 s
        assert not candidate.elector.guard.is_open
        assert not candidate.working
    assert isinstance(candidate.error, LeadershipLost)
    assert "test/lease" in str(candidate.error)
    assert str(candidate.error).endswith("within 10 s" if how is hang else "within 10 s: the server is away")
    assert metric_value("leader_election_master_status", {"name": "cut"}) == 0


async def test_a_slow_renewal_does_not_extend_the_next_ones_time() -> None:
    shared, clock = Shared(), FakeClock()
    candidate = Candidate(shared, clock, release=False)
    async with running(candidate):
        await clock.advance(1)

        async def slow() -> None:
            await clock.sleep(9)

        candidate.lock.before = at_call("update", slow)
        await clock.advance(9.9)  # sent at 2 s, answered at 11 s
        candidate.lock.before = lambda name: hang()
        await clock.advance(6.05)  # 16.95 s: client-go would go on until 23 s
        assert candidate.working
        await clock.advance(0.1)
        assert not candidate.working


async def test_a_leader_paused_beyond_its_lease_ends_without_another_write() -> None:
    shared, clock = Shared(), FakeClock()
    candidate = Candidate(shared, clock)
    async with running(candidate):
        await clock.advance(1)
        shared.write(ElectionRecord("you", 15, leader_transitions=1))
        clock.turn(100)  # nobody ran meanwhile

        assert not candidate.elector.guard.is_open  # at once, before any task has run
        await clock.advance(0)
        assert not candidate.working
    assert shared.holder == "you"
    assert isinstance(candidate.error, LeadershipLost)


async def test_a_leader_that_finds_another_ends_at_once_and_names_it() -> None:
    shared, clock = Shared(), FakeClock()
    candidate = Candidate(shared, clock)
    with capture_logs() as logs:
        async with running(candidate):
            await clock.advance(1)
            shared.write(ElectionRecord("you", 15, leader_transitions=1))
            await clock.advance(1)
            assert not candidate.working
    assert shared.holder == "you"
    assert str(candidate.error) == "lost the lease test/lease: you holds it now"
    assert [(line["holder"], line["why"]) for line in logs if line["event"] == "lease_lost"] == [
        ("you", "somebody else has taken it")
    ]
    assert candidate.leaders == ["me", "you"]


async def test_a_late_answer_does_not_begin_a_term() -> None:
    shared, clock = Shared(), FakeClock()
    candidate = Candidate(shared, clock)

    async def stopped() -> None:
        clock.turn(14)  # the process stands still between the server's write and the answer's reading

    candidate.lock.before = at_call("create", stopped)
    async with running(candidate):
        await clock.advance(0)
        assert shared.holder == "me"
        assert not candidate.working
        candidate.lock.before = None
        await clock.advance(2)
        assert candidate.working


async def test_a_candidate_whose_call_hangs_tries_again_after_the_renew_deadline() -> None:
    shared, clock = Shared(), FakeClock()
    candidate = Candidate(shared, clock)
    candidate.lock.before = lambda name: hang()
    async with running(candidate):
        await clock.advance(10)
        candidate.lock.before = None
        await clock.advance(2)
        assert candidate.working


async def test_a_leader_that_could_not_renew_does_not_try_to_release() -> None:
    shared, clock = Shared(), FakeClock()
    candidate = Candidate(shared, clock)
    async with running(candidate):
        await clock.advance(1)
        candidate.lock.before = lambda name: hang()
        await clock.advance(12)
        assert candidate.ended
        assert shared.holder == "me"


class AnswerLost(MemoryLock):
    """The record is written, and the answer does not come."""

    how: Callable[[], Awaitable[None]] = staticmethod(hang)

    async def create(self, record: ElectionRecord) -> None:
        await super().create(record)
        await self.how()

    async def update(self, record: ElectionRecord) -> None:
        await super().update(record)
        if record.holder_identity:
            await self.how()


async def lose() -> None:
    raise ConnectionLost("http://h", "reset")


@pytest.mark.parametrize("how", [hang, lose])
@pytest.mark.parametrize("found", [None, ElectionRecord("", 1)], ids=["created", "updated"])
async def test_a_lease_whose_acquisition_was_cut_off_is_released(
    how: Callable[[], Awaitable[None]], found: ElectionRecord | None
) -> None:
    shared, clock = Shared(found), FakeClock()
    candidate = Candidate(shared, clock)
    lock = AnswerLost(shared)
    lock.how = how  # type: ignore[method-assign]  # what becomes of the lost answer
    candidate.lock = candidate.elector.keeper.lock = lock
    async with running(candidate):
        await clock.advance(1)
        assert (shared.holder, candidate.working) == ("me", False)

        candidate.scope.cancel()
        await clock.advance(0)

        assert candidate.ended
        assert shared.holder == ""


async def test_a_candidate_that_wrote_nothing_releases_nothing() -> None:
    shared, clock = Shared(ElectionRecord("you", 15)), FakeClock()
    candidate = Candidate(shared, clock)
    async with running(candidate):
        await clock.advance(1)
        candidate.scope.cancel()
        await clock.advance(0)

    assert candidate.lock.calls == ["get"]


@pytest.mark.parametrize(
    ("lock", "seconds"), [(AnswerLost, 1.9), (None, 9.9)], ids=["after a lost acquisition", "after the renew deadline"]
)
async def test_a_release_that_hangs_is_given_up(lock: type[AnswerLost] | None, seconds: float) -> None:
    shared, clock = Shared(), FakeClock()
    candidate = Candidate(shared, clock)
    if lock is not None:
        candidate.lock = candidate.elector.keeper.lock = lock(shared)
    async with running(candidate):
        await clock.advance(1)
        candidate.lock.before = lambda name: hang()
        candidate.scope.cancel()
        await clock.advance(seconds)
        assert not candidate.ended
        await clock.advance(0.2)
        assert candidate.ended


async def test_who_is_told_of_leaders_and_raises_does_not_end_the_election() -> None:
    shared, clock = Shared(), FakeClock()

    def breaks(leader: str) -> None:
        raise RuntimeError(leader)

    elector = LeaderElector(LeaseKeeper(MemoryLock(shared), clock=clock), on_new_leader=breaks, clock=clock)
    led = False

    async def lead() -> None:
        nonlocal led
        led = True

    await elector.run(lead)
    assert led


async def test_an_elector_runs_once() -> None:
    elector = LeaderElector(LeaseKeeper(MemoryLock(Shared()), clock=FakeClock()))

    async def nothing() -> None:
        pass

    await elector.run(nothing)
    with pytest.raises(RuntimeError, match="has run already"):
        await elector.run(nothing)


async def test_the_metric_says_whether_this_process_leads() -> None:
    shared, clock = Shared(), FakeClock()
    candidate = Candidate(shared, clock, "measured")

    def value() -> float | None:
        return metric_value("leader_election_master_status", {"name": "measured"})

    assert value() == 0
    async with running(candidate):
        await clock.advance(1)
        assert value() == 1
    assert value() == 0
