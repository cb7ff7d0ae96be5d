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


def test_versions_in_their_order_are_possible(telling: Telling) -> None:
    telling("manager", "event", WEB, 3, "add h")
    telling("manager", "event", WEB, 5, "update h")
    telling("manager", "event", WEB, 9, "delete h")
    telling("manager", "event", WEB, 9, "add h")

    assert telling.finish() == []


def test_a_version_may_be_left_out_and_come_twice(telling: Telling) -> None:
    telling("manager", "event", WEB, 3, "add h")
    telling("manager", "event", WEB, 9, "update h")
    telling("manager", "event", WEB, 9, "update h")

    assert telling.finish() == []


def test_a_version_must_not_go_back(telling: Telling) -> None:
    before = telling("manager", "event", WEB, 7, "add h")
    after = telling("manager", "event", WEB, 5, "update h")

    assert telling.finish() == [f"manager's handler h goes back from version 7 of {WEB} to 5"]
    assert telling.violations[0].records == (before.number, after.number)


def test_it_may_go_back_in_a_process_that_starts_again(telling: Telling) -> None:
    telling("manager", "event", WEB, 7, "add h")
    telling("manager", "start")
    telling("manager", "event", WEB, 5, "add h")

    assert telling.finish() == []


def test_each_handler_and_each_process_is_told_for_itself(telling: Telling) -> None:
    telling("manager", "event", WEB, 7, "add h")
    telling("manager", "event", WEB, 5, "add other")
    telling("manager-2", "event", WEB, 5, "add h")

    assert telling.finish() == []


def test_what_is_there_is_not_added_again(telling: Telling) -> None:
    telling("manager", "event", WEB, 3, "add h")
    telling("manager", "event", WEB, 5, "add h")

    assert telling.finish() == [f"manager's handler h is added again of {WEB}, which it has already"]


@pytest.mark.parametrize("verb", ["update", "delete"])
def test_what_was_never_added_is_neither_updated_nor_deleted(telling: Telling, verb: str) -> None:
    telling("manager", "event", WEB, 3, f"{verb} h")

    assert telling.finish() == [f"manager's handler h is told of the {verb} of {WEB}, which it was never told of"]


def test_a_version_that_never_was_is_told(telling: Telling) -> None:
    telling("manager", "event", WEB, 6, "add h")

    assert telling.finish() == [f"manager's handler h is told of version 6 of {WEB}, which never was"]


def test_a_deletion_may_have_the_last_known_version_or_its_own(telling: Telling) -> None:
    for handler, version in (("one", 3), ("other", 11)):
        telling("manager", "event", WEB, 3, f"add {handler}")
        telling("manager", "event", WEB, version, f"delete {handler}")

    assert telling.finish() == []


def test_what_was_there_before_the_run_has_no_record_of_its_own(telling: Telling) -> None:
    telling("manager", "event", WEB, 2, "add h")
    telling("manager", "event", "nodes/n", 1, "add h")

    assert telling.finish() == []
