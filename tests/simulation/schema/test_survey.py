"""The survey finds planted bugs in how an operator treats the fields of its kind, and nothing in its mended twin."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kinformer.operator import definition_of
from kinformer.simulation import World
from kinformer.simulation.schema import Change, FieldReport, Subject, try_change, try_fields
from kinformer.simulation.trial import ScenarioError
from tests.simulation.schema.boards import HOME, Board, make_boards


def begin(world: World, bug: str) -> None:
    world.manager({"boards": partial(make_boards, bug=bug)})


def subject(bug: str = "", *fields: str, **more: Any) -> Subject:
    return Subject(partial(begin, bug=bug), [definition_of(Board), HOME], fields, most_records=300, **more)


def found(report: FieldReport) -> list[tuple[str, str]]:
    return [(finding.field, finding.rule) for finding in report.findings]


def test_a_mended_operator_is_clean_for_each_field() -> None:
    report = try_fields(subject())

    assert report.is_clean, report
    tried = ["spec.text", "spec.look.color", "spec.lines", "spec.footer", "spec.motto", "spec.theme"]
    assert list(report.tried) == tried, "the theme is marked as deprecated"
    assert list(map(str, report.tried["spec.lines"])) == ["spec.lines=2", "spec.lines=0"]


@pytest.mark.parametrize(
    ("bug", "field", "rules"),
    [
        ("creation", "spec.look.color", ["fresh"]),
        ("leftover", "spec.footer", ["back"]),
        ("unread", "spec.motto", ["effect"]),
        ("restless", "spec.lines", ["settles"]),
        ("strict", "spec.lines", ["settles"]),
    ],
)
def test_a_planted_bug_is_found_at_its_field(bug: str, field: str, rules: list[str]) -> None:
    report = try_fields(subject(bug, field))

    assert found(report) == [(field, rule) for rule in rules], report


def test_fields_may_be_named_that_have_no_effect_or_remember() -> None:
    assert try_fields(subject("unread", "spec.motto", without_effect=["spec.motto"])).is_clean
    assert try_fields(subject("creation", "spec.look", one_way=["spec.*"])).is_clean


def test_one_change_is_played_again_with_its_timeline() -> None:
    report, timeline = try_change(subject("leftover"), Change.parse('spec.footer="bye"'))

    assert [finding.rule for finding in report.findings] == ["back"]
    assert 'configmaps/default/home: data.footer is "bye"; at first it is not there' in report.findings[0].text
    assert "changes boards.example.com/default/home" in timeline


def test_a_subject_that_cannot_be_tried_is_an_error() -> None:
    with pytest.raises(ScenarioError, match="does not serve Board"):
        try_fields(Subject(lambda world: None, [HOME]))
    with pytest.raises(ValueError, match="not a field"):
        subject("", "spec..text")


def test_a_field_that_the_kind_does_not_have_is_an_error() -> None:
    with pytest.raises(ScenarioError, match=r"there is no field spec\.colour"):
        try_fields(subject("", "spec.colour"))
