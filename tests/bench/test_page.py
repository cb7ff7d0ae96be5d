"""The page of the documentation, and what it is made from."""

from __future__ import annotations

import re

import pytest

from benchmarks.report import PAGE, REPORTED, RESULTS, blocks, filled
from benchmarks.targets import TARGETS, targets_table
from kinformer.bench.results import Results, Row, Table


def of_labels(*labels: str, **figures: float) -> Table:
    return Table("t", tuple(figures), rows=[Row(label, dict(figures)) for label in labels])


def test_the_page_has_a_place_for_every_benchmark() -> None:
    places = re.findall(r"<!-- begin (\S+) -->", PAGE.read_text())

    assert set(places) == {*REPORTED, "profile", "environment", "targets", "instructions"}


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
    figures = {
        "throughput": {"events/s": 1.0, "events/CPU-s": 1.0},
        "touch": {"events/CPU-s": 1.0},
        "sync": {"seconds": 1.0, "of them system": 0.5, "peak / stays": 1.0},
        "memory": {"KiB/object": 1.0},
        "growth": {"us CPU/event": 1.0},
        "fanout": {"events/CPU-s": 1.0},
        "readers": {"events/CPU-s": 1.0},
        "adding": {"us CPU each": 1.0},
        "loop": {"worst ms late": 1.0},
        "takeover": {"ms to the first sync": 1.0},
        "warm": {"seconds": 1.0},
    }
    tables = {
        name: of_labels(*(REPORTED[name].label(row, quick=False) for row in range(len(REPORTED[name].runs))), **found)
        for name, found in figures.items()
    }

    assert all(target.measured(Results({}, tables)) is not None for target in TARGETS)
