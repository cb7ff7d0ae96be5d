"""Whatever is sent, the server answers as an API server does: without an internal error, and it goes on serving.

``python -m tests.fuzz run --inputs 1000000`` sends more.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from tests.fuzz import corpus
from tests.fuzz.engine import attack
from tests.fuzz.inputs import Input, Inputs


@pytest.mark.parametrize("seed", range(4))
async def test_no_request_is_too_strange(seed: int) -> None:
    """2,000 of them, the same in every run."""
    outcome = await attack(islice(iter(Inputs(seed).next, None), 500))
    assert [str(finding) for finding in outcome.findings] == []
    assert outcome.inputs == 500
    assert {200, 201, 400, 404, 422} <= set(outcome.codes)


async def test_no_request_that_once_broke_something_does_so_again() -> None:
    kept = [one for _, one in corpus.inputs()]
    outcome = await attack(kept)
    assert [str(finding) for finding in outcome.findings] == []
    assert outcome.inputs == len(kept) > 20


def test_the_same_seed_makes_the_same_inputs() -> None:
    one, other = Inputs(7), Inputs(7)
    assert [one.next() for _ in range(200)] == [other.next() for _ in range(200)]


async def test_an_internal_error_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from kinformer.envtest.handlers import http

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(http._VERBS, "get", broken)
    outcome = await attack([Input("GET", "/api/v1/namespaces/default/configmaps/a")])
    assert [finding.what.partition(" ")[0] for finding in outcome.findings] == ["500", "logged"]


@pytest.mark.parametrize("body", [None, b"", b'{"a": "b"}', b"\xff\x00\r\n"])
def test_an_input_is_kept_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: bytes | None) -> None:
    monkeypatch.setattr(corpus, "_HERE", tmp_path)
    one = Input("POST", "/api/v1/namespaces?limit=1", "application/yaml", "*/*", body)
    path = corpus.save(one, tmp_path)
    assert corpus.inputs() == [(path.stem, one)]
