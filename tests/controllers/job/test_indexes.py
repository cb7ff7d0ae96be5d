"""Indexes: sets of them as texts, which are done, which failed for good, which come next, which pods are doubles."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kinformer.models import V1Pod
from kinformer_controllers.job.counting import first_pending_indexes, succeeded_indexes, take_stock
from kinformer_controllers.job.intervals import Indexes
from kinformer_controllers.job.management import active_pods_to_remove, generate_name, index_failure_counts
from kinformer_controllers.job.pods import index_failures
from tests.controllers.job.world import NOW, World, job_of, pod_of

FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count"


def failed(index: int, failures: int | str | None = 0, *, ignored: int = 0, **rest: Any) -> V1Pod:
    marks = {IGNORED: str(ignored)} if ignored else {}
    if failures is not None:
        marks[FAILURES] = str(failures)
    return pod_of("Failed", index=index, annotations=marks, **rest)


@pytest.mark.parametrize(
    ("previous", "done", "completions", "expected"),
    [
        pytest.param("", [4], 6, "4", id="one index"),
        pytest.param("", [2, 5], 6, "2,5", id="two separate"),
        pytest.param("", [0, 1, 3, 4, 5], 7, "0,1,3-5", id="two intervals"),
        pytest.param("", [0, 3, 4, 5], 7, "0,3-5", id="one index and one interval"),
        pytest.param("", [0, 5, 6], 6, "0,5", id="out of range"),
        pytest.param("0,5", [], 5, "0", id="prev interval out of range"),
        pytest.param("0,2-10", [], 6, "0,2-5", id="prev interval partially out of range"),
        pytest.param("0,4,5", [7, 8], 10, "0,4,5,7,8", id="prev and new separate"),
        pytest.param("3,4", [0, 1, 6, 7], 10, "0,1,3,4,6,7", id="prev between new"),
        pytest.param("0-2,7,8", [4, 5], 10, "0-2,4,5,7,8", id="new between prev"),
        pytest.param("2-7", [0, 4, 9], 10, "0,2-7,9", id="new within prev"),
        pytest.param("0,1-foo,bar", [3, 4], 10, "0,3,4", id="corrupted interval"),
    ],
)
def test_what_has_succeeded_is_added_to_what_the_status_has(
    previous: str, done: list[int], completions: int, expected: str
) -> None:
    job = job_of(completions=completions, indexed=True, status={"completedIndexes": previous})
    pods = [pod_of("Succeeded", index=index) for index in done]
    others = [pod_of("Succeeded", index=1, tracked=False), pod_of("Running", index=1), pod_of("Succeeded")]

    before, after = succeeded_indexes(job, [*pods, *others])

    assert before == Indexes.parse(previous, completions)
    assert str(after) == expected


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        pytest.param("", [], [0, 4], id="empty"),
        pytest.param("2,5,7-9", [], [0, 1], id="before all"),
        pytest.param("2,5,7-9", [], [10, 99], id="after all"),
        pytest.param("2,5,7-9", [], [3, 4, 6], id="in between"),
        pytest.param("2-4,8", [2, 3, 4], [1, 5], id="in first"),
        pytest.param("2,5-7", [5, 6, 7], [8], id="in second"),
    ],
)
def test_an_index_is_found_in_its_interval(text: str, inside: list[int], outside: list[int]) -> None:
    indexes = Indexes.parse(text, 100)

    assert all(index in indexes for index in inside)
    assert not any(index in indexes for index in outside)


def test_sets_of_indexes_are_compared_by_what_they_hold() -> None:
    indexes = Indexes.parse("1-3,5", 10)

    assert indexes == Indexes().with_indexes([5, 3, 1, 2])
    assert hash(indexes) == hash(Indexes.parse("1-3,5", 10))
    assert indexes != "1-3,5"
    assert (repr(indexes), indexes.count, bool(indexes), bool(Indexes())) == ("Indexes('1-3,5')", 4, True, False)
    assert indexes.overlap(Indexes.parse("0,2-9", 10)) == 3


@pytest.mark.parametrize(
    ("pod", "spec", "expected"),
    [
        pytest.param(failed(0, 0), {"backoffLimitPerIndex": 0}, "0", id="exceeding the limit of 0"),
        pytest.param(failed(0, 1), {"backoffLimitPerIndex": 1}, "0", id="exceeding the limit of 1"),
        pytest.param(failed(0, 0), {"backoffLimitPerIndex": 1}, "", id="within the limit"),
        pytest.param(
            failed(0, 0, status={"conditions": [{"type": "DisruptionTarget", "status": "True"}]}),
            {
                "backoffLimitPerIndex": 5,
                "podFailurePolicy": {
                    "rules": [
                        {"action": "FailIndex", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
                    ]
                },
            },
            "0",
            id="matching FailIndex pod failure policy",
        ),
        pytest.param(failed(0, 0, tracked=False), {"backoffLimitPerIndex": 0}, "", id="without the finalizer"),
        pytest.param(failed(9, 0), {"backoffLimitPerIndex": 0}, "", id="outside the completions"),
    ],
)
def test_an_index_has_failed_for_good_when_its_limit_is_exceeded(
    pod: V1Pod, spec: dict[str, Any], expected: str
) -> None:
    job = job_of(completions=5, indexed=True, **spec)

    assert str(take_stock(job, [pod]).failed_indexes) == expected


@pytest.mark.parametrize(("previous", "expected"), [("0,4", "0,1,4"), ("", "1"), ("0,7-9", "0,1")])
def test_failed_indexes_are_added_to_those_of_the_status(previous: str, expected: str) -> None:
    job = job_of(completions=5, indexed=True, backoffLimitPerIndex=0, status={"failedIndexes": previous})

    assert str(take_stock(job, [failed(1)]).failed_indexes) == expected


_LATER = NOW + timedelta(minutes=1)


@pytest.mark.parametrize(
    ("pods", "status", "released", "kept"),
    [
        pytest.param([failed(0, name="a"), failed(1, name="b")], {}, (), {"a", "b"}, id="of indexes that go on"),
        pytest.param([failed(0, tracked=False)], {}, (), set(), id="without the finalizer"),
        pytest.param([failed(0, uid="x")], {}, ("x",), set(), id="whose finalizer is being taken off"),
        pytest.param([failed(9)], {}, (), set(), id="outside the completions"),
        pytest.param([failed(0), pod_of(index=0)], {}, (), set(), id="of an index with an active pod"),
        pytest.param([failed(0)], {"completedIndexes": "0"}, (), set(), id="of an index that has succeeded"),
        pytest.param(
            [failed(0, 1, name="more", ended=NOW), failed(0, 0, name="less", ended=NOW)],
            {},
            (),
            {"more"},
            id="the one with the most failures",
        ),
        pytest.param(
            [failed(0, 0, name="late", ended=_LATER), failed(0, 0, name="early", ended=NOW)],
            {},
            (),
            {"late"},
            id="the one that ended last",
        ),
    ],
)
def test_a_failed_pod_is_kept_until_its_index_has_another(
    pods: list[V1Pod], status: dict[str, Any], released: tuple[str, ...], kept: set[str]
) -> None:
    job = job_of(completions=5, indexed=True, backoffLimitPerIndex=9, status=status)

    assert {pod.metadata.name for pod in take_stock(job, pods, released).kept.values()} == kept


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
    ("count", "completions", "active", "succeeded", "gone_for_good", "pending"),
    [
        pytest.param(8, 5, [], "", "", [0, 1, 2, 3, 4], id="cnt greater than completions"),
        pytest.param(2, 5, [], "", "", [0, 1], id="cnt less than completions"),
        pytest.param(3, 10, [0, 1], "", "", [2, 3, 4], id="first pods active"),
        pytest.param(4, 6, [4], "3,5", "", [0, 1, 2], id="last pods active or succeeded"),
        pytest.param(5, 10, [3, 5, 7], "0-2,8", "", [4, 6, 9], id="mixed"),
        pytest.param(5, 10, [3, 5], "0-2", "4,7", [6, 8, 9], id="with failed indexes"),
        pytest.param(0, 5, [], "", "", [], id="none"),
    ],
)
def test_the_first_indexes_without_a_pod_come_next(
    count: int, completions: int, active: list[int], succeeded: str, gone_for_good: str, pending: list[int]
) -> None:
    status = {"completedIndexes": succeeded, "failedIndexes": gone_for_good}
    job = job_of(completions=completions, indexed=True, backoffLimitPerIndex=1, status=status)
    stock = take_stock(job, [pod_of(index=index) for index in active])

    assert first_pending_indexes(stock, count) == pending


@pytest.mark.parametrize(("replaced", "indexes"), [("Failed", [0, 2]), ("TerminatingOrFailed", [0, 1])])
def test_an_index_with_an_ending_pod_waits_if_only_failed_are_replaced(replaced: str, indexes: list[int]) -> None:
    job = job_of(completions=5, indexed=True, podReplacementPolicy=replaced)

    assert first_pending_indexes(take_stock(job, [pod_of(index=1, deleting=True)]), 2) == indexes


@pytest.mark.parametrize(
    ("pods", "removed"),
    [
        pytest.param([("a", 0), ("b", 2)], set(), id="all unique"),
        pytest.param([("a", 0), ("b", 0), ("c", 2), ("d", 2), ("e", 2)], {"b", "d", "e"}, id="all with index"),
        pytest.param([("a", None), ("b", 1), ("c", "x"), ("d", 1), ("e", 9)], {"a", "c", "d", "e"}, id="mixed"),
    ],
)
def test_of_each_index_one_pod_is_left(pods: list[tuple[str, Any]], removed: set[str]) -> None:
    job = job_of(completions=5, indexed=True)
    # The first of an index runs, those after it are pending: they have come less far.
    seen: set[Any] = set()
    active = []
    for name, index in pods:
        active.append(pod_of("Pending" if index in seen else "Running", index=index, name=name))
        seen.add(index)

    assert {pod.metadata.name for pod in active_pods_to_remove(job, active, 0)} == removed


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
