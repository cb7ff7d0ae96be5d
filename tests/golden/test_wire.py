from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.wire import Comparison, excuses, read_script, run_script

FILES = sorted((Path(__file__).parent / "wire").glob("*.json"))
#: Requests like the recorded ones, with one thing changed, and what kube-apiserver 1.36.2 answered them.
NEIGHBOURS = sorted((Path(__file__).parent / "neighbours").glob("*.json"))


@pytest.mark.parametrize("file", NEIGHBOURS, ids=lambda file: file.stem)
async def test_the_server_answers_as_kube_apiserver_answered(file: Path) -> None:
    outcome = await run_script(read_script(file))

    assert not outcome.failures, "\n".join(failure.report() for failure in outcome.failures[:3])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_the_server_answers_in_the_words_of_kube_apiserver(file: Path) -> None:
    outcome = await run_script(read_script(file), strict=True)

    assert not outcome.failures, "\n".join(failure.report() for failure in outcome.failures[:3])


def test_masks_stand_for_what_differs_from_run_to_run() -> None:
    same = Comparison(strict=True).same
    assert same({"uid": "x", "name": "foo-abc"}, {"uid": "<any>", "name": "<match:foo-[a-c]{3}>"})
    assert same("UID 11111111-1111-1111-1111-111111111111, 5 left", "UID <uid>, <n> left")
    assert not same({"uid": ""}, {"uid": "<any>"})
    assert not same({"a": 1}, {"a": True})
    assert not same({"a": 1, "b": 2}, {"a": 1})


def test_a_text_counts_where_somebody_acts_on_it() -> None:
    def status(reason: str, message: str) -> dict[str, str]:
        return {"kind": "Status", "status": "Failure", "reason": reason, "message": message}

    same = Comparison().same
    assert same(status("Invalid", "one"), status("Invalid", "other"))
    assert not same(status("Conflict", "one"), status("Conflict", "other"))
    assert not same(status("Invalid", "one"), status("BadRequest", "one"))
    assert not Comparison(strict=True).same(status("Invalid", "one"), status("Invalid", "other"))


def test_the_table_of_differences_is_read() -> None:
    text = "| file | step | reason |\n|---|---|---|\n| crud | 3 | because |\n"
    assert excuses(text) == {("crud", 3): "because"}
