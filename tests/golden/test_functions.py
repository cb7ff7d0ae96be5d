from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.run import adapter_for, family_of, read_cases, run_cases

ADAPTERS = {file.stem for file in (Path(__file__).parent / "adapters").glob("*.py")}
FILES = [
    file for file in sorted((Path(__file__).parent / "functions").glob("*.ndjson*")) if family_of(file) in ADAPTERS
]


@pytest.mark.parametrize("file", FILES, ids=family_of)
def test_this_family_is_answered_as_kubernetes_answered(file: Path) -> None:
    outcome = run_cases(adapter_for(family_of(file)), read_cases(file))

    assert not outcome.failures, "\n".join(failure.report(family_of(file)) for failure in outcome.failures[:3])
