from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta.selectors import (
    Everything,
    Nothing,
    Operator,
    Requirement,
    Selector,
    SelectorError,
    label_selector_as_selector,
    parse_selector,
    selector_from_set,
)

KEYS = st.sampled_from(["app", "tier", "in", "notin", "example.com/role"])
VALUES = st.sampled_from(["", "web", "db", "5", "12", "-3", "9" * 30, "in", "a.b_c"])
LABELS = st.dictionaries(KEYS, VALUES)
OK_VALUES = st.sampled_from(["", "web", "db", "5", "12", "in"])
REQUIREMENTS = st.one_of(
    st.builds(
        Requirement,
        KEYS,
        st.sampled_from([Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.NOT_EQUALS]),
        st.tuples(OK_VALUES),
    ),
    st.builds(
        Requirement,
        KEYS,
        st.sampled_from([Operator.IN, Operator.NOT_IN]),
        st.sets(OK_VALUES, min_size=1).map(lambda values: tuple(sorted(values))),
    ),
    st.builds(Requirement, KEYS, st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST]), st.just(())),
    st.builds(
        Requirement,
        KEYS,
        st.sampled_from([Operator.GREATER_THAN, Operator.LESS_THAN]),
        st.sampled_from([("5",), ("12",)]),
    ),
)


class Expression(msgspec.Struct):
    key: str
    operator: str
    values: list[str] | None = None


class LabelSelector(msgspec.Struct, rename="camel"):
    match_labels: dict[str, str] | None = None
    match_expressions: list[Expression] | None = None


@pytest.mark.parametrize(
    ("text", "labels", "meant"),
    [
        ("", {}, True),
        ("app=web", {"app": "web"}, True),
        ("app=web", {"app": "db"}, False),
        ("app=web", {}, False),
        ("app=web,tier=a", {"app": "web", "tier": "a", "x": "y"}, True),
        ("app=web,tier=a", {"app": "web", "tier": "b"}, False),
        ("app=web,app=db", {"app": "db"}, False),
        ("app!=web", {}, True),
        ("app!=web", {"app": "web"}, False),
        ("app in (web, db)", {"app": "db"}, True),
        ("app in (web, db)", {}, False),
        ("app notin (web, db)", {}, True),
        ("app notin (web, db)", {"app": "web"}, False),
        ("app", {"app": ""}, True),
        ("app", {}, False),
        ("!app", {}, True),
        ("!app", {"app": ""}, False),
        ("n > 5", {"n": "6"}, True),
        ("n > 5", {"n": "5"}, False),
        ("n > 5", {"n": "many"}, False),
        ("n > 5", {}, False),
        ("n < 5", {"n": "-5"}, True),
        ("n < 5", {"n": "9" * 40}, False),
        ("app=", {"app": ""}, True),
        ("app=", {}, False),
    ],
)
def test_a_selector_means_what_its_text_says(text: str, labels: dict[str, str], meant: bool) -> None:
    assert parse_selector(text).matches(labels) is meant


@pytest.mark.parametrize("text", ["", "app=web", "app=web,tier=a", "!app", "app notin (web)"])
def test_an_object_with_no_labels_is_one_with_an_empty_map(text: str) -> None:
    assert parse_selector(text).matches(None) is parse_selector(text).matches({})


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" tier = b , app==a", "app==a,tier=b"),
        ("k in (b,a,,b)", "k in (,a,b)"),
        ("in in (in)", "in in (in)"),
        ("!x,y", "!x,y"),
        ("n<5", "n<5"),
    ],
)
def test_its_canonical_text_is_sorted_and_says_the_same(text: str, canonical: str) -> None:
    assert str(parse_selector(text)) == canonical
    assert parse_selector(canonical) == parse_selector(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a b", "found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a=!", "unable to parse requirement: found '!', expected: identifier"),
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("-a=b", '<nil>: Invalid value: "-a": name part must consist of'),
        ("a/b/c", "with an optional DNS subdomain prefix"),
        ("A/b", "prefix part a lowercase RFC 1123 subdomain"),
        ("a=-b", 'values[0][a]: Invalid value: "-b": a valid label must be an empty string or consist'),
        ("a=" + "b" * 64, "must be no more than 63 bytes"),
        ("a>b", "the value must be an integer"),
    ],
)
def test_what_is_no_selector_is_an_error_in_the_servers_words(text: str, complaint: str) -> None:
    with pytest.raises(SelectorError) as error:
        parse_selector(text)
    assert complaint in str(error.value)


