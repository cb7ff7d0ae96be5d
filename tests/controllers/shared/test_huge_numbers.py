from __future__ import annotations

import pytest

from kinformer.controllerutil.ranking import DELETION_COST, deletion_cost
from kinformer.schedules.schedule import ScheduleError, parse_schedule
from kinformer_controllers.deployment.annotations import MAX_REPLICAS, count_in
from kinformer_controllers.job.jobs import COMPLETION_INDEX
from kinformer_controllers.job.pods import completion_index
from tests.controllers.objects import make_pod, make_rs

#: More digits than Python's int() accepts.
ENDLESS = "9" * 5000


def test_a_number_of_thousands_of_digits_in_an_annotation_counts_as_invalid() -> None:
    pod, replica_set = make_pod("p"), make_rs()
    pod.metadata.annotations = {DELETION_COST: ENDLESS, COMPLETION_INDEX: ENDLESS}
    replica_set.metadata.annotations = {MAX_REPLICAS: ENDLESS}

    assert deletion_cost(pod) == 0
    assert completion_index(pod) is None
    assert count_in(replica_set, MAX_REPLICAS) is None


def test_thousands_of_digits_in_a_schedule_are_the_schedules_error() -> None:
    with pytest.raises(ScheduleError, match="value out of range"):
        parse_schedule(f"{ENDLESS} * * * *")
