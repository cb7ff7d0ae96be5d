"""Indexes: which failed pod of one is kept, and what its next pod inherits.

Which are done, which failed for good, which come next and which pods are doubles is recorded: the golden cases ``job``.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kinformer.models import V1Pod
from kinformer_controllers.job.counting import first_pending_indexes, take_stock
from kinformer_controllers.job.intervals import Indexes
from kinformer_controllers.job.management import generate_name, index_failure_counts
from kinformer_controllers.job.pods import index_failures
from tests.controllers.job.world import NOW, World, job_of, pod_of

FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count"


def failed(index: int, failures: int | str | None = 0, *, ignored: int = 0, **rest: Any) -> V1Pod:
    marks = {IGNORED: str(ignored)} if ignored else {}
    if failures is not None:
        marks[FAILURES] = str(failures)
    return pod_of("Failed", index=index, annotations=marks, **rest)


def test_sets_of_indexes_are_compared_by_what_they_hold() -> None:
    indexes = Indexes.parse("1-3,5", 10)

    assert indexes == Indexes().with_indexes([5, 3, 1, 2])
    assert hash(indexes) == hash(Indexes.parse("1-3,5", 10))
    assert indexes != "1-3,5"
    assert (repr(indexes), indexes.count, bool(indexes), bool(Indexes())) == ("Indexes('1-3,5')", 4, True, False)
    assert indexes.overlap(Indexes.parse("0,2-9", 10)) == 3


@pytest.mark.parametrize(
    ("failures", "minutes"),
    [pytest.param(1, 0, id="the one with the most failures"), pytest.param(0, 1, id="the one that ended last")],
)
def test_of_an_indexs_failed_pods_one_is_kept(failures: int, minutes: int) -> None:
    job = job_of(completions=5, indexed=True, backoffLimitPerIndex=9)
    kept = failed(0, failures, ended=NOW + timedelta(minutes=minutes))
    other = failed(0, 0, ended=NOW)

    for pods in ([kept, other], [other, kept]):
        assert list(take_stock(job, pods).kept.values()) == [kept]


def test_nothing_is_pending_if_nothing_is_asked_for() -> None:
    assert first_pending_indexes(take_stock(job_of(completions=5, indexed=True), []), 0) == []


_IGNORE = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "A", "status": "True"}]}]}


@pytest.mark.parametrize(
    ("replaced", "policy", "counts"),
    [
        pytest.param(None, None, (0, 0), id="first pod created"),
        pytest.param(failed(0, 0), None, (1, 0), id="failed pod being replaced with 0 index failure count"),
        pytest.param(failed(0, 3), None, (4, 0), id="failed pod being replaced with >0 index failure count"),
        pytest.param(
            failed(0, 3, ignored=1, status={"conditions": [{"type": "A", "status": "True"}]}),
            _IGNORE,
            (3, 2),
            id="failed pod being replaced, matching the ignore rule",
        ),
    ],
)
def test_a_new_pod_inherits_the_failures_of_the_one_that_it_replaces(
    replaced: V1Pod | None, policy: Any, counts: tuple[int, int]
) -> None:
    spec = {"podFailurePolicy": policy} if policy else {}

    assert index_failure_counts(job_of(indexed=True, backoffLimitPerIndex=9, **spec), replaced) == counts


async def test_the_failures_of_an_index_are_written_onto_its_new_pod() -> None:
    old = failed(0, 2, ignored=1, ended=NOW - timedelta(hours=1))
    world = World(job_of(indexed=True, backoff_limit=99, backoffLimitPerIndex=9), [old])

    await world.sync()

    (pod,) = world.pods.created
    assert (pod.metadata.annotations[FAILURES], pod.metadata.annotations[IGNORED]) == ("3", "1")
    assert not world.pods.patches


@pytest.mark.parametrize(
    ("value", "count"),
    [
        pytest.param(None, 0, id="no annotation"),
        pytest.param("2", 2, id="valid value"),
        pytest.param(str(2**31 - 1), 2**31 - 1, id="valid maxint32 value"),
        pytest.param(str(2**31), 0, id="too large value"),
        pytest.param("-1", 0, id="negative value"),
        pytest.param("xyz", 0, id="invalid int value"),
    ],
)
def test_a_count_of_failures_that_makes_no_sense_is_none(value: str | None, count: int) -> None:
    assert index_failures(failed(0, value)) == count


@pytest.mark.parametrize(
    ("name", "index", "prefix"),
    [
        pytest.param("indexed-job", 1, "indexed-job-1-", id="short job name"),
        pytest.param("x" * 63, 1, f"{'x' * 55}-1-", id="job name exceeds MaxGeneneratedNameLength"),
        pytest.param("x" * 57, 1, f"{'x' * 55}-1-", id="job name with index suffix exceeds MaxGeneratedNameLength"),
    ],
)
def test_a_long_name_is_cut_before_the_index(name: str, index: int, prefix: str) -> None:
    assert generate_name(name, index) == prefix


@pytest.mark.parametrize(
    ("failures", "created", "wait"),
    [
        pytest.param([(0, 60), (0, 0)], [0], None, id="one index waits, the other need not"),
        pytest.param([(0, 0), (1, 3)], [], 10, id="both wait: the earlier decides"),
        pytest.param([(0, 4), (0, 60)], [1], None, id="the second need not"),
    ],
)
async def test_each_index_waits_for_itself(
    failures: list[tuple[int, int]], created: list[int], wait: float | None
) -> None:
    pods = [failed(index, count, ended=NOW - timedelta(seconds=ago)) for index, (count, ago) in enumerate(failures)]
    job = job_of(parallelism=2, completions=2, indexed=True, backoff_limit=99, backoffLimitPerIndex=9)
    world = World(job, pods)

    await world.sync()

    assert world.created_indexes == created
    assert world.looks_again_in == wait
