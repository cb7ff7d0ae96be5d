from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from kinformer.bench.charts import draw, need_charts
from kinformer.bench.results import FAILED, SPREAD, BenchError, Results, Row, Table, row_of

needs_pygal = pytest.mark.skipif(importlib.util.find_spec("pygal") is None, reason="pygal is an extra")


def a_table() -> Table:
    rows = [
        Row("fast", {"events/s": 12_345, "KiB/object": 5.5}),
        Row("slow", {"events/s": 9}),
        Row("broken", {FAILED: "no such module"}),
    ]
    return Table("Some <events> & more", ("events/s",), measured="today", rows=rows)


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    results = Results({"machine": "m", "versions": {}}, {"throughput": a_table()})

    results.write(tmp_path / "r.json")

    assert Results.read(tmp_path / "r.json") == results
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]


def test_results_are_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")

    Results({"cores": 2}).write(tmp_path / "link")

    assert (tmp_path / "link").is_symlink()
    assert Results.read(tmp_path / "real").environment == {"cores": 2}


def test_results_that_cannot_be_written_name_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file") as raised:
        Results({}).write(tmp_path / "none" / "r.json")

    assert raised.value.filename == str(tmp_path / "none" / "r.json")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"environment": {}, "tables": {"a": {}}}', '{"tables": 1}'])
def test_what_holds_no_results_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text)

    with pytest.raises(BenchError, match=r"r\.json: holds no results"):
        Results.read(tmp_path / "r.json")


def test_a_table_has_the_columns_of_all_its_rows_and_reasons_apart() -> None:
    table = a_table()

    assert table.columns == ["events/s", "KiB/object"]
    assert [table.cells(row) for row in table.rows] == [["12,345", "5.5"], ["9", ""], ["", ""]]
    assert table.failures == [("broken", "no such module")]
    assert table.figure("fast", "events/s") == 12_345
    assert table.figure("slow", "KiB/object") is None
    assert table.figure("who", "events/s") is None


@needs_pygal
def test_a_chart_is_a_picture_of_the_figures_without_scripts(tmp_path: Path) -> None:
    path = draw("throughput", a_table(), tmp_path / "charts")

    assert path == tmp_path / "charts" / "throughput.svg"
    svg = path.read_text()
    assert svg.startswith("<svg")
    assert "12,345" in svg
    assert "Some &lt;events&gt; &amp; more" in svg
    assert "<script" not in svg


@needs_pygal
def test_the_same_figures_are_the_same_file(tmp_path: Path) -> None:
    charts = [draw("throughput", a_table(), tmp_path / folder) for folder in ("a", "b")]

    assert charts[0] is not None
    assert charts[1] is not None
    assert charts[0].read_bytes() == charts[1].read_bytes()


@needs_pygal
def test_the_first_page_has_its_figures_beside_the_bars(tmp_path: Path) -> None:
    path = draw("front", a_table(), tmp_path, is_front=True)

    assert path is not None
    svg = path.read_text()
    assert 'viewBox="0 0 660 ' in svg
    assert "fast: 12,345" in svg


@needs_pygal
def test_nothing_is_drawn_where_nothing_could_run(tmp_path: Path) -> None:
    table = Table("t", ("events/s",), rows=[Row("broken", {FAILED: "no such module"})])

    assert draw("throughput", table, tmp_path) is None


def test_without_pygal_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pygal", None)

    with pytest.raises(BenchError, match=r"pip install 'kinformer\[bench\]'"):
        need_charts()


def test_several_runs_show_the_median_and_the_spread() -> None:
    row = row_of(
        "a", [{"events/s": 90, "how": "x"}, {"events/s": 120, "how": "x"}, {"events/s": 100, "how": "x"}], "events/s"
    )

    assert row.figures == {"events/s": 100, "how": "x", SPREAD: 30.0}
    assert [run["events/s"] for run in row.runs] == [90, 120, 100]


def test_one_run_has_no_spread() -> None:
    assert row_of("a", [{"events/s": 90}], "events/s") == Row("a", {"events/s": 90})


def test_runs_of_which_one_could_not_run_say_why() -> None:
    assert row_of("a", [{"s": 1}, {FAILED: "no TLS"}], "s").figures == {FAILED: "no TLS"}
