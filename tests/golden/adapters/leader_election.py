"""One candidate against a lock in memory: tries, other writers, failing calls, time that passes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from kinformer.client import Status
from kinformer.client.errors import ClientError, Conflict, NotFound
from kinformer.clock import FakeClock
from kinformer.leaderelection import ElectionOptions, ElectionRecord, LeaderElector, LeaderHealthzAdaptor, LeaseKeeper


class MemoryLock:
    """A record, and the calls that are to fail."""

    def __init__(self, identity: str) -> None:
        self.identity = identity
        self.record: ElectionRecord | None = None
        self._seen: ElectionRecord | None = None
        self.failing: frozenset[str] = frozenset()

    def _fail(self, call: str) -> None:
        if call in self.failing:
            raise ClientError(f"{call} is to fail")

    async def get(self) -> ElectionRecord:
        self._fail("failGet")
        if self.record is None:
            raise NotFound(Status(code=404, reason="NotFound"))
        self._seen = self.record
        return self.record

    async def create(self, record: ElectionRecord) -> None:
        self._fail("failCreate")
        if self.record is not None:
            raise ClientError("there is one already")
        self.record = self._seen = record

    async def update(self, record: ElectionRecord) -> None:
        self._fail("failUpdate")
        if self.record is None:
            raise NotFound(Status(code=404, reason="NotFound"))
        if self.record is not self._seen:
            raise Conflict(Status(code=409, reason="Conflict"))
        self.record = self._seen = record

    def record_event(self, what: str) -> None:
        pass

    def describe(self) -> str:
        return "golden"


async def answer(case: Any) -> Any:
    clock = FakeClock()
    lock = MemoryLock(case["identity"])
    options = ElectionOptions(case["leaseDuration"], case["renewDeadline"], case["retryPeriod"])
    keeper = LeaseKeeper(lock, options, clock=clock, waits_out_edits=False)
    health = LeaderHealthzAdaptor(5)
    health.set_leader_election(LeaderElector(keeper, clock=clock))
    answers = []
    for step in case["steps"]:
        answered: dict[str, Any] = {}
        match step["op"]:
            case "try":
                lock.failing = frozenset(name for name in ("failGet", "failCreate", "failUpdate") if step.get(name))
                answered["ok"] = await keeper.try_acquire_or_renew()
                lock.failing = frozenset()
            case "release":
                answered["ok"] = await keeper.try_release()
            case "advance":
                clock.turn(step["seconds"])
            case "deleted":
                lock.record = None
            case "other":
                theirs = clock.now() + timedelta(seconds=step["clockOff"])
                lock.record = ElectionRecord(
                    step["holder"], step["leaseDurationSeconds"], theirs, theirs, step["transitions"]
                )
        answers.append(
            {
                **answered,
                "isLeader": keeper.is_leader,
                "leader": keeper.leader,
                "healthy": health.is_healthy(),
                "record": _shown(lock.record, clock),
            }
        )
    return answers


def _shown(record: ElectionRecord | None, clock: FakeClock) -> Any:
    if record is None:
        return None
    assert record.acquire_time is not None
    assert record.renew_time is not None
    return {
        "holder": record.holder_identity,
        "leaseDurationSeconds": record.lease_duration_seconds,
        "acquire": (record.acquire_time - clock.start) // timedelta(seconds=1),
        "renew": (record.renew_time - clock.start) // timedelta(seconds=1),
        "transitions": record.leader_transitions,
    }
