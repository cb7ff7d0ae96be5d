from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest
from click.testing import CliRunner, Result

from tests.golden.__main__ import golden
from tests.golden.run import Adapter, Case, CasesError, adapter_for, family_of, read_cases, run_cases, same_json

GOOD = {"in": {"value": 3, "total": 9, "roundUp": True}, "want": {"ok": True, "result": 3}}
BAD = {"in": {"value": "50%", "total": 10, "roundUp": True}, "want": {"ok": True, "result": 6}}


def run(*args: Path | str) -> Result:
    return CliRunner().invoke(golden, ["functions", *map(str, args)])


def write(file: Path, *cases: Any) -> Path:
    file.write_text("".join(json.dumps(case) + "\n" for case in cases))
    return file


def test_a_file_of_right_answers_exits_with_success(tmp_path: Path) -> None:
    result = run(write(tmp_path / "int_or_percent.ndjson", GOOD, GOOD))

    assert result.exit_code == 0
    assert "int_or_percent: 2 passed, 0 failed" in result.output


def test_a_wrong_answer_is_shown_with_number_input_and_difference(tmp_path: Path) -> None:
    result = run(write(tmp_path / "int_or_percent.ndjson", GOOD, BAD))

    assert result.exit_code == 1
    assert "int_or_percent case 2" in result.output
    assert '"value": "50%"' in result.output
    assert '- "result": 6' in result.output
    assert '+ "result": 5' in result.output
    assert result.output.endswith("1 passed, 1 failed\n")


def test_one_case_can_be_run_alone(tmp_path: Path) -> None:
    file = write(tmp_path / "int_or_percent.ndjson", BAD, GOOD)

    assert run(file, "--case", "2").exit_code == 0
    assert "case 1" in run(file, "--case", "1").output


def test_the_family_is_the_files_name_gzipped_or_not(tmp_path: Path) -> None:
    file = tmp_path / "int_or_percent.ndjson.gz"
    file.write_bytes(gzip.compress(json.dumps(GOOD).encode()))

    assert family_of(file) == "int_or_percent"
    assert run(file).exit_code == 0


def test_a_family_without_an_adapter_fails_while_the_others_run(tmp_path: Path) -> None:
    result = run(write(tmp_path / "astrology.ndjson", GOOD), write(tmp_path / "int_or_percent.ndjson", GOOD))

    assert result.exit_code == 1
    assert "astrology: no adapter" in result.output
    assert result.output.endswith("1 passed, 1 failed\n")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "No such file"),
        (b"", "no cases in it"),
        (b"nonsense", "line 1 is not JSON"),
        (b'{"in": 1, "want": 2}\n[]', "line 2 is not a case"),
        (gzip.compress(b'{"in": 1, "want": 2}', mtime=0)[:-9], "broken gzip"),
        (b"\xff\xfe", "line 1 is not JSON"),
    ],
)
def test_a_file_that_holds_no_cases_is_one_clear_line(tmp_path: Path, content: bytes | None, complaint: str) -> None:
    file = tmp_path / "int_or_percent.ndjson"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(CasesError, match=complaint):
        read_cases(file)
    result = run(file)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{file}: ")
    assert result.stderr.count("\n") == 1


def test_a_raising_adapter_fails_its_case_and_the_run_continues() -> None:
    def answer(case: int) -> int:
        return 10 // case

    outcome = run_cases(Adapter(answer, same_json), [Case(0, 1), Case(5, 2)])

    assert outcome.passed == 1
    assert "ZeroDivisionError" in outcome.failures[0].report("division")


def test_an_answer_may_be_a_coroutine() -> None:
    async def answer(case: int) -> int:
        await anyio.lowlevel.checkpoint()
        return case + 1

    assert run_cases(Adapter(answer, same_json), [Case(1, 2), Case(2, 3)]).passed == 2


def test_answers_are_compared_as_json() -> None:
    assert same_json({"a": 1, "b": (1, 2)}, {"b": [1, 2], "a": 1})
    assert not same_json(True, 1)
    assert not same_json({"a": None}, {})


@pytest.mark.parametrize(
    ("family", "asked"),
    [
        ("delta_fifo", {"ops": None}),
        ("endpoint_subsets", {"subsets": None}),
        ("event_correlator", {"start": "2026-01-01T00:00:00Z", "ops": None}),
        ("indexer", {"ops": None}),
        ("pod_ranking", {"pods": None, "now": "2026-01-01T00:00:00Z"}),
        (
            "rate_limiters",
            {"kind": "maxOf", "ops": None}
            | dict.fromkeys(("base_ns", "max_ns", "fast_ns", "slow_ns", "max_fast_attempts"), 1),
        ),
        ("shared_informer", {"steps": None}),
        ("workqueue", {"ops": None}),
    ],
)
def test_an_empty_list_may_be_null_as_go_writes_it(family: str, asked: Any) -> None:
    outcome = run_cases(adapter_for(family), [Case(asked, None), Case(asked, [])])

    assert not outcome.failures, outcome.failures[0].report(family)


def test_every_adapter_can_be_loaded() -> None:
    for file in (Path(__file__).parent / "adapters").glob("[!_]*.py"):
        assert callable(adapter_for(file.stem).answer)
