"""The code on the page does what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "informers.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_informer_on_the_page_tells_and_holds_what_the_source_has(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(blocks()[0], str(PAGE), "exec"), {"__name__": "page"})

    said = capsys.readouterr().out
    assert "added a\n" in said
    assert "1 in the cache\n" in said


def test_a_lazy_dict_is_what_the_page_says() -> None:
    (block,) = blocks()[1:]

    # Its assertions are the page's.
    exec(compile(block, str(PAGE), "exec"), {"__name__": "page"})
