"""Queries: what is special in a parameter is escaped, whatever stands beside it."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.client.queries import query_of
from kinformer.envtest.handlers.call import parse_query


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"": ""},
        {"limit": "500", "resourceVersion": "0"},
        {"fieldManager": ""},
        {"fieldManager": "a&force=true"},
        {"a=b": "c"},
        {"a&b": ""},
        {"labelSelector": "app in (a, b)"},
        {"continue": "a+b/c=="},
        {"x": "ä"},
    ],
)
def test_a_query_is_what_the_standard_library_makes_of_it(params: dict[str, str]) -> None:
    assert query_of(params) == urlencode(params)
    assert dict(parse_qsl(query_of(params), keep_blank_values=True)) == params


def test_a_parameter_may_be_there_several_times() -> None:
    assert query_of([("command", "ls"), ("command", "-l")]) == "command=ls&command=-l"


@given(st.lists(st.tuples(st.text(), st.text())))
def test_whatever_is_in_the_parameters_comes_out_of_the_query(pairs: list[tuple[str, str]]) -> None:
    query = query_of(pairs)

    assert query == urlencode(pairs)
    assert parse_qsl(query, keep_blank_values=True) == pairs


@given(st.text(alphabet="ab=&+%20", max_size=30))
def test_the_server_reads_the_first_value_of_each_parameter(text: str) -> None:
    first: dict[str, str] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        first.setdefault(name, value)

    assert parse_query(text) == first
