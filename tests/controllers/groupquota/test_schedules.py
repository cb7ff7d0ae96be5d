"""Whatever happens at once: no more is admitted than the limits allow, no less than fits, and usage ends up right.

Three replicas of the webhook run as simulated processes, and the API server of the world asks them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kinformer.simulation import Faults, Trial, World, explore, simulate
from kinformer_controllers.groupquota.accessor import GroupQuotaAccessor
from kinformer_controllers.groupquota.recount import GroupRecounter
from tests.controllers.groupquota.worlds import CHECKS, FAULTS, OPTIONS, crowd, leader_is_behind, room_for_all, rush

pytestmark = pytest.mark.usefixtures("only_pods_are_followed")


@simulate(seeds=2, faults=FAULTS, checks=CHECKS, options=OPTIONS)
async def test_three_mortal_replicas_admit_all_that_fits_and_no_more(
    world: World,
) -> None:
    await crowd(world)


@simulate(seeds=2, faults=FAULTS, checks=CHECKS, options=OPTIONS)
async def test_nobody_is_refused_for_whom_there_is_room(world: World) -> None:
    await room_for_all(world)


@simulate(seeds=1, faults=Faults.only(), checks=CHECKS, options=OPTIONS)
async def test_as_many_simultaneous_requests_are_admitted_as_fit(world: World) -> None:
    await rush(world)


def test_without_the_comparison_of_versions_more_than_the_limit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    write: Any = GroupQuotaAccessor.write

    async def whatever_its_version(self: GroupQuotaAccessor, quota: Any, *rest: Any) -> None:
        version = (await self._server.get(quota.name))["metadata"]["resourceVersion"]
        source = {**quota.source, "metadata": {**quota.source["metadata"], "resourceVersion": version}}
        await write(self, replace(quota, source=source), *rest)

    monkeypatch.setattr(GroupQuotaAccessor, "write", whatever_its_version)
    report = explore(Trial(rush, CHECKS, OPTIONS), range(20), faults=Faults.only(), shrinking=0)

    assert "invariants" in {violation.oracle for violation in report.failures[0].violations}


@simulate(seeds=0, checks=CHECKS, options=OPTIONS)
async def test_a_new_leader_ignores_a_cache_older_than_the_last_ones(
    world: World,
) -> None:
    await leader_is_behind(world)


def test_without_required_cache_versions_an_overcommit_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def no_check(*_: Any) -> None:
        """Any cache is believed."""

    monkeypatch.setattr(GroupRecounter, "_check_versions", no_check)
    found = Trial(leader_is_behind, CHECKS, OPTIONS).undisturbed

    assert "invariants" in {violation.oracle for violation in found.violations}
