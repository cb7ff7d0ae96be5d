"""The tables that declare the checks of a type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from kinformer.envtest.causes import invalid
from kinformer.envtest.status import Cause
from kinformer.envtest.strategy import fields as f

CHOICE = f.OneOf("A", "B")


def _check_pair(obj: dict[str, Any], path: str) -> Iterator[Cause]:
    if obj.get("least", 0) > obj.get("most", 0):
        yield invalid(path, obj["least"], "too large")


def fields_of(causes: Iterable[Cause]) -> list[str]:
    return [f"{cause.field} {cause.reason.removeprefix('FieldValue')}" for cause in causes]


def test_errors_come_in_the_order_of_the_rows() -> None:
    item = f.Every(f.Fields(name=f.Needed(f.DNS_LABEL), kind=CHOICE), _check_pair)
    table = f.Fields(items=f.Each(item, f.Unique("name")), count=f.NOT_NEGATIVE)

    causes = table({"count": -1, "items": [{"least": 1}, {"name": "A"}, {"name": "A", "kind": "B"}]}, "spec")

    assert fields_of(causes) == [
        "spec.items[0].name Required",
        "spec.items[0].kind NotSupported",
        "spec.items[0] Invalid",
        "spec.items[1].name Invalid",
        "spec.items[1].kind NotSupported",
        "spec.items[2].name Invalid",
        "spec.items[2].name Duplicate",
        "spec.count Invalid",
    ]


def test_several_ports_need_names_and_one_does_not() -> None:
    table = f.Fields(ports=f.ports_of(f.Fields(protocol=f.PROTOCOL)))

    told = [fields_of(table({"ports": ports}, "spec")) for ports in ([{}], [{"protocol": "TCP"}, {"name": "A"}])]

    assert told == [
        ["spec.ports[0].protocol NotSupported"],
        ["spec.ports[0].name Required", "spec.ports[1].name Invalid", "spec.ports[1].protocol NotSupported"],
    ]


@pytest.mark.parametrize(
    ("check", "absent", "empty"),
    [
        (CHOICE, "NotSupported", "NotSupported"),
        (f.Given(CHOICE), "", "NotSupported"),
        (f.Filled(CHOICE), "", ""),
        (f.Present(CHOICE), "Required", "NotSupported"),
        (f.Needed(CHOICE), "Required", "Required"),
        (f.Every(f.Given(CHOICE), f.Filled(CHOICE)), "", "NotSupported"),
    ],
)
def test_a_row_says_whether_a_value_may_be_absent_or_empty(check: f.Check, absent: str, empty: str) -> None:
    for obj, reason in (({}, absent), ({"type": ""}, empty), ({"type": "A"}, "")):
        told = fields_of(f.Fields(type=check)(obj, ""))
        assert told == ([f"type {reason}"] if reason else [])
