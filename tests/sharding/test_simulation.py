"""Some of the schedules of ``python -m tests.sharding run``, and the same with parts of the protocol taken out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from kinformer.sharding import RangeGate
from kinformer.sharding.member import MemberGuard, ShardMember
from kinformer.sharding.sightings import Sightings
from tests.sharding.simulation import Violation, World


@pytest.fixture(autouse=True)
def quiet_log() -> Iterator[None]:
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    yield
    structlog.configure(**before)


async def first_failure(seeds: range, **world: Any) -> Violation | None:
    """The first violation in these schedules."""
    for seed in seeds:
        try:
            await World(seed, **world).run()
        except Violation as error:
            return error
    return None


@pytest.mark.timeout(120)
async def test_no_key_is_ever_in_two_running_syncs() -> None:
    assert await first_failure(range(60)) is None


# Each of these was a mistake once, or nearly.
@pytest.mark.parametrize("seed", [340, 3689, 12732, 13142, 26809])
async def test_schedules_that_found_something_find_it_no_more(seed: int) -> None:
    assert await first_failure(range(seed, seed + 1)) is None


@pytest.mark.timeout(300)
async def test_it_fails_without_the_compare_and_swap() -> None:
    assert await first_failure(range(400), trouble=0.1, compares=False)


@pytest.mark.timeout(300)
async def test_it_fails_without_the_wait_for_the_lease_of_the_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = Sightings.is_over
    monkeypatch.setattr(Sightings, "is_over", lambda self, name, now: is_over(self, name, now + 3))
    assert await first_failure(range(400))


@pytest.mark.timeout(300)
async def test_it_fails_without_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemberGuard, "is_open", True)
    assert await first_failure(range(400))


@pytest.mark.timeout(300)
async def test_it_fails_if_running_syncs_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RangeGate, "drained", RangeGate.draining)
    assert await first_failure(range(400))


async def test_it_fails_if_the_caches_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fill(member: ShardMember) -> None:
        while True:
            await member._fills.wait()
            member._fills = type(member._fills)()
            member.gate.filled(member.gate.unfilled)

    monkeypatch.setattr(ShardMember, "_fill", fill)
    assert await first_failure(range(50))
