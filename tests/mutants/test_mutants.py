"""The mistakes that are made in modules, and how it is told whether tests found them."""

from __future__ import annotations

import pytest

from tests.mutants.operators import mutants_of
from tests.mutants.running import AREAS, ROOT, killer


@pytest.mark.parametrize(
    ("code", "mistakes"),
    [
        ("a = b == c", ["comparison: b == c -> (b != c)"]),
        ("a = b < 'c'", ["comparison: b < 'c' -> (b >= 'c')", "boundary: b < 'c' -> (b <= 'c')"]),
        ("a = b and c", ["and-or: b and c -> (b or c)"]),
        ("a = not b", ["not: not b -> (b)"]),
        ("if a: b = c", ["condition: a -> (not a)"]),
        ("a = b + c", ["arithmetic: b + c -> (b - c)"]),
        ("a = True", ["truth: True -> (False)"]),
        ("a = 7", ["number: 7 -> (8)"]),
        ("a = b(c, d)", ["arguments: b(c, d) -> (b(d, c))"]),
        ("a.b = c", ["statement: a.b = c -> pass"]),
        ("def a(): return b", ["result: return b -> return None"]),
        ("for a in b: break", ["loop: break -> continue"]),
        ("a = [b for b in c if b]", ["filter: [b for b in c if b] -> ([b for b in c])"]),
        ("m = max(a, b)\n'a text'\na: 3 = b\nlog.info(1, 2)\n__all__ = (1,)\nmatch a:\n    case 1: b", []),
    ],
)
def test_each_kind_of_mistake_is_made_where_it_can_be(code: str, mistakes: list[str]) -> None:
    assert [str(mutant).partition(": ")[2] for mutant in mutants_of(code)] == mistakes


def test_a_mistake_changes_its_place_and_nothing_else() -> None:
    code = "é = 'ü'; a = (  # why\n    b ==\n    c)\nlast = 1\n"

    applied = [mutant.applied(code) for mutant in mutants_of(code)]

    assert applied == [code.replace("b ==\n    c", "(b != c)"), code.replace("1", "(2)")]


def test_every_package_has_modules_and_tests() -> None:
    for area in AREAS:
        assert area.modules(), area.package
        assert list((ROOT / area.tests).rglob("test_*.py")), area.tests


@pytest.mark.parametrize(
    ("status", "output", "by"),
    [
        (0, "9 passed", ""),
        (5, "no tests ran", ""),
        (1, "FAILED tests/a.py::test_b - AssertionError: c\n1 failed", "tests/a.py::test_b"),
        (2, "ERROR tests/a.py\n1 error", "tests/a.py"),
        (-9, "", "ended with status -9"),
        (None, "", "does not end"),
    ],
)
def test_who_has_killed_a_mutant_is_read_from_the_run(status: int | None, output: str, by: str) -> None:
    assert killer(status, output) == by
