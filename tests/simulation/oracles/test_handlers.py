"""The oracle of handlers: what they are told is a possible history."""

from __future__ import annotations

import pytest

from kinformer.simulation.oracles.handlers import PossibleHistories
from tests.simulation.oracles.telling import Telling

WEB = "pods/default/web"


@pytest.fixture
def telling() -> Telling:
    """A server that has had versions 3, 5, 7 and 9 of a pod."""
    telling = Telling(PossibleHistories())
    for version in (3, 5, 7, 9):
        telling("user", "write", WEB, version, "MODIFIED")
    return telling


#: What handlers are told, as ``process: version verb handler``, and what the oracle says of it.
TOLD = {
    "versions in their order": ("3 add h, 5 update h, 9 delete h, 9 add h", ""),
    "a version may be left out and come twice": ("3 add h, 9 update h, 9 update h", ""),
    "it may go back in a process that starts again": ("7 add h, start, 5 add h", ""),
    "each handler and each process for itself": ("7 add h, 5 add other, manager-2: 5 add h", ""),
    "it is there already": ("3 add h, 5 add h", f"is added again of {WEB}, which it has already"),
    "updated and never added": ("3 update h", f"is told of the update of {WEB}, which it was never told of"),
    "deleted and never added": ("3 delete h", f"is told of the delete of {WEB}, which it was never told of"),
    "a version that never was": ("6 add h", f"is told of version 6 of {WEB}, which never was"),
    "deleted at the last known version": ("3 add h, 3 delete h", ""),
    "deleted at a version of its own": ("3 add h, 11 delete h", ""),
    "it was there before the run": ("2 add h", ""),
}


@pytest.mark.parametrize(("told", "says"), TOLD.values(), ids=TOLD)
def test_only_what_may_have_happened_may_be_told(telling: Telling, told: str, says: str) -> None:
    for each in told.split(", "):
        process, _, event = each.rpartition(": ")
        version, _, what = event.partition(" ")
        if event == "start":
            telling("manager", "start")
        else:
            telling(process or "manager", "event", WEB, int(version), what)

    assert telling.finish() == ([f"manager's handler h {says}"] if says else [])


def test_a_version_must_not_go_back(telling: Telling) -> None:
    before = telling("manager", "event", WEB, 7, "add h")
    after = telling("manager", "event", WEB, 5, "update h")

    assert telling.finish() == [f"manager's handler h goes back from version 7 of {WEB} to 5"]
    assert telling.violations[0].records == (before.number, after.number)


def test_what_nobody_wrote_in_the_run_has_no_record_of_its_own(telling: Telling) -> None:
    telling("manager", "event", "nodes/n", 1, "add h")

    assert telling.finish() == []
