"""The page of the documentation, and what it is made from."""

from __future__ import annotations

import re

import pytest

from benchmarks.guard import judge
from benchmarks.report import PAGE, RESULTS, blocks, filled
from benchmarks.targets import TARGETS, targets_table
from kinformer.bench.cases import CASES
from kinformer.bench.results import Results, Row, Table

HERE = {"python": "3.11.7", "compiler": "GCC 12.2.0", "machine": "x86_64", "msgspec": "0.22.0"}


def of_labels(*labels: str, **figures: float) -> Table:
    return Table("t", tuple(figures), rows=[Row(label, dict(figures)) for label in labels])


def test_the_page_has_a_place_for_every_benchmark() -> None:
    places = re.findall(r"<!-- begin (\S+) -->", PAGE.read_text())

    assert set(places) == {*CASES, "peers", "profile", "environment", "targets", "instructions"}


@pytest.mark.skipif(not RESULTS.exists(), reason="nothing was measured")
def test_the_page_says_what_was_measured() -> None:
    page = PAGE.read_text()

    assert filled(page, blocks(Results.read(RESULTS))) == page, "run python -m benchmarks.report --render"


@pytest.mark.skipif(not RESULTS.exists(), reason="nothing was measured")
def test_every_picture_of_the_page_is_there() -> None:
    pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", PAGE.read_text())

    assert pictures
    assert all((PAGE.parent / picture).read_text().startswith("<svg") for picture in pictures)


def test_texts_go_between_their_markers_and_nowhere_else() -> None:
    page = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n<!-- begin y -->\n<!-- end y -->\n"

    once = filled(page, {"x": "new", "z": "nowhere"})

    assert once == "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n<!-- begin y -->\nNot measured.\n<!-- end y -->\n"
    assert filled(once, {"x": "new"}) == once


def test_a_target_is_met_missed_or_not_measured() -> None:
    throughput = Table("t", ("events/CPU-s",))
    throughput.rows = [
        Row("typed, metadata read", {"events/CPU-s": 61_000}),
        Row("a Struct of 8 fields", {"events/CPU-s": 79_000}),
    ]

    table = targets_table(Results({}, {"throughput": throughput})).splitlines()

    assert "| ≥ 60,000 events/CPU-s | 61,000 | met |" in table[2]
    assert "| not measured |  |" in table[3]
    assert "| ≥ 80,000 events/CPU-s | 79,000 | **missed** |" in table[4]


def test_every_target_is_measured_by_the_full_runs() -> None:
    """The rows that targets are looked up in are those that the benchmarks have."""
    from kinformer.bench.runner import _label

    figures = {
        "throughput": {"events/s": 1.0, "events/CPU-s": 1.0},
        "sync": {"seconds": 1.0, "peak / stays": 1.0},
        "memory": {"KiB/object": 1.0},
        "growth": {"us CPU/event": 1.0},
        "fanout": {"events/CPU-s": 1.0},
        "loop": {"worst ms late": 1.0},
    }
    tables = {
        name: of_labels(*(_label(run, quick=False) for run in CASES[name].runs), **found)
        for name, found in figures.items()
    }

    assert all(target.measured(Results({}, tables)) is not None for target in TARGETS)


@pytest.mark.parametrize(("per_event", "passes"), [(90, True), (100, True), (110, True), (111, False), (200, False)])
def test_the_guard_fails_when_instructions_go_up_by_more_than_a_tenth(per_event: int, passes: bool) -> None:
    passed, told = judge(per_event, {"instructions": 100, **HERE}, HERE)

    assert passed is passes
    assert f"{per_event} instructions" in told
    assert ("--update" in told) is not passes


def test_the_guard_compares_nothing_with_the_count_of_another_build() -> None:
    stored = {"instructions": 1, **HERE, "compiler": "Clang 18"}

    passed, told = judge(100, stored, HERE)

    assert passed
    assert "not compared: the stored count is of compiler Clang 18" in told


def test_the_guard_says_so_where_nothing_is_stored() -> None:
    passed, told = judge(100, None, HERE)

    assert passed
    assert "nothing is stored for this Python" in told


def test_the_guard_names_what_else_has_changed() -> None:
    _, told = judge(200, {"instructions": 100, **HERE, "msgspec": "0.20.0"}, HERE)

    assert "(msgspec 0.20.0 then, 0.22.0 now)" in told
