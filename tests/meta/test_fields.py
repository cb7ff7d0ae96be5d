from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta.fields import FieldRequirement, FieldSelector, escape_value, parse_field_selector
from kinformer.meta.requirement import SelectorError


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", True),
        (",,", True),
        ("phase=Running", True),
        ("phase==Running", True),
        ("phase!=Running", False),
        ("phase=Running,node!=n2", True),
        ("phase=Running,node=n2", False),
        ("absent=", True),
        ("absent!=x", True),
        ("=", True),
        ("!=", True),
    ],
)
def test_a_field_selector_means_what_its_text_says(text: str, meant: bool) -> None:
    assert parse_field_selector(text).matches({"phase": "Running", "node": "n1"}) is meant


def test_its_canonical_text_is_sorted_and_escaped() -> None:
    assert str(parse_field_selector(r"b==c\,d,a!=e\=f,")) == r"a!=e\=f,b=c\,d"
    assert str(parse_field_selector("=,a=b,!=")) == "a=b"
    assert repr(parse_field_selector("a=b")) == "<FieldSelector 'a=b'>"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("phase", "invalid selector: 'phase'; can't understand 'phase'"),
        (r"a=b\n", r"invalid field selector: invalid escape sequence: \\n"),
        ("a=b\\", "invalid escape sequence: \\\\$"),
        ("a=b=c", "unescaped character in value: 61"),
    ],
)
def test_what_is_no_field_selector_is_an_error_in_the_servers_words(text: str, complaint: str) -> None:
    with pytest.raises(SelectorError, match=complaint):
        parse_field_selector(text)


def test_the_value_that_it_fixes_can_be_asked_for() -> None:
    selector = parse_field_selector("metadata.name=a,status.phase!=b")

    assert selector.required_value("metadata.name") == "a"
    assert selector.required_value("status.phase") is None
    assert parse_field_selector("").is_empty
    assert selector != FieldSelector() == parse_field_selector("")
    assert len({selector, parse_field_selector("status.phase!=b,metadata.name=a")}) == 1


@given(st.lists(st.builds(FieldRequirement, st.sampled_from(["a.b", "c"]), st.text("a\\,=!é"), st.booleans())))
def test_the_text_of_a_selector_says_the_same(requirements: list[FieldRequirement]) -> None:
    selector = FieldSelector(requirements)

    assert set(parse_field_selector(str(selector)).requirements) == set(requirements)


@given(st.text())
def test_an_escaped_value_is_read_back(value: str) -> None:
    assert parse_field_selector(f"f={escape_value(value)}").required_value("f") == value
