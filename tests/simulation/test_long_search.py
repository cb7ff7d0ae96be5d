"""The long search: its table, its end by Ctrl-C, and how it goes on afterwards."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kinformer.simulation.explore import Run
from tests.simulation.__main__ import Asked, Found, main, searches
from tests.simulation.bugs import BUGS
from tests.simulation.controllers.catalogue import CASES
from tests.simulation.planted import PLANTED
from tests.simulation.recorded import LASTING, RECORDED

HERE = ["ttl", "--seeds", "3", "--jobs", "1"]


def rows(text: str) -> list[str]:
    """The lines that tell of a search that is over, or of the end of all."""
    return [line for line in text.splitlines() if re.search(r"runs, |stopped: ", line)]


def stop_after(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have somebody type Ctrl-C during this run."""
    done = 0
    real = Found.count

    def counted(found: Found, run: Run) -> None:
        nonlocal done
        real(found, run)
        done += 1
        if done == count:
            raise KeyboardInterrupt

    monkeypatch.setattr(Found, "count", counted)


def test_a_row_says_how_many_runs_there_were_and_what_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(HERE) == 0

    first, second = rows(capsys.readouterr().out)
    assert first.startswith("ttl-after-finished, seeds 0 to 2: 3 runs, 0 failing, ")
    assert second.startswith("ttl, seeds 0 to 2: 3 runs, 0 failing, ")


def test_ctrl_c_ends_it_after_the_table_of_what_was_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stop_after(5, monkeypatch)

    assert main(HERE) == 130

    out = capsys.readouterr().out
    assert re.fullmatch(r"ttl, seeds 0 to 2: 2 runs, 0 failing, .*, stopped", rows(out)[-2])
    assert rows(out)[-1] == "stopped: 1 of 2 searches are over"


def test_with_a_file_of_results_it_goes_on_where_it_was_stopped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    again = [*HERE, "--results", str(tmp_path / "results")]
    with monkeypatch.context() as patched:
        stop_after(5, patched)
        main(again)
    capsys.readouterr()

    assert main(again) == 0

    out = capsys.readouterr().out
    assert [row.partition(",")[0] for row in rows(out)] == ["ttl"]
    assert "ttl-after-finished" in out


def test_a_name_that_nothing_has_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nothing-has-this-name"]) == 1
    assert main(["nothing-has-this-name", "--minutes", "0"]) == 1


def test_with_a_time_it_plays_seeds_in_turn_until_that_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pvc_protection", "--minutes", "0", "--jobs", "1", "--first-seed", "7"]) == 0

    # What was begun is played: four seeds of the case, and four of the recorded scenario.
    assert capsys.readouterr().out == "8 runs, seeds 7 to 10, 0 failing\n"


def test_every_bug_its_twin_every_controller_and_every_recording_are_searched() -> None:
    every = list(searches(Asked(seeds=1000, first_seed=0, jobs=2, one_by_one=True, only=())))

    recorded = 2 * len(RECORDED) + len(LASTING)
    assert len(every) == 3 * len(BUGS) + 3 * len(PLANTED) + 2 * len(CASES) + recorded
    assert sum(search.must_fail for search in every) == len(BUGS) + len(PLANTED)
    assert {len(search.seeds) for search in every if search.seeds is not None} >= {1000}
