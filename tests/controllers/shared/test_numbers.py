from __future__ import annotations

import pytest

from kinformer_controllers.cronjob.schedule import ScheduleError, parse_schedule
from kinformer_controllers.deployment.annotations import MAX_REPLICAS, count_in
from kinformer_controllers.job.names import COMPLETION_INDEX
from kinformer_controllers.job.pods import completion_index
from kinformer_controllers.shared.numbers import go_int
from kinformer_controllers.shared.owning.ranking import DELETION_COST, deletion_cost
from tests.controllers.objects import make_pod, make_rs

#: More digits than Python's int() accepts.
ENDLESS = "9" * 5000


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("+7", 7), ("-7", -7), ("007", 7), ("0" * 5000 + "7", 7), (str(2**63 - 1), 2**63 - 1)],
    ids=["zero", "plus", "minus", "leading zeros", "very many leading zeros", "largest"],
)
def test_a_number_is_parsed_as_go_parses_it(text: str, number: int) -> None:
    assert go_int(text) == number


@pytest.mark.parametrize(
    "text",
    [
        *("", " 1", "1 ", "1_0", "0x1", "1.0", "+", "\u0663", str(2**63)),
        pytest.param(ENDLESS, id="thousands of digits"),
    ],
)
def test_what_is_no_number_of_64_bits_is_none(text: str) -> None:
    assert go_int(text) is None


def test_a_number_must_fit_into_the_bits_that_are_asked_for() -> None:
    assert go_int(str(2**31 - 1), 32) == 2**31 - 1
    assert go_int(str(-(2**31)), 32) == -(2**31)
    assert go_int(str(2**31), 32) is None


def test_a_number_of_thousands_of_digits_in_an_annotation_counts_as_invalid() -> None:
    pod, replica_set = make_pod("p"), make_rs()
    pod.metadata.annotations = {DELETION_COST: ENDLESS, COMPLETION_INDEX: ENDLESS}
    replica_set.metadata.annotations = {MAX_REPLICAS: ENDLESS}

    assert deletion_cost(pod) == 0
    assert completion_index(pod) is None
    assert count_in(replica_set, MAX_REPLICAS) is None


def test_a_number_of_thousands_of_digits_in_a_schedule_is_an_error_of_the_schedule() -> None:
    with pytest.raises(ScheduleError, match="value out of range"):
        parse_schedule(f"{ENDLESS} * * * *")