def test_everything_and_nothing() -> None:
    assert Everything.matches({})
    assert Everything.is_empty
    assert not Nothing.matches({"app": "web"})
    assert not Nothing.is_empty
    assert Nothing.add(Requirement("app", Operator.EXISTS)) is Nothing
    assert str(Everything) == str(Nothing) == ""
    assert Everything != Nothing
    assert parse_selector("") == Everything == selector_from_set(None)


@pytest.mark.parametrize(
    "label_selector",
    [
        {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["1", "0"]}]},
        LabelSelector({"app": "web"}, [Expression("x", "NotIn", ["1", "0"])]),
    ],
)
def test_a_label_selector_may_be_a_dict_or_a_struct(label_selector: Any) -> None:
    selector = label_selector_as_selector(label_selector)

    assert str(selector) == "app=web,x notin (0,1)"
    assert selector.matches({"app": "web"})


def test_no_label_selector_is_nothing_and_an_empty_one_everything() -> None:
    assert label_selector_as_selector(None) is Nothing
    assert label_selector_as_selector({}) is Everything
    assert label_selector_as_selector(LabelSelector()) is Everything


@pytest.mark.parametrize(
    ("label_selector", "complaint"),
    [
        ({"matchExpressions": [{"key": "a", "operator": "Bogus"}]}, '"Bogus" is not a valid label selector operator'),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, "Invalid value: null: for"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}, "values set must be empty"),
        ({"matchExpressions": [{"operator": "Exists"}]}, "name part must be non-empty"),
        ({"matchLabels": {"a": "b c"}}, "a valid label must be"),
        ({"matchLabels": {"a": "b\u200b"}}, r'"b\\u200b": a valid label must be'),
    ],
)
def test_a_label_selector_that_is_not_right_is_an_error(label_selector: Any, complaint: str) -> None:
    with pytest.raises(SelectorError, match=complaint):
        label_selector_as_selector(label_selector)


@pytest.mark.parametrize(
    "label_selector",
    [
        {"matchLabels": {"a": ["x"]}},
        {"matchLabels": {"a": 1}},
        {"matchLabels": "a=x"},
        {"matchExpressions": [{"key": "a", "operator": ["In"], "values": ["x"]}]},
        {"matchExpressions": [{"key": "a", "operator": "In", "values": [["x"]]}]},
    ],
)
def test_a_label_selector_with_a_wrong_type_is_shown(label_selector: Any) -> None:
    with pytest.raises(SelectorError) as caught:
        label_selector_as_selector(label_selector)

    assert str(caught.value) == f"not a label selector: {label_selector!r}"


def test_several_complaints_are_told_at_once() -> None:
    with pytest.raises(SelectorError, match=r"^\[key: Invalid value.*, values: Invalid value: null: .*\]$"):
        Requirement.checked("-", Operator.IN)
    with pytest.raises(SelectorError, match="one single value"):
        Requirement.checked("a", Operator.EQUALS, ("b", "c"))
    with pytest.raises(SelectorError, match="exactly one value"):
        Requirement.checked("a", Operator.LESS_THAN)


def test_the_value_that_a_selector_fixes_can_be_asked_for() -> None:
    selector = parse_selector("app=web,tier in (a),x in (a,b),y")

    assert selector.required_value("app") == "web"
    assert selector.required_value("tier") == "a"
    assert selector.required_labels == (("app", "web"), ("tier", "a"))
    assert selector.required_value("x") is selector.required_value("y") is selector.required_value("z") is None


def test_adding_makes_another_selector() -> None:
    selector = selector_from_set({"b": "1"})

    more = selector.add(Requirement("a", Operator.EXISTS))

    assert (str(selector), str(more)) == ("b=1", "a,b=1")
    assert repr(more) == "<Selector 'a,b=1'>"
    assert len({selector, more, parse_selector("b=1")}) == 2


@given(st.lists(REQUIREMENTS, max_size=4), LABELS)
def test_a_selector_means_what_all_its_requirements_mean(
    requirements: list[Requirement], labels: dict[str, str]
) -> None:
    selector = Selector(requirements)

    assert selector.matches(labels) is all(requirement.matches(labels) for requirement in requirements)
    assert parse_selector(str(selector)) == selector


def test_selectors_of_five_thousand_deployments_are_made_once() -> None:
    asked = [{"matchLabels": {"app": f"app-{number}"}} for number in range(15_000)]
    first = [label_selector_as_selector(it) for it in asked]

    assert all(label_selector_as_selector(it) is known for it, known in zip(asked, first, strict=True))


@given(st.text("ab,=!()<> in\0\n-", max_size=15))
def test_any_text_is_a_selector_or_a_selector_error(text: str) -> None:
    try:
        selector = parse_selector(text)
    except SelectorError:
        return
    assert parse_selector(str(selector)) == selector
